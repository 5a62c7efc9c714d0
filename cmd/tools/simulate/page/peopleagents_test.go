package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// theAsking is one that was on the board.
type theAsking struct {
	conversation, id, text string
	name                   string // on the board
	permission, long       bool
	over                   bool
	again                  bool // what is asked is what a process before was killed with
	serial                 int
}

// agentProcess asks one thing at a time, and waits for it.
type agentProcess struct {
	name    string
	asks    *theAsking // the last one
	calls   string     // what the process calls that
	waits   bool
	cancel  context.CancelFunc
	reply   chan agentReply
	outcome string
	done    map[string]bool
}

type agentReply struct {
	code int
	body string
	err  error
}

var texts = []string{"Which way?", "Which other way?", "run: make test", "run: make all"}

// agentAsks has the agent of a conversation go on, or ask something new.
func (h *house) agentAsks(c int) {
	a := h.agents[c]
	switch {
	case a == nil:
		h.serial++
		a = &agentProcess{name: fmt.Sprint("process", h.serial), done: map[string]bool{}}
		h.agents[c] = a
	case a.waits:
		return
	}
	i := h.r.IntN(len(texts))
	q := &theAsking{conversation: fmt.Sprint("c", c), id: fmt.Sprint("toolu_", h.r.IntN(2), i), text: texts[i], again: h.r.IntN(3) > 0}
	q.permission, q.long = strings.HasPrefix(q.text, "run"), q.text == texts[3]
	switch {
	case a.asks != nil && a.outcome == "": // it still wants to know
		q = a.asks
	case a.done[q.id+q.text]: // ids are not used twice in a process
		return
	}
	if q != a.asks {
		h.serial++
		a.calls = fmt.Sprint("name", h.serial)
	}
	a.outcome = ""
	a.done[q.id+q.text] = true
	h.asks(a, q)
}

func (h *house) asks(a *agentProcess, q *theAsking) {
	call := hublink.Asking{Name: a.calls, Kind: "question", Agent: "Agent", Asker: a.name, Again: q.again, Call: convert.Call{ID: q.id, Questions: []convert.Question{{Text: q.text, Options: []convert.Option{{Label: "A"}, {Label: "B"}}}}}}
	if q.permission {
		script := q.text + "\nlast line of " + q.text
		if q.long {
			script = q.text + strings.Repeat("\necho", 60) + "\nlast line of " + q.text
		}
		call.Kind, call.Detail = "permission", string(acptest.Must(json.Marshal(map[string]string{"command": script})))
		call.About.Tool = about.Tool{Kind: "execute", Picks: []string{"allow_once", "reject_once"}}
		call.Call.Name, call.Call.Questions[0] = "Bash", convert.Question{Text: q.text, Closed: true, Options: []convert.Option{{Label: "Allow"}, {Label: "Reject"}}}
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	a.asks, a.waits, a.cancel, a.reply = q, true, cancel, make(chan agentReply, 1)
	req, err := http.NewRequestWithContext(ctx, "POST", h.url+"/conversations/"+q.conversation+"/ask?dialect=bridge&wait=10m", bytes.NewReader(acptest.Must(json.Marshal(call))))
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	replies := a.reply
	go func() {
		reply, err := http.DefaultClient.Do(req)
		if err != nil {
			replies <- agentReply{err: err}
			return
		}
		defer reply.Body.Close()
		body, err := io.ReadAll(reply.Body)
		replies <- agentReply{reply.StatusCode, string(body), err}
	}()
	h.note("%s asks %s %s %q", a.name, q.conversation, q.id, q.text)
	h.settles(a)
}

// last is the last that was asked of a call.
func (h *house) last(q *theAsking) (last *theAsking) {
	for _, o := range h.askings {
		if o.same(q) && (last == nil || o.serial > last.serial) {
			last = o
		}
	}
	return last
}

// kept is what was said to who asked the same last, and was not used.
func (h *house) kept(q *theAsking) bool {
	return q.again && slices.ContainsFunc(h.said, func(s *saying) bool { return s.to == h.last(q) && s.used == nil })
}

// same reports whether a process that asks again may have what was said to another.
func (q *theAsking) same(o *theAsking) bool {
	return q.conversation == o.conversation && q.text == o.text && q.id == o.id
}

// settles waits until what an agent asks is on the board, and notes its name; or until
// it gets what was kept.
func (h *house) settles(a *agentProcess) {
	q := a.asks
	var rec *hub.Record
	for end := time.Now().Add(acptest.Patience); rec == nil; {
		select {
		case r := <-a.reply:
			h.count["kept"]++
			a.reply <- r
			h.gets(a)
			return
		case <-time.After(time.Millisecond):
			require.True(h.t, time.Now().Before(end), "%s: %+v is never open", a.name, *q)
		}
		for _, r := range h.board.Conversation("", q.conversation) {
			if r.Open() && r.Call.Questions[0].Text == q.text && r.Asker == a.name {
				rec = r
			}
		}
	}
	require.False(h.t, h.kept(q), "%s: what was accepted for it is lost", a.name)
	if known := h.askings[rec.ID]; known != nil {
		require.True(h.t, known.same(q) && !known.over && (q.again || q == known), "%+v is open again as %+v", known, q)
		a.asks = known
	} else {
		made := *q
		made.name, made.over, made.serial = rec.ID, false, h.serial
		h.askings[rec.ID], a.asks = &made, &made
		h.note("  it is open as %s", rec.ID)
	}
	h.revisions[fmt.Sprint(rec.Revision)] = a.asks
}

// gets has an agent take what comes, and judges it.
func (h *house) gets(a *agentProcess) {
	r := acptest.Next(h.t, a.reply)
	a.cancel()
	a.waits = false
	require.NoError(h.t, r.err)
	require.Equal(h.t, 200, r.code, r.body)
	h.count["got"]++
	a.outcome = gjson.Get(r.body, "outcome").Str
	words := gjson.Get(r.body, "answers.0.Text").Str + gjson.Get(r.body, "answers.0.Note").Str
	what := a.outcome
	if pick := gjson.Get(r.body, "answers.0.Selected.0").Str; pick != "" {
		what = pick
	}
	h.note("  %s gets %s %q", a.name, what, words)
	i := slices.IndexFunc(h.said, func(s *saying) bool {
		return s.to.same(a.asks) && s.what == what && s.words == words && (s.used == nil || s.used == a)
	})
	require.GreaterOrEqual(h.t, i, 0, "%s asked %+v and got %s, which nobody said to it: %s", a.name, *a.asks, what, r.body)
	s := h.said[i]
	s.got = append(s.got, a)
	require.Equal(h.t, s.by.device, gjson.Get(r.body, "by").Str)
	if h.r.IntN(4) > 0 {
		h.does(s.to, "received", hublink.Received{Consumed: true, Asker: a.name})
		s.used = a
		h.note("  and used it")
	} else { // it dies with it: its successor may have it
		h.note("  and dies with it")
		h.agents[a.asks.conversation[1]-'0'] = nil
	}
}

// hangsUp ends the request of an agent.
func (h *house) hangsUp(a *agentProcess) {
	if a.waits {
		h.note("%s hangs up", a.name)
		a.cancel()
		<-a.reply
		a.waits = false
	}
}

// withdraws has an agent end what it asks: its user was quicker elsewhere, or it needs no
// answer any more.
func (h *house) withdraws(c int) {
	a := h.agents[c]
	if a == nil || !a.waits {
		return
	}
	h.count["withdrawn"]++
	h.hangsUp(a)
	end := hublink.Settling{Outcome: "failed", Reason: "the turn is over", Asker: a.name}
	if h.r.IntN(2) == 0 {
		pick := convert.Answer{Selected: []string{"A"}}
		if a.asks.permission {
			pick.Selected[0] = "Allow"
		}
		end = hublink.Settling{Outcome: "answered", Answers: []convert.Answer{pick}, By: "Anna", Asker: a.name}
	}
	h.does(a.asks, "settle", end)
	h.note("%s withdraws %s as %s", a.name, a.asks.name, end.Outcome)
	a.outcome, a.asks.over = "withdrawn", true
}

// restarts starts the hub anew. Who asks does so again, by and by.
func (h *house) restarts() {
	h.count["restart"]++
	h.close()
	for _, a := range h.agents {
		if a != nil && a.waits {
			r := <-a.reply
			require.True(h.t, r.err != nil || r.code == 202 || r.code >= 500, "%s asks what nobody has answered, and gets %d %s", a.name, r.code, r.body)
			a.cancel()
			a.waits = false
		}
	}
	h.open()
	h.note("the hub was started anew")
}

// finish has somebody ask for all that was accepted and that nobody has used.
func (h *house) finish() {
	for i, a := range h.agents {
		if a != nil {
			h.hangsUp(a)
			h.agents[i] = nil
		}
	}
	for _, s := range slices.Clone(h.said) {
		if s.used == nil && s.to == h.last(s.to) {
			h.serial++
			a := &agentProcess{name: fmt.Sprint("process", h.serial), calls: fmt.Sprint("name", h.serial)}
			q := *s.to
			q.again = true
			h.asks(a, &q)
			require.Contains(h.t, s.got, a)
		}
	}
	h.look(h.people[0], 0)
}
