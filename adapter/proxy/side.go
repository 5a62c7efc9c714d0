package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// side is the HTTP API of an agent that shows a question over ACP, as a tool
// call, and takes the answer nowhere else: OpenCode, and Kilo.
type side struct {
	base, user, password string
	client               *http.Client
}

func newSide(base, user, password string) *side {
	return &side{base, user, password, &http.Client{Timeout: sideTimeout, Transport: &http.Transport{DisableKeepAlives: true}}}
}

const (
	// sideTimeout is for one request.
	sideTimeout = 10 * time.Second
	// sideTries is how often a question is looked for that a tool call has
	// announced, and sidePause is how long between two.
	sideTries = 50
	sidePause = 100 * time.Millisecond
)

// asksAside takes a tool call that may be a question, and asks it in a goroutine
// of its own.
func (p *proxy) asksAside(session, tool, status string, input gjson.Result) {
	if p.side == nil || status != "in_progress" || !input.Get("questions").IsArray() {
		return
	}
	dir := p.session(session).dir
	q, err := p.enter(asideID(session, tool), session, p.subAgentIn(session, tool), nil)
	if err != nil {
		return // it is asked already
	}
	go func() {
		defer q.leave(nil)
		if err := p.side.ask(q, tool, dir); err != nil && q.Ctx.Err() == nil {
			p.log.Warn("a question of the agent got no answer", "session", session, "err", err)
			p.say(session, notTakenRemark)
		}
	}()
}

// notTakenRemark says why an agent waits on: it has no other way to be told.
const notTakenRemark = "\n\nThe agent is waiting for an answer that could not be delivered. Cancel the turn to go on.\n\n"

// asideID names such a question among the open ones.
func asideID(session, tool string) string { return "side " + session + " " + tool }

// ask finds the question of a tool call, asks it, and tells the agent.
func (s *side) ask(q *asking, tool, dir string) error {
	ctx := q.Ctx
	item, err := s.find(ctx, tool, dir)
	if err != nil {
		return err
	}
	req, err := dialect.Decode(item, "opencode")
	id := gjson.GetBytes(item, "id").Str
	if err != nil {
		return s.reject(id, dir, err)
	}
	call := req.Call
	call.Session, call.ID = q.in.id, tool
	outcome, _ := q.asker.Ask(ctx, call)
	if ctx.Err() != nil {
		return nil // the agent has cancelled it itself, and a rejection would end its turn otherwise
	}
	if outcome.Status != convert.Answered {
		return s.reject(id, dir, outcome.Err())
	}
	body := dialect.Encode(req, dialect.Reply{Outcome: outcome}).Body
	_, err = s.do(context.WithoutCancel(ctx), http.MethodPost, "/question/"+url.PathEscape(id)+"/reply", dir, body)
	return err
}

// reject ends a question without an answer. The agent has one word for all
// reasons.
func (s *side) reject(id, dir string, why error) error {
	_, err := s.do(context.Background(), http.MethodPost, "/question/"+url.PathEscape(id)+"/reject", dir, []byte("{}"))
	if err != nil {
		return fmt.Errorf("%w; the agent could not be told: %w", why, err)
	}
	return nil
}

// find looks for the question of a tool call. It may come a little later than
// the tool call, and the API later than the agent.
func (s *side) find(ctx context.Context, tool, dir string) (json.RawMessage, error) {
	var last error
	for range sideTries {
		item, err := s.openFor(ctx, "/question", tool, dir)
		if item.Exists() {
			return json.RawMessage(item.Raw), nil
		}
		last = err
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(sidePause):
		}
	}
	return nil, fmt.Errorf("the agent has no question for its tool call (last error: %v)", last)
}

// rejectWith rejects the permission for a tool call with a reason, for which ACP has no
// place, and reports whether the agent has it. What the agent is told over ACP behind it
// is the same, and too late.
func (s *side) rejectWith(reason, tool, dir string) (told bool) {
	ctx, cancel := context.WithTimeout(context.Background(), sideTimeout)
	defer cancel()
	one, err := s.openFor(ctx, "/permission", tool, dir)
	if err != nil || !one.Exists() {
		return false
	}
	body := clean.JSON(map[string]string{"reply": "reject", "message": reason})
	_, err = s.do(ctx, http.MethodPost, "/permission/"+url.PathEscape(one.Get("id").Str)+"/reply", dir, body)
	return err == nil
}

// openFor is what is open for a tool call, of a list of the API.
func (s *side) openFor(ctx context.Context, path, tool, dir string) (item gjson.Result, err error) {
	list, err := s.do(ctx, http.MethodGet, path, dir, nil)
	for _, one := range gjson.ParseBytes(list).Array() {
		if one.Get("tool.callID").Str == tool {
			return one, err
		}
	}
	return item, err
}

func (s *side) do(ctx context.Context, method, path, dir string, body []byte) ([]byte, error) {
	where := s.base + path + "?" + url.Values{"directory": {dir}}.Encode()
	r, err := http.NewRequestWithContext(ctx, method, where, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.SetBasicAuth(s.user, s.password)
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxLine))
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return data, err
}
