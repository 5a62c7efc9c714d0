package web_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// TestScripts plays each script of testdata/scripts: requests to a hub of its own. Of lines see
// [acptest.Script].
//
//	device bot ask                   a device with a right, and its groups
//	202 POST @c1/ask $database as bot   a request to conversation c1, and its status; who sends
//	                                 it, if not the owner
//	  state.type = working           what is true of the reply; see checks
//	415 POST @c1/respond x Accept:text/html   with a header
//	keep first state.revision        a variable is a part of the reply; let NAME TEXT: a text
//	open 1                           so many questions are open
//	mark c1                          this question is remembered;
//	same c1                          it is as it was
//
// Of the hooks of Claude Code, whose device is claude:
//
//	tell PreToolUse Bash $bash tool_use_id=toolu_1   an event, see hookSays
//	holds one PermissionRequest Bash $bash           an event that waits, and is called one
//	is one call = toolu_1                            what it asks; see record
//	respond one 200 '["Allow"]'                      somebody answers
//	told one ~ allow                                 what the hook is told
//	becomes one receipt = consumed
//
// What a hub refuses is JSON with one sentence, unless it was asked for something else.
func TestScripts(t *testing.T) {
	t.Parallel()
	for _, script := range acptest.Scripts(t, "testdata/scripts/*.txtar") {
		t.Run(script.Name, func(t *testing.T) {
			t.Parallel()
			maps.Copy(script.Vars, map[string]string{
				"ask": askInput, "answered": strings.TrimSuffix(askInput, "}") + `,"answers":{"Which database?":"SQLite"}}`,
				"bash": bashInput, "session": hookSession,
				"database": database, "features": features, "azure": blueCall, "sqlite": `{"answers":{"Which database?":"SQLite"}}`,
				"owner": "Bearer " + token, "large": strings.Repeat("x", 1<<20+1), "longest": strings.Repeat("c", 512), "form": "application/x-www-form-urlencoded",
			})
			s := &scripted{site: newSite(t, hub.Options{}), vars: script.Vars, marked: map[string]*hub.Record{}, held: map[string]hookEvent{}}
			for _, s.line = range script.Lines {
				s.play(script.Command(t, s.line))
			}
		})
	}
}

// scripted is a hub with a script.
type scripted struct {
	*site
	other  *site
	line   string
	vars   map[string]string
	marked map[string]*hub.Record
	claude *hooked
	held   map[string]hookEvent
	reply  string // the body of the last one
	never  []string
}

var header = regexp.MustCompile(`^[A-Z][A-Za-z-]+:`)

func (s *scripted) play(a []string) {
	s.t.Helper()
	switch {
	case s.line[0] == ' ':
		s.checks(a)
		return
	case a[0][0] >= '1' && a[0][0] <= '9':
		status, err := strconv.Atoi(a[0])
		require.NoError(s.t, err, s.line)
		s.requests(status, a[1], a[2], a[3:])
		return
	}
	switch a[0] {
	case "device":
		s.vars[a[1]] = "Bearer " + s.device(a[1], web.Can(a[2]), a[3:]...)
	case "remove":
		require.NoError(s.t, s.access.Remove(a[1]))
	case "starts": // a hub, with what another one left
		require.NoError(s.t, s.server.Abandon(s.t.Context()))
	case "let":
		s.vars[a[1]] = a[2]
	case "keep":
		s.vars[a[1]] = gjson.Get(s.reply, a[2]).String()
	case "never": // is one of these in a reply from here on, however it is written
		s.never = a[1:]
	case "open":
		_, open := s.board.Waiting(10)
		require.Equal(s.t, a[1], strconv.Itoa(open), s.line)
	case "mark":
		s.marked[a[1]] = s.find(a[1], "")
	case "same":
		require.Equal(s.t, s.marked[a[1]], s.find(a[1], ""), s.line)
	case "tell":
		s.hook().tell(hookSays(a[1:]))
	case "holds", "sends": // holds: something new is asked by that
		var h hookEvent
		if a[0] == "holds" {
			h.told, h.hangUp = s.hook().hold(hookSays(a[2:]))
			h.r = s.hook().held // it may be over already
		} else {
			h.told, h.hangUp = s.hook().send(hookSays(a[2:]))
		}
		s.held[a[1]] = h
	case "told":
		s.reply = <-s.held[a[1]].told
		s.checks(append([]string{"."}, a[2:]...))
	case "waits": // it is told nothing
		time.Sleep(10 * time.Millisecond)
		require.Empty(s.t, s.held[a[1]].told, s.line)
	case "leaves":
		s.held[a[1]].hangUp()
	case "respond":
		status, err := strconv.Atoi(a[2])
		require.NoError(s.t, err, s.line)
		s.reply = s.hook().respond(status, s.held[a[1]].r, a[3])
	case "becomes", "is":
		s.record(s.held[a[1]].r, a[2:], a[0] == "becomes")
	case "block": // the terminal shows nothing while a hook waits
		s.server.SetBlock(time.Millisecond)
	case "stop":
		s.server.Close()
	case "another": // hub of the same board from here on, or the first one again
		if s.other == nil {
			s.other = serve(s.t, s.board, s.access, web.Options{})
		}
		*s.site, *s.other = *s.other, *s.site
	default:
		require.Fail(s.t, "no such command", s.line)
	}
}

// hookEvent is an event that waits at the hub.
type hookEvent struct {
	told   <-chan string
	hangUp func()
	r      *hub.Record
}

// hook is a Claude Code whose hooks talk to the hub, as the device claude.
func (s *scripted) hook() *hooked {
	if s.claude == nil {
		s.claude = &hooked{site: s.site, token: strings.TrimPrefix(s.vars["claude"], "Bearer ")}
	}
	return s.claude
}

// hookSays is what a hook sends: NAME [TOOL INPUT] and more members, as name=value.
func hookSays(a []string) string {
	var more []any
	for _, w := range a[1:] {
		if name, value, ok := strings.Cut(w, "="); ok && w[0] != '{' {
			more = append(more, name, value)
			if json.Valid([]byte(value)) && strings.ContainsAny(value[:1], "[{") {
				more[len(more)-1] = json.RawMessage(value)
			}
		}
	}
	if len(a) > 2 && a[2][0] == '{' {
		return saysOf(a[0], a[1], a[2], more...)
	}
	return says(a[0], more...)
}

// record holds what the hub has of a question against what a script says of it, at once or as
// soon as the first of that is so.
func (s *scripted) record(r *hub.Record, checks []string, waits bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		now := acptest.Must(s.board.FindRef(r.Ref()))
		about := map[string]any{"open": now.Open(), "call": r.Hold.Call, "conversation": now.Conversation,
			"id": now.ID, "dir": now.Dir, "detail": now.Detail}
		if e := now.End; e != nil {
			about["outcome"], about["by"], about["receipt"] = e.Outcome, e.By, e.Receipt()
			about["reason"], about["undelivered"] = e.Reason, e.Undelivered
		}
		s.reply = jsonOf(s.t, about)
		if !waits || gjson.Get(s.reply, checks[0]).String() == checks[2] || time.Now().After(end) {
			break
		}
	}
	s.checks(checks)
}

// requests sends a request: METHOD PATH, and then the body, Header:value, as NAME in any order.
func (s *scripted) requests(status int, method, path string, more []string) {
	s.t.Helper()
	body, asked := "", "application/json"
	var headers []string
	for i := 0; i < len(more); i++ {
		switch name, value, _ := strings.Cut(more[i], ":"); {
		case more[i] == "as":
			i++
			headers = append(headers, "Authorization", s.vars[more[i]])
		case header.MatchString(more[i]):
			if headers = append(headers, name, value); name == "Accept" {
				asked = value
			}
		default:
			body = more[i]
		}
	}
	if rest, ok := strings.CutPrefix(path, "@"); ok {
		path = "/conversations/" + rest
	}
	reply, data := s.request(method, path, body, headers...)
	require.Equal(s.t, status, reply.StatusCode, "%s: %s", s.line, data)
	for _, text := range s.never {
		require.NotContains(s.t, strings.ToLower(data), text, s.line)
	}
	if s.reply = data; status >= http.StatusBadRequest && asked == "application/json" && method != http.MethodHead {
		require.Equal(s.t, "application/json", reply.Header.Get("Content-Type"), s.line)
		require.True(s.t, json.Valid([]byte(data)), "%s: %s", s.line, data)
		require.Regexp(s.t, `^[^\n]+$`, gjson.Get(data, "error").Str, s.line)
	}
}

// checks holds the last reply against what a script says of it: PATH and a check. The path . is
// all of it.
func (s *scripted) checks(a []string) {
	s.t.Helper()
	for len(a) > 1 {
		got := gjson.Get(s.reply, a[0])
		if a[0] == "." {
			got = acptest.Whole(s.reply)
		}
		a = acptest.Check(s.t, s.line+": "+s.reply, got, a[1:])
	}
	require.Empty(s.t, a, s.line)
}
