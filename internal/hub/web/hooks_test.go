package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

const hookSession = "0b5c7a3e-5a0f-4b1e-9d51-0c6a3a2f9f10"

// hooked is a site with a Claude Code whose hooks talk to it.
type hooked struct {
	*site
	token string
}

func newHooked(t testing.TB) *hooked {
	s := newSite(t, hub.Options{})
	token := s.device("claude", web.CanHook)
	return &hooked{s, token}
}

// says is what a hook sends; more are pairs.
func says(name string, more ...any) string {
	e := map[string]any{"hook_event_name": name, "session_id": hookSession, "cwd": "/p", "transcript_path": "/etc/passwd"}
	for i := 0; i < len(more); i += 2 {
		e[more[i].(string)] = more[i+1]
	}
	data, _ := json.Marshal(e)
	return string(data)
}

func saysOf(name, tool, input string, more ...any) string {
	return says(name, append([]any{"tool_name", tool, "tool_input", json.RawMessage(input)}, more...)...)
}

const (
	askInput  = `{"questions":[{"question":"Which database?","header":"DB","multiSelect":false,"options":[{"label":"PostgreSQL","description":""},{"label":"SQLite","description":""}]}]}`
	bashInput = `{"command":"make","description":"build"}`
)

// tell sends an event that needs no answer.
func (s *hooked) tell(body string) {
	s.t.Helper()
	require.Equal(s.t, "{}\n", s.expect(200, "POST", "/hooks/claude", body, "Authorization", "Bearer "+s.token))
}

// hold sends an event that waits. The channel gets what the hook is told.
func (s *hooked) hold(body string) (told chan string, hangUp func()) {
	s.t.Helper()
	reader := s.board.Read(0)
	reader.Next()
	told, hangUp = s.send(body)
	require.Eventually(s.t, func() bool { asked, _ := reader.Next(); return slices.ContainsFunc(asked, (*hub.Record).Open) }, patience, time.Millisecond)
	return told, hangUp
}

// send is hold for what may be there already.
func (s *hooked) send(body string) (told chan string, hangUp func()) {
	s.t.Helper()
	told = make(chan string, 1)
	req, err := http.NewRequestWithContext(s.t.Context(), "POST", s.url+"/hooks/claude", strings.NewReader(body))
	require.NoError(s.t, err)
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	ctx, cancel := contextOf(s.t)
	go func() {
		reply, err := (&http.Client{Transport: transport}).Do(req.WithContext(ctx))
		if err != nil {
			told <- err.Error()
			return
		}
		defer reply.Body.Close()
		told <- read(reply)
	}()
	return told, cancel
}

func (s *hooked) newest() *hub.Record {
	s.t.Helper()
	list, _ := s.board.Waiting(1)
	require.NotEmpty(s.t, list)
	return list[0]
}

func (s *hooked) becomes(r *hub.Record, ok func(*hub.Record) bool) *hub.Record {
	s.t.Helper()
	var now *hub.Record
	require.Eventually(s.t, func() bool {
		var err error
		now, err = s.board.FindRef(r.Ref())
		return err == nil && ok(now)
	}, patience, time.Millisecond)
	return now
}

func (s *hooked) settled(r *hub.Record) *hub.Record {
	s.t.Helper()
	return s.becomes(r, func(r *hub.Record) bool { return !r.Open() })
}

func answering(r *hub.Record) string {
	return fmt.Sprintf("/conversations/%s/respond?question=%s&revision=%d", r.Conversation, r.ID, r.Revision)
}

func (s *hooked) respond(code int, r *hub.Record, answers string) string {
	s.t.Helper()
	return s.expect(code, "POST", answering(r), `{"answers":`+answers+`}`)
}

func TestHookQuestion(t *testing.T) {
	s := newHooked(t)
	s.tell(saysOf("PreToolUse", "AskUserQuestion", askInput, "tool_use_id", "toolu_1"))
	told, _ := s.hold(saysOf("PermissionRequest", "AskUserQuestion", askInput))
	r := s.newest()
	require.Equal(t, "toolu_1", r.Hold.Call)
	require.NotContains(t, r.ID, "toolu", "names are minted")
	require.Equal(t, hookSession, r.Conversation)
	require.Equal(t, "/p", r.Dir)
	s.respond(200, r, `{"Which database?":"SQLite"}`)
	require.Contains(t, <-told, `"answers":{"Which database?":"SQLite"}`)
	s.becomes(r, func(r *hub.Record) bool { return !r.Open() && r.End.Receipt() == "delivered" })
	s.tell(saysOf("PostToolUse", "AskUserQuestion", strings.TrimSuffix(askInput, "}")+`,"answers":{"Which database?":"SQLite"}}`, "tool_use_id", "toolu_1"))
	require.Equal(t, "consumed", s.settled(r).End.Receipt())
	require.Contains(t, s.expect(200, "GET", "/conversations/"+hookSession, ""), `"type":"working"`)
	s.tell(says("SessionEnd"))
	require.Contains(t, s.expect(200, "GET", "/conversations/"+hookSession, ""), `"state":{"type":"idle","asker_gone":true}`)
}

// The terminal was first by a moment: Claude Code has passed over the hub's answer, and
// the card says so.
func TestHookAnswersAtTheSameMoment(t *testing.T) {
	s := newHooked(t)
	s.tell(saysOf("PreToolUse", "AskUserQuestion", askInput, "tool_use_id", "toolu_1"))
	told, _ := s.hold(saysOf("PermissionRequest", "AskUserQuestion", askInput))
	r := s.newest()
	s.respond(200, r, `{"Which database?":"SQLite"}`)
	<-told
	s.becomes(r, func(r *hub.Record) bool { return r.End.Receipt() == "delivered" })
	s.tell(saysOf("PostToolUse", "AskUserQuestion", strings.TrimSuffix(askInput, "}")+`,"answers":{"Which database?":"PostgreSQL"}}`, "tool_use_id", "toolu_1"))
	end := s.settled(r).End
	require.Equal(t, "undeliverable", end.Receipt())
	require.Equal(t, "it was answered in the terminal before", end.Undelivered)
}

// Whatever ends it in the terminal withdraws the card, and a late answer is refused.
func TestHookWithdrawn(t *testing.T) {
	t.Parallel()
	answered := strings.TrimSuffix(askInput, "}") + `,"answers":{"Which database?":"SQLite"}}`
	for _, c := range []struct {
		name, event   string
		agent         string
		outcome, by   string
		stays, hangUp bool
	}{
		{name: "answered", event: saysOf("PostToolUse", "AskUserQuestion", answered, "tool_use_id", "toolu_1"), outcome: "answered", by: "the terminal"},
		{name: "another call", event: saysOf("PostToolUse", "AskUserQuestion", answered, "tool_use_id", "toolu_2"), stays: true},
		{name: "talked about", event: says("PostToolBatch", "tool_calls", []map[string]any{{"tool_use_id": "toolu_1"}}), outcome: "failed"},
		{name: "the turn ended", event: says("Stop"), outcome: "failed"},
		{name: "the turn failed", event: says("StopFailure"), outcome: "failed"},
		{name: "a prompt", event: says("UserPromptSubmit"), outcome: "failed"},
		{name: "the session ended", event: says("SessionEnd"), outcome: "failed"},
		{name: "another session ended", event: strings.Replace(says("SessionEnd"), hookSession, "another-session", 1), stays: true},
		{name: "Esc, No, a kill", hangUp: true, outcome: "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newHooked(t)
			s.tell(saysOf("PreToolUse", "AskUserQuestion", askInput, "tool_use_id", "toolu_1"))
			told, hangUp := s.hold(saysOf("PermissionRequest", "AskUserQuestion", askInput))
			r := s.newest()
			if c.hangUp {
				hangUp()
			} else {
				s.tell(c.event)
			}
			if c.stays {
				s.respond(200, r, `{"Which database?":"SQLite"}`)
				require.Contains(t, <-told, "SQLite")
				return
			}
			end := s.settled(r).End
			require.Equal(t, c.outcome, end.Outcome)
			require.Equal(t, c.by, end.By)
			if !c.hangUp {
				require.Equal(t, "{}\n", <-told, "then it is as if there were no hook")
			}
			require.Contains(t, s.respond(409, r, `{"Which database?":"PostgreSQL"}`), "already")
		})
	}
}

// Two calls with the same words are two askings, and each is withdrawn by its own event.
func TestHookTwins(t *testing.T) {
	s := newHooked(t)
	s.tell(saysOf("PreToolUse", "AskUserQuestion", askInput, "tool_use_id", "toolu_1"))
	s.tell(saysOf("PreToolUse", "AskUserQuestion", askInput, "tool_use_id", "toolu_2"))
	_, _ = s.hold(saysOf("PermissionRequest", "AskUserQuestion", askInput))
	first := s.newest()
	told, _ := s.hold(saysOf("PermissionRequest", "AskUserQuestion", askInput))
	second := s.newest()
	require.Equal(t, "toolu_1", first.Hold.Call)
	require.Equal(t, "toolu_2", second.Hold.Call)
	s.tell(saysOf("PostToolUse", "AskUserQuestion", askInput, "tool_use_id", "toolu_1"))
	s.settled(first)
	s.respond(200, second, `{"Which database?":"SQLite"}`)
	require.Contains(t, <-told, "SQLite")
}

// Two calls with the same input are asked for in the other order: the one that runs is
// the one that was allowed here, and the other one waits on.
func TestHookTwinsCrossed(t *testing.T) {
	s := newHooked(t)
	for _, id := range []string{"toolu_1", "toolu_2", "toolu_3"} {
		s.tell(saysOf("PreToolUse", "Bash", bashInput, "tool_use_id", id))
	}
	ask := func() (*hub.Record, chan string) {
		told, _ := s.hold(saysOf("PermissionRequest", "Bash", bashInput))
		return s.newest(), told
	}
	ran := func(id string) {
		s.tell(saysOf("PostToolUse", "Bash", bashInput, "tool_use_id", id))
	}
	allow := func(r *hub.Record, told chan string) {
		s.respond(200, r, `["Allow"]`)
		require.Contains(t, <-told, `"allow"`)
		s.becomes(r, func(r *hub.Record) bool { return !r.Open() && !r.End.Delivered.IsZero() })
	}
	used := func(r *hub.Record) {
		s.becomes(r, func(r *hub.Record) bool { return !r.Open() && r.End.Receipt() == "consumed" && r.End.By == "owner" })
	}
	first, toldFirst := ask()   // of toolu_3
	second, toldSecond := ask() // of toolu_1
	third, _ := ask()           // of toolu_2
	allow(first, toldFirst)
	ran("toolu_3")
	used(first)
	for _, r := range []*hub.Record{second, third} {
		now, err := s.board.FindRef(r.Ref())
		require.NoError(t, err)
		require.True(t, now.Open(), "nobody has answered it")
	}
	allow(second, toldSecond)
	ran("toolu_1")
	used(second)
	ran("toolu_2")
	require.Equal(t, "the terminal", s.settled(third).End.By, "nobody allowed it here")
}

// A call that needed no permission lends its id to no other.
func TestHookCallsAreForgotten(t *testing.T) {
	s := newHooked(t)
	s.tell(saysOf("PreToolUse", "Bash", bashInput, "tool_use_id", "toolu_1"))
	s.tell(saysOf("PostToolUse", "Bash", bashInput, "tool_use_id", "toolu_1"))
	s.tell(saysOf("PreToolUse", "Bash", bashInput, "tool_use_id", "toolu_2"))
	_, _ = s.hold(saysOf("PermissionRequest", "Bash", bashInput))
	require.Equal(t, "toolu_2", s.newest().Hold.Call)
	_, _ = s.hold(saysOf("PermissionRequest", "Bash", bashInput))
	require.Empty(t, s.newest().Hold.Call, "words tell nothing")
}

// A request is for the call with its own input, and what is called elsewhere has no part in
// it: not by another device, and not by the end of another session.
func TestHookCallOfARequest(t *testing.T) {
	s := newHooked(t)
	s.tell(saysOf("PreToolUse", "Bash", `{"command":"ls"}`, "tool_use_id", "toolu_1"))
	s.tell(saysOf("PreToolUse", "Bash", bashInput, "tool_use_id", "toolu_2"))
	s.tell(says("SessionEnd", "session_id", "11111111-5a0f-4b1e-9d51-0c6a3a2f9f10"))
	_, _ = s.hold(saysOf("PermissionRequest", "Bash", `{"command":"pwd"}`))
	require.Empty(t, s.newest().Hold.Call)
	_, _ = s.hold(saysOf("PermissionRequest", "Bash", bashInput))
	r := s.newest()
	require.Equal(t, "toolu_2", r.Hold.Call)
	_, _ = s.hold(saysOf("PermissionRequest", "Bash", `{"command":"ls"}`))
	require.Equal(t, "toolu_1", s.newest().Hold.Call)
	token := s.device("another", web.CanHook)
	other := &hooked{s.site, token}
	other.tell(says("Stop"))
	other.tell(saysOf("PostToolUse", "Bash", bashInput, "tool_use_id", "toolu_2"))
	now, err := s.board.FindRef(r.Ref())
	require.NoError(t, err)
	require.True(t, now.Open())
}

func TestHookPermission(t *testing.T) {
	s := newHooked(t)
	told, _ := s.hold(saysOf("PermissionRequest", "Bash", bashInput))
	r := s.newest()
	require.Contains(t, r.Detail, `"command": "make"`)
	require.Contains(t, s.respond(400, r, `[{"selected":["Allow"],"note":"quickly"}]`), `with a condition (\"quickly\"), which cannot be checked`)
	s.respond(400, r, `["maybe"]`)
	s.respond(200, r, `[{"selected":["Reject"],"note":"use ninja"}]`)
	require.Contains(t, <-told, `"decision":{"behavior":"deny","message":"use ninja"}`)
}

// What a hook sends is bound to its token, and its credential can do nothing else.
func TestHookCredential(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	auth := "Bearer " + s.token
	for _, c := range []struct{ method, path string }{
		{"GET", "/"}, {"GET", "/questions"}, {"GET", "/conversations"}, {"GET", "/events"}, {"GET", "/history"}, {"GET", "/devices"}, {"GET", "/status"},
		{"POST", "/conversations/c/ask"}, {"POST", "/conversations/c/respond"}, {"POST", "/conversations/c/cancel"}, {"POST", "/devices"}, {"POST", "/codes"},
		{"POST", "/conversations/c/questions/q/settle"},
	} {
		s.expect(403, c.method, c.path, "{}", "Authorization", auth)
	}
	for _, can := range []web.Can{web.CanAsk, web.CanAnswer, web.CanMeasure} {
		token := s.device(string(can), can)
		s.expect(403, "POST", "/hooks/claude", says("Stop"), "Authorization", "Bearer "+token)
	}
	s.expect(401, "POST", "/hooks/claude", says("Stop"), "Authorization", "")
	s.expect(400, "POST", "/hooks/claude", `{"hook_event_name":"Stop","session_id":"../x"}`, "Authorization", auth)
	s.expect(400, "POST", "/hooks/claude", `[]`, "Authorization", auth)
	s.expect(413, "POST", "/hooks/claude", `"`+strings.Repeat("x", 9<<20)+`"`, "Authorization", auth)
	s.tell(saysOf("PermissionRequest", "Write", `{"file_path":"/p/x","content":"`+strings.Repeat("x", 100<<10)+`"}`)) // longer than anybody reads

	other := s.device("other", web.CanHook)
	s.tell(saysOf("PreToolUse", "AskUserQuestion", askInput, "tool_use_id", "toolu_1"))
	told, _ := s.hold(saysOf("PermissionRequest", "AskUserQuestion", askInput))
	r := s.newest()
	for _, e := range []string{says("SessionEnd"), saysOf("PostToolUse", "AskUserQuestion", askInput, "tool_use_id", "toolu_1")} {
		s.expect(200, "POST", "/hooks/claude", e, "Authorization", "Bearer "+other)
	}
	require.NoError(t, s.access.Remove("claude"))
	require.Equal(t, "{}\n", <-told)
	require.False(t, s.settled(r).End.Elsewhere && s.settled(r).End.By != "")
}

// The hub stops: the hook is told at once, and the dialog in the terminal goes on.
func TestHookHubStops(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	told, _ := s.hold(saysOf("PermissionRequest", "AskUserQuestion", askInput))
	r := s.newest()
	s.server.Close()
	require.Equal(t, "{}\n", <-told)
	require.Contains(t, s.settled(r).End.Reason, "the hub was stopped")
}

func contextOf(t testing.TB) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

func read(reply *http.Response) string {
	data, _ := io.ReadAll(reply.Body)
	return string(data)
}

// Where the terminal shows nothing while a hook waits, it waits for seconds only, unless
// nobody is there.
func TestHookBlocks(t *testing.T) {
	t.Parallel()
	for _, e := range []string{
		saysOf("PermissionRequest", "Bash", bashInput, "agent_id", "a1"),
		says("Elicitation", "mcp_server_name", "srv", "message", "Who?", "mode", "form", "requested_schema", json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)),
	} {
		s := newHooked(t)
		s.server.SetBlock(time.Millisecond)
		told, _ := s.hold(e)
		require.Equal(t, "{}\n", <-told)
		list := s.board.Conversations()
		require.Contains(t, list[0].End.Reason, "asked in the terminal now")

		require.Contains(t, s.expect(200, "GET", "/away", ""), "false")
		s.expect(400, "POST", "/away", `{"away":1}`)
		require.Contains(t, s.expect(200, "POST", "/away", `{"away":true}`), "true")
		told, _ = s.hold(e)
		time.Sleep(10 * time.Millisecond)
		require.Empty(t, told)
		s.expect(200, "POST", "/away", `{"away":false}`)
		require.Equal(t, "{}\n", <-told, "somebody is back")
	}
}

// That a turn is done, has failed, or waits for a prompt is told to whoever watches the
// conversation.
func TestHookTurns(t *testing.T) {
	s := newHooked(t)
	s.tell(says("Stop", "last_assistant_message", "nobody was there"))
	all, _ := s.stream("/events")
	only, _ := s.stream("/conversations/" + hookSession + "/events")
	other, _ := s.stream("/conversations/another/events")
	s.tell(says("Stop", "last_assistant_message", "a sub-agent works on", "background_tasks", []string{"x"}))
	s.tell(says("Notification", "notification_type", "permission_prompt", "message", "Claude needs your permission"))
	s.tell(says("Stop", "last_assistant_message", "Done.\x1b[2J", "cwd", strings.Repeat("x", 1<<20)))
	s.tell(says("StopFailure", "error", "rate_limit"))
	s.tell(says("Notification", "notification_type", "idle_prompt", "message", "Claude is waiting for your input"))
	for _, next := range []func() (event, bool){all, only} {
		for _, want := range [][2]string{{"done", "Done."}, {"failed", "rate_limit"}, {"idle", "Claude is waiting for your input"}} {
			e, ok := next()
			require.True(t, ok)
			require.Equal(t, "turn", e.name)
			require.Equal(t, hookSession, e.data["conversation"])
			require.Equal(t, want[0], e.data["event"])
			require.Contains(t, e.data["text"], want[1])
			require.NotContains(t, e.data["text"], "\x1b")
			require.Less(t, len(fmt.Sprint(e.data)), 5000)
		}
	}
	s.server.Close()
	for e, ok := other(); ok; e, ok = other() {
		require.NotEqual(t, "turn", e.name)
	}
}

// One session is open in two terminals: what happens in one ends nothing in the other.
func TestHookSessionInTwoTerminals(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	in := func(process string, more ...any) []any { return append(more, "acp_bridge_process", process) }
	ask := func(process, id string) (chan string, *hub.Record) {
		s.tell(saysOf("PreToolUse", "AskUserQuestion", askInput, in(process, "tool_use_id", id)...))
		told, _ := s.hold(saysOf("PermissionRequest", "AskUserQuestion", askInput, in(process)...))
		return told, s.newest()
	}
	toldOne, one := ask("100", "toolu_1")
	toldTwo, two := ask("200", "toolu_2")
	require.Equal(t, "toolu_1", one.Hold.Call)
	require.Equal(t, "toolu_2", two.Hold.Call)
	s.tell(says("UserPromptSubmit", in("200")...))
	require.Equal(t, "failed", s.settled(two).End.Outcome)
	require.Equal(t, "{}\n", <-toldTwo)
	s.tell(says("SessionEnd", in("200")...))
	s.respond(200, one, `{"Which database?":"SQLite"}`)
	require.Contains(t, <-toldOne, "SQLite")
}

// An agent that takes no reason for a rejection is not given one that would be lost, and
// whoever writes one is told.
func TestNoReason(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	takes := s.permit("c1", "Bash", "execute", "make", map[string]any{"command": "make"})
	none := s.permit("c2", "Bash", "execute", "make", map[string]any{"command": "make"}, func(a *hub.Asking) { a.About.NoReason = true })
	page := s.expect(200, "GET", "/", "")
	require.Equal(t, 1, strings.Count(page, "Reject with a reason"))
	require.Equal(t, 1, strings.Count(page, "cannot take a reason"))
	rejects := `{"answers":[{"selected":["Reject"],"note":"not now"}]}`
	require.Contains(t, s.expect(400, "POST", answering(none), rejects), "takes no words")
	allows := `{"answers":[{"selected":["Allow"],"note":"only if the backup is done"}]}`
	require.Contains(t, s.expect(400, "POST", answering(takes), allows), "with a condition")
	s.expect(200, "POST", answering(none), `{"answers":["Reject"]}`)
	s.expect(200, "POST", answering(takes), rejects)
}

// A hook that has a name comes back when its connection has ended: the card stays, and the answer
// that came meanwhile is its own. It tells when Claude Code has taken the question back.
func TestHookComesBack(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	event := func(name string) string {
		return saysOf("PermissionRequest", "AskUserQuestion", askInput, "acp_bridge_held", name)
	}
	_, hangUp := s.hold(event("ONE"))
	r := s.newest()
	hangUp()
	told, _ := s.send(event("ONE"))
	s.respond(200, r, `{"Which database?":"SQLite"}`)
	require.Contains(t, <-told, "SQLite", "it is the same question")
	require.Equal(t, "owner", s.settled(r).End.By)

	_, hangUp = s.hold(event("TWO"))
	r = s.newest()
	hangUp()
	s.respond(200, r, `{"Which database?":"PostgreSQL"}`)
	told, _ = s.send(event("TWO"))
	require.Contains(t, <-told, "PostgreSQL", "it was answered meanwhile")

	told, _ = s.hold(event("THREE"))
	r = s.newest()
	s.tell(string(hook.TakenBackIn(hookSession, "another")))
	s.tell(string(hook.TakenBackIn(hookSession, "THREE")))
	require.Equal(t, "{}\n", <-told)
	end := s.settled(r).End
	require.Equal(t, "failed", end.Outcome)
	require.Contains(t, end.Reason, "dismissed in the terminal")

	told, _ = s.hold(event("FOUR"))
	r = s.newest()
	s.server.Close()
	require.Contains(t, <-told, "the hub is closing")
	now, err := s.board.FindRef(r.Ref())
	require.NoError(t, err)
	require.True(t, now.Open(), "it waits for the next hub")
}
