package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// TestScripts plays each script of testdata/scripts, in a bubble: an editor and an agent with
// the proxy between them, and people at a desk. Of lines see [acptest.Script].
//
//	start conversation working     see start: the options, and what has happened
//	agent> $grok say:more          it sends lines, in one piece; see line
//	editor< said ~ 'Which one?'    it reads what the agent says, skipping all else
//	editor< reply id = p1          it reads the next response, of which that holds
//	agent< next . = '{"id":1}'     it reads the next line, which is that
//	editor< session/request_permission as q   it reads up to one with this method, which is q
//	editor> picks:q:SQLite
//	editor< where PATH = V         it reads up to a line in which that is so
//	never PATH TEXT                no line that is skipped has that there
//	agent quiet                    it has nothing to read; or all of some texts, or none
func TestScripts(t *testing.T) {
	t.Parallel()
	for _, script := range acptest.Scripts(t, "testdata/scripts/*.txtar") {
		t.Run(script.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				maps.Copy(script.Vars, literals)
				s := &played{T: t, rows: script, vars: script.Vars, requests: map[string]gjson.Result{}, asked: map[string]string{}}
				s.entries, s.receipts = make(chan desk.Entry, 1000), make(chan string, 100)
				for _, line := range script.Lines {
					s.play(line)
				}
			})
		})
	}
}

// literals are variables that every script has.
var literals = map[string]string{
	"grok": oneLine(grokAsks), "kimi": kimiAsks, "kimiform": kimiForm, "mayrun": mayRun, "mark": mark,
	"allows": editorAllows, "large": strings.Repeat("x", about.MaxShapes),
	"picked": `result.answers.Which database\?.0`, "sub": subAgentOf, "subasks": asksInS2("Delete which?"),
	"forms": withForms, "bare": noForms, "blind": blind,
	"permission": "session/request_permission", "form": "elicitation/create", "seen": seen.Method,
	"sqlite": selected("SQLite"), "dismissed": `{"outcome":{"outcome":"cancelled"}}`,
}

// played is a script that is played.
type played struct {
	*testing.T
	rows     *acptest.Script
	p        *proxied
	line     string
	vars     map[string]string
	requests map[string]gjson.Result
	desk     *desk.Desk
	entries  chan desk.Entry
	asked    map[string]string // names at the desk, by a script's
	ids      sync.Map          // of the agent, by those
	receipts chan string
	never    [][2]string
}

func (s *played) play(line string) {
	s.line = line
	a := s.rows.Command(s.T, line)
	if a == nil {
		return
	}
	var e *end
	if s.p != nil {
		e = map[byte]*end{'e': s.p.editor, 'a': s.p.agent}[a[0][0]]
	}
	switch command := a[0]; command {
	case "let":
		s.vars[a[1]] = a[2]
	case "start":
		s.start(a[1:])
	case "editor>", "agent>":
		for i := range a[1:] {
			a[i+1] = s.message(a[i+1])
		}
		e.send(a[1:]...)
	case "editor<", "agent<":
		s.reads(e, a[1], a[2:])
	case "editor", "agent":
		if a[1] == "leaves" {
			require.NoError(s, e.w.Close())
			return
		}
		synctest.Wait()
		text := strings.Join(drained(e), "\n")
		for _, part := range a[2:] { // it has got all of these, in any order, or none of them
			require.Equal(s, a[1] == "all", strings.Contains(text, part), "%s: %s", s.line, text)
		}
		if a[1] == "quiet" {
			require.Empty(s, text, s.line)
		}
	case "never":
		s.never = append(s.never, [2]string{a[1], a[2]})
	case "wait": // all has come as far as it can
		synctest.Wait()
	case "stop":
		s.p.cancel(context.Canceled)
	case "ended":
		if err := <-s.p.ended; len(a) > 1 {
			require.ErrorContains(s, err, a[1])
		} else {
			require.NoError(s, err)
		}
	case "do":
		s.play(a[1])
	case "asking", "settled":
		state := map[string]desk.State{"asking": desk.Asking, "settled": desk.Settled}[command]
		e := <-s.entries
		for ; e.State != state; e = <-s.entries {
		}
		if a = a[1:]; len(a) > 1 && a[0] == "as" {
			s.asked[a[1]], a = e.Name, a[2:]
		}
		text := acptest.Must(json.Marshal(map[string]any{"permission": e.Kind == desk.Permission,
			"text": e.Call.Questions[0].Text, "options": e.Call.Questions[0].Options, "input": e.Call.Input,
			"again": e.Again, "sub": e.Call.SubAgent.Parent, "about": e.About, "told": e.About.Told(),
			"by": e.By, "status": e.Outcome.Status.String(), "answers": e.Outcome.Answers}))
		s.checks(gjson.ParseBytes(text), a)
	case "phone": // of what is asked, a label, nothing, or answers; and why it is not taken
		answers := pick(a[2])
		if strings.HasPrefix(a[2], "[") {
			require.NoError(s, json.Unmarshal([]byte(a[2]), &answers))
		}
		err := s.desk.Answer(s.asked[a[1]], answers, "phone")
		if a[2] == "" {
			err = s.desk.Cancel(s.asked[a[1]], "phone")
		}
		if len(a) > 3 {
			require.ErrorContains(s, err, a[3], s.line)
		} else {
			require.NoError(s, err, s.line)
		}
	case "open": // so many are at the desk
		require.Equal(s, a[1], strconv.Itoa(len(s.desk.List())), s.line)
	case "receipt":
		s.says(<-s.receipts, a[1:])
	default:
		require.Fail(s, "no such command", s.line)
	}
}

// start starts a proxy. What it is given are options of it, capabilities of the editor, and
// how far things have come: the agent works on p1; its question waits in the conversation, or
// was there and is withdrawn; or it is in a dialog, of which q is the request.
func (s *played) start(a []string) {
	o, caps, begin := Options{}, noForms, start
	has := func(word string) bool { return slices.Contains(a, word) }
	for _, w := range a {
		name, value, _ := strings.Cut(w, ":")
		switch name {
		case "conversation", "parked", "withdrawn":
			o.First = adapter.Conversation
		case "permission":
			o.First = adapter.Permission
		case "desk":
			s.desk, o.Desk = new(desk.Desk), nil
			o.Desk = s.desk
			s.Cleanup(s.desk.Watch(func(e desk.Entry) { s.ids.Store(e.Name, e.Call.ID); s.entries <- e }))
			s.Cleanup(s.desk.WatchReceipts(func(name string, err error) {
				id, _ := s.ids.Load(name)
				text := fmt.Sprint(id)
				if err != nil {
					text += fmt.Sprintf(": %v (gone: %v)", err, errors.Is(err, life.ErrGone))
				}
				s.receipts <- text
			}))
		case "guard":
			begin = startGuarding
		case "agent":
			o.Agent = profileNamed(value)
		case "notool":
			o.Tool = ToolNever
		case "refuse":
			o.RefuseSubAgents = true
		case "caps":
			caps = cmp.Or(value, noForms)
		default:
			require.Contains(s, []string{"raw", "working", "dialog", ""}, name, s.line)
		}
	}
	s.p = begin(s.T, o)
	if has("raw") {
		return
	}
	s.p.initialize(caps)
	parked := has("parked") || has("withdrawn")
	if has("working") || parked {
		s.p.prompt("p1", "go")
		require.Equal(s, "p1", s.p.agent.next().Get("id").Str)
	}
	if parked || has("dialog") {
		s.p.agent.send(oneLine(grokAsks))
	}
	if parked {
		require.Equal(s, "p1", s.p.editor.reply().Get("id").Str)
	}
	if has("withdrawn") {
		s.p.agent.send(s.message("withdraws:0"))
		require.Contains(s, s.p.editor.said(), "withdrawn")
		require.EqualValues(s, ndjson.Cancelled, s.p.agent.next().Get("error.code").Int())
	}
	if has("dialog") {
		s.keep("q", s.p.editor.until("session/request_permission"))
	}
}

func (s *played) keep(name string, m gjson.Result) {
	s.requests[name], s.vars[name] = m, m.Get("id").Raw
}

// message is a line as JSON. One that is no JSON is short for such a line.
func (s *played) message(short string) string {
	what, rest, is := strings.Cut(short, ":")
	if !is {
		return short
	}
	first, second, _ := strings.Cut(rest, ":")
	line := func(members string) string { return `{"jsonrpc":"2.0",` + members + `}` }
	switch what {
	case "say": // TEXT
		return chunk(rest)
	case "update": // JSON
		return line(`"method":"session/update","params":{"sessionId":"s1","update":` + rest + `}`)
	case "prompt": // ID:TEXT
		return line(`"id":"` + first + `","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"` + second + `"}]}`)
	case "ends": // ID:REASON
		return line(`"id":"` + first + `","result":{"stopReason":"` + second + `"}`)
	case "fails": // ID:MESSAGE
		return line(`"id":"` + first + `","error":{"code":-32603,"message":"` + second + `"}`)
	case "result": // ID:JSON
		return line(`"id":` + first + `,"result":` + second)
	case "error": // ID:JSON
		return line(`"id":` + first + `,"error":` + second)
	case "picks": // a request:OPTION
		return line(`"id":` + s.requests[first].Get("id").Raw + `,"result":` + selected(second))
	case "replies": // to a request:JSON
		return line(`"id":` + s.requests[first].Get("id").Raw + `,"result":` + second)
	case "withdraws": // ID
		return line(`"method":"$/cancel_request","params":{"requestId":` + rest + `}`)
	case "cancels": // SESSION
		return line(`"method":"session/cancel","params":{"sessionId":"` + rest + `"}`)
	case "close", "delete", "load", "resume", "fork", "new": // ID
		return line(`"id":"` + rest + `","method":"session/` + what + `","params":{"sessionId":"s1","cwd":"/x","mcpServers":[]}`)
	}
	return short
}

// reads has an end read: its next line, the next response, what is said next, or up to a method.
func (s *played) reads(e *end, which string, a []string) {
	var m gjson.Result
	switch which {
	case "next":
		m = e.next()
	case "reply":
		m = e.reply()
	case "said":
		s.says(e.said(), a)
		return
	default:
		for found := false; !found; {
			m = e.next()
			for _, never := range s.never {
				require.NotContains(s, m.Get(never[0]).Raw, never[1], s.line)
			}
			if found = m.Get("method").Str == which; which == "where" {
				found = m.Get(a[0]).String() == a[2] || a[0] == "." && m.Raw == a[2]
			}
		}
	}
	if len(a) > 1 && a[0] == "as" {
		s.keep(a[1], m)
		a = a[2:]
	}
	s.checks(m, a)
}

// says holds a text against what a script says of it.
func (s *played) says(text string, a []string) {
	for ; len(a) > 0; a = a[2:] {
		s.checks(acptest.Whole(text), []string{".", a[0], a[1]})
	}
}

// checks holds a message against what a script says of it: PATH and a check. The path . is all
// of it, and that of what is said is not written.
func (s *played) checks(m gjson.Result, a []string) {
	for len(a) > 1 {
		got := m.Get(a[0])
		if a[0] == "." {
			if got = m; a[1] == "=" || a[1] == "json" {
				a[2] = s.message(a[2])
			}
		}
		a = acptest.Check(s, s.line+": "+m.Raw, got, a[1:])
	}
	require.Empty(s, a, s.line)
}
