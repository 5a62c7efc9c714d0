package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/mcp"
)

// person answers what an editor shows, each time in words of their own that are
// never said again, and knows what they saw, where and when.
type person struct {
	p *proxied

	mu      sync.Mutex
	clock   int
	seen    []*showing
	changed chan struct{} // closed when more is seen, or less
	hasty   func() bool   // answers what they see at once
}

// showing is a question that the person has seen.
type showing struct {
	request         gjson.Result
	session, text   string
	said            string
	at              int
	answered, ended bool
}

// now counts what happens.
func (h *person) now() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	return h.clock
}

// looks reads what the editor gets, until it ends.
func (h *person) looks(replies chan<- gjson.Result) {
	for line := range h.p.editor.lines {
		m := gjson.Parse(line)
		switch m.Get("method").Str {
		case "session/request_permission":
			h.sees(m)
		case "$/cancel_request":
			h.loses(m.Get("params.requestId").Raw)
		case "":
			replies <- m
		}
	}
	close(replies)
}

func (h *person) sees(m gjson.Result) {
	at := h.now()
	h.mu.Lock()
	s := &showing{
		request: m, session: m.Get("params.sessionId").Str, text: m.Get("params.toolCall.rawInput.question").Str,
		said: fmt.Sprintf("said-%d.", at), at: at,
	}
	h.seen = append(h.seen, s)
	h.tell()
	hasty := h.hasty()
	h.mu.Unlock()
	if hasty {
		h.answers(s)
	}
}

func (h *person) loses(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.seen {
		s.ended = s.ended || s.request.Get("id").Raw == id
	}
	h.tell()
}

func (h *person) tell() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// awaits returns when something is shown in a session, or done is closed.
func (h *person) awaits(session string, done <-chan struct{}) {
	for !h.shows(session) {
		h.mu.Lock()
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-done:
			return
		case <-changed:
		}
	}
}

// shows reports whether something is shown in a session and has no answer.
func (h *person) shows(session string) bool {
	return slices.ContainsFunc(h.waiting(), func(s *showing) bool { return s.session == session })
}

// answers replies to a showing, also to one that is gone.
func (h *person) answers(s *showing) {
	h.mu.Lock()
	again := s.answered
	s.answered = true
	h.mu.Unlock()
	if !again {
		const other = `{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":"__other__","_meta":{"customText":"%s"}}}}`
		fmt.Fprintf(h.p.editor.w, other+"\n", s.request.Get("id").Raw, s.said) // the proxy may have ended
	}
}

// waiting are the showings that have no answer.
func (h *person) waiting() (list []*showing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.seen {
		if !s.answered && !s.ended {
			list = append(list, s)
		}
	}
	return list
}

// asker is one call of the tool, and the calls with its ticket.
type asker struct {
	session, text string
	client        *sdk.ClientSession
	at            int // before it asked
	cancel        context.CancelFunc
	done          chan struct{} // of the last call
	ticket        string
	got           []string
	gaveUp        bool // it, or its turn
}

// calls makes a call, and keeps what the model gets.
func (k *asker) calls(t *testing.T, meta sdk.Meta, input string) {
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel, k.done = cancel, make(chan struct{})
	done := k.done
	go func() {
		defer close(done)
		r, err := k.client.CallTool(ctx, &sdk.CallToolParams{Meta: meta, Name: mcp.ToolName, Arguments: json.RawMessage(input)})
		if err != nil {
			return // it died, or its session did
		}
		text := r.Content[0].(*sdk.TextContent).Text
		k.got = append(k.got, text)
		if _, rest, ok := strings.Cut(text, `"ticket": "`); ok {
			k.ticket, _, _ = strings.Cut(rest, `"`)
		}
	}()
}

// Agents in several sessions ask in the same and in other words, several at a time,
// with and without tickets, give up and die, turns end and sessions are opened anew meanwhile. Whatever a
// model is told that a person said, that person said it to a showing of this
// question, in this session, after it was asked; and nobody else is told.
func TestWhatEachAgentGets(t *testing.T) {
	t.Parallel()
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { play(t, rand.New(rand.NewPCG(seed, 7)), seed%2 == 0) })
	}
}

func play(t *testing.T, r *rand.Rand, tickets bool) {
	profile := profileNamed("goose")
	if tickets {
		profile.ToolLimit = 10 * time.Millisecond // it may be answered meanwhile, or not
	}
	p := initialized(t, Options{Agent: profile}, noForms)
	sessions := []string{"s1", "s2", "s3"}
	agents := map[string]*toolAgent{}
	for _, s := range sessions {
		agents[s] = p.open(t, s)
	}
	var luck sync.Mutex
	draw := func(n int) int { luck.Lock(); defer luck.Unlock(); return r.IntN(n) }
	h := &person{p: p, changed: make(chan struct{}), hasty: func() bool { return draw(3) == 0 }}
	replies := make(chan gjson.Result, 1000)
	go h.looks(replies)
	agentLines := make(chan gjson.Result, 1000)
	go func() {
		defer close(agentLines)
		for line := range p.agent.lines {
			switch m := gjson.Parse(line); m.Get("method").Str {
			case "session/prompt":
				agentLines <- m
			case "session/load": // it stays with the tool that it has
				p.agent.result(m, `{}`)
			}
		}
	}()
	running := map[string]gjson.Result{}
	turn := func(s string) {
		id := fmt.Sprintf("%s-%d", s, h.now())
		p.editor.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"session/prompt","params":{"sessionId":"` + s + `","prompt":[{"type":"text","text":"go on"}]}}`)
		for m := range agentLines {
			running[m.Get("params.sessionId").Str] = m
			if m.Get("params.sessionId").Str == s {
				return
			}
		}
	}
	for _, s := range sessions {
		turn(s)
	}
	var all []*asker
	for range 40 {
		s := sessions[draw(len(sessions))]
		switch draw(10) {
		case 0, 1, 2: // ask
			k := &asker{session: s, text: []string{"Which database?", "Which other?"}[draw(2)], client: agents[s].client, at: h.now()}
			var meta sdk.Meta
			if draw(2) == 0 {
				meta = sdk.Meta{"agent-tool-call-request-id": fmt.Sprint("call-", len(all))}
			}
			k.calls(t, meta, strings.ReplaceAll(toolQuestions, "Which database?", k.text))
			all = append(all, k)
			if tickets {
				<-k.done
			} else {
				h.awaits(s, k.done)
			}
		case 3, 4: // the person answers something that is shown
			if list := h.waiting(); len(list) > 0 {
				h.answers(list[draw(len(list))])
			}
		case 5: // a model comes back with its ticket, or a call is given up
			if len(all) == 0 {
				continue
			}
			k := all[draw(len(all))]
			if !tickets {
				k.cancel()
				k.gaveUp = true
				<-k.done
				continue
			}
			<-k.done
			if k.ticket != "" {
				ticket := k.ticket
				k.ticket = ""
				k.calls(t, nil, `{"ticket":"`+ticket+`"}`)
				<-k.done
			}
		case 6: // the agent's turn ends, and the next begins
			p.agent.result(running[s], `{"stopReason":"end_turn"}`)
			for m := range replies {
				if m.Get("id").Raw == running[s].Get("id").Raw {
					break
				}
			}
			for _, k := range all { // the next prompt takes the place of what they ask
				k.gaveUp = k.gaveUp || k.session == s
			}
			turn(s)
		case 7: // the connection dies, and there is another one
			agents[s].die()
			for _, k := range all {
				k.gaveUp = k.gaveUp || k.session == s
			}
			agents[s].connect(t)
		case 8: // the person answers all of it
			for _, one := range h.waiting() {
				h.answers(one)
			}
		case 9: // the editor opens the session anew
			id := fmt.Sprintf("load-%d", h.now())
			p.editor.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"session/load","params":{"sessionId":"` + s + `","cwd":"/x","mcpServers":[]}}`)
			for m := range replies {
				if m.Get("id").Str == id {
					break
				}
			}
		}
	}
	for _, k := range all { // in the end the person answers, and nobody gives up
		for !tickets && !closed(k.done) {
			h.awaits(k.session, k.done)
			for _, one := range h.waiting() {
				h.answers(one)
			}
		}
		k.cancel()
		<-k.done
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	check(t, h.seen, all, tickets)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// check compares what the models were told with what the person knows.
func check(t *testing.T, seen []*showing, all []*asker, tickets bool) {
	t.Helper()
	told := map[string]int{}
	answers := 0
	for i, k := range all {
		before := answers
		for _, text := range k.got {
			at := strings.Index(text, "said-")
			if at < 0 {
				continue
			}
			answers++
			said := text[at : at+strings.IndexByte(text[at:], '.')+1]
			told[said]++
			found := false
			for _, s := range seen {
				if s.said != said {
					continue
				}
				found = true
				assert.Equal(t, k.session, s.session, "call %d: shown in another session", i)
				assert.Equal(t, k.text, s.text, "call %d: another question", i)
				assert.Greater(t, s.at, k.at, "call %d: said before it was asked", i)
				assert.True(t, s.answered)
			}
			require.True(t, found, "call %d: nobody said %q", i, said)
		}
		if !tickets && !k.gaveUp {
			assert.Equal(t, before+1, answers, "call %d has no answer: %q", i, k.got)
		}
	}
	for said, n := range told {
		assert.Equal(t, 1, n, "%s was told to several", said)
	}
	t.Logf("%d calls, %d showings, %d answers", len(all), len(seen), answers)
}
