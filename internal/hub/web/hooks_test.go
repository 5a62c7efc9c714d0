package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

const hookSession = "0b5c7a3e-5a0f-4b1e-9d51-0c6a3a2f9f10"

// hooked is a site with a Claude Code whose hooks talk to it.
type hooked struct {
	*site
	token string
	held  *hub.Record // what was held last
}

func newHooked(t testing.TB) *hooked {
	s := newSite(t, hub.Options{})
	return &hooked{site: s, token: s.device("claude", web.CanHook)}
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
	require.Eventually(s.t, func() bool {
		asked, _ := reader.Next()
		i := slices.IndexFunc(asked, (*hub.Record).Open)
		if i >= 0 {
			s.held = asked[i]
		}
		return i >= 0
	}, patience, time.Millisecond)
	return told, hangUp
}

// send is hold for what may be there already.
func (s *hooked) send(body string) (told chan string, hangUp func()) {
	s.t.Helper()
	told = make(chan string, 1)
	req := acptest.Must(http.NewRequestWithContext(s.t.Context(), "POST", s.url+"/hooks/claude", strings.NewReader(body)))
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
	return fmt.Sprintf("/conversations/%s/respond?question=%s&revision=%d", r.Conversation, r.ID, web.SeenOf(r))
}

func (s *hooked) respond(code int, r *hub.Record, answers string) string {
	s.t.Helper()
	return s.expect(code, "POST", answering(r), `{"answers":`+answers+`}`)
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

// An agent that takes no reason for a rejection is not given one that would be lost, and
// whoever writes one is told.
func TestNoReason(t *testing.T) {
	s := siteBeside(t)
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

// An answer is still there when the connection breaks as it is handed out.
func TestHookHangsUpAtItsAnswer(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	body := saysOf("PermissionRequest", "AskUserQuestion", askInput, "acp_bridge_held", "ONE")
	_, hangUp := s.hold(body)
	hangUp()
	s.respond(200, s.held, `{"Which database?":"SQLite"}`)
	asks := func(ctx context.Context, body string) {
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, s.url+"/hooks/claude", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+s.token)
		req.Header.Set("Content-Type", "application/json")
		s.server.ServeHTTP(httptest.NewRecorder(), req)
	}
	ctx, gone := context.WithCancel(t.Context())
	gone()
	asks(ctx, body)
	told, _ := s.send(body)
	require.Contains(t, <-told, "SQLite")
	// One without a name does not come back.
	leaves := leaving{t.Context(), new(atomic.Bool)}
	var over sync.WaitGroup
	over.Go(func() { asks(leaves, saysOf("PermissionRequest", "Bash", bashInput)) })
	var open []*hub.Record
	require.Eventually(t, func() bool { open, _ = s.board.Waiting(1); return len(open) > 0 }, patience, time.Millisecond)
	leaves.gone.Store(true)
	s.respond(200, open[0], `["Allow"]`)
	over.Wait()
	require.Equal(t, "undeliverable", s.settled(open[0]).End.Receipt())
}

// leaving is a context that is over before anybody is told.
type leaving struct {
	context.Context
	gone *atomic.Bool
}

func (l leaving) Err() error {
	if l.gone.Load() {
		return context.Canceled
	}
	return l.Context.Err()
}

// An event may be longer than anybody reads, and has a limit.
func TestHookSizes(t *testing.T) {
	t.Parallel()
	s := newHooked(t)
	s.tell(saysOf("PermissionRequest", "Write", `{"file_path":"/p/x","content":"`+strings.Repeat("x", 100<<10)+`"}`))
	s.expect(413, "POST", "/hooks/claude", `"`+strings.Repeat("x", 9<<20)+`"`, "Authorization", "Bearer "+s.token)
}
