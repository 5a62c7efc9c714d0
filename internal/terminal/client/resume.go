package client

import (
	"cmp"
	"context"
	"errors"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

// maxSessions bounds the list of sessions to choose from.
const maxSessions = 1000

// errNotChosen means that the user chose no session to go on with.
var errNotChosen = errors.New("no session was chosen")

// resume goes on with a session: the one that is named, or one that the user
// chooses.
func (l *link) resume(ctx context.Context, caps acp.AgentCapabilities, o *Options) error {
	id := acp.SessionId(o.Session)
	if id == "" {
		if caps.SessionCapabilities.List == nil {
			return errors.New("the agent cannot list its sessions; --session ID continues one")
		}
		sessions, err := l.sessions(ctx, o.Dir)
		if err != nil {
			return err
		}
		if o.Last && len(sessions) > 0 {
			id = sessions[0].SessionId
		} else if id, err = l.choose(ctx, sessions); err != nil {
			return err
		}
	}
	l.session = id
	var meta map[string]any
	var err error
	switch resumes := caps.SessionCapabilities.Resume != nil; {
	case caps.LoadSession && !(resumes && o.Once): // else what was said before is of no interest
		var resp acp.LoadSessionResponse
		resp, err = l.conn.LoadSession(ctx, acp.LoadSessionRequest{SessionId: id, Cwd: o.Dir, McpServers: []acp.McpServer{}})
		meta = resp.Meta
	case resumes:
		var resp acp.ResumeSessionResponse
		resp, err = conn.CallFor[acp.ResumeSessionResponse](ctx, l.conn, acp.AgentMethodSessionResume,
			acp.ResumeSessionRequest{SessionId: id, Cwd: o.Dir, McpServers: []acp.McpServer{}})
		meta = resp.Meta
	default:
		err = errors.New("the agent cannot continue a session")
	}
	l.left = waitingFor(meta)
	return err
}

// sessions asks the agent for those of a folder, the last one first.
func (l *link) sessions(ctx context.Context, dir string) (all []acp.SessionInfo, err error) {
	req := acp.ListSessionsRequest{Cwd: &dir}
	for {
		page, err := conn.CallFor[acp.ListSessionsResponse](ctx, l.conn, acp.AgentMethodSessionList, req)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Sessions...)
		if req.Cursor = page.NextCursor; req.Cursor == nil || len(page.Sessions) == 0 || len(all) >= maxSessions {
			return all, nil
		}
	}
}

// choose lets the user choose a session, as a question of the client's own.
func (l *link) choose(ctx context.Context, sessions []acp.SessionInfo) (acp.SessionId, error) {
	if len(sessions) == 0 {
		return "", errors.New("there is no session in this folder to continue")
	}
	q := convert.Question{Header: "Resume", Text: "Which session do you want to continue?", Closed: true}
	for _, s := range sessions {
		title := ""
		if s.Title != nil {
			title = clean.Line(*s.Title)
		}
		q.Options = append(q.Options, convert.Option{Label: cmp.Or(title, string(s.SessionId)), Description: since(s.UpdatedAt, time.Now())})
	}
	a := newWaiting(ctx, &request{
		call: convert.Call{Questions: []convert.Question{q}}, closed: true,
		reply: func(o convert.Outcome, index int) (any, error) {
			if o.Status != convert.Answered {
				return -1, nil
			}
			return index, nil
		},
	})
	l.told.asked(a, gjson.Result{})
	l.box.Put(asked{a})
	select {
	case s := <-a.said:
		if i, _ := s.reply.(int); i >= 0 && i < len(sessions) {
			return sessions[i].SessionId, nil
		}
		return "", errNotChosen
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// since says when a session was used.
func since(at *string, now time.Time) string {
	if at == nil {
		return ""
	}
	t, err := time.Parse(time.RFC3339, *at)
	if err != nil {
		return clean.Line(*at)
	}
	return lineask.Ago(t, now)
}
