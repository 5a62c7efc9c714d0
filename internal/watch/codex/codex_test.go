//go:build unix

package codex_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/watch"
	"github.com/acp-bridge/acp-bridge/internal/watch/codex"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

func TestMain(m *testing.M) {
	leaktest.Parallel(8)
	leaktest.Main(m)
}

// server plays Codex's control socket, with messages as the real one wrote them
// (0.166.0).
type server struct {
	t *testing.T
	*watchtest.Site
	path    string
	version string
	got     chan gjson.Result // what came from us
	said    chan string
	begun   string // items of the turn that runs when we come
	run     sync.WaitGroup

	mu    sync.Mutex
	conns []*websocket.Conn
}

const thread = "01a1e510-b774-72a3-b154-ef6ec27ba384"

func newServer(t *testing.T, version string) *server {
	t.Helper()
	dir := acptest.Must(os.MkdirTemp("", "codex")) // a socket's path is short
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &server{t: t, Site: watchtest.New(t, web.CanAsk), path: filepath.Join(dir, "s"), version: version, got: make(chan gjson.Result, 100), said: make(chan string, 10)}
	l := acptest.Must(net.Listen("unix", s.path))
	h := &http.Server{Handler: http.HandlerFunc(s.accept)}
	go func() { _ = h.Serve(l) }()
	ctx, cancel := context.WithCancel(context.Background())
	w := watch.Start(s.Options())
	s.run.Go(func() {
		codex.Terminals("1", func() (string, error) { return s.path, nil }).Run(ctx, w, func(text string) { s.said <- text })
		w.Close()
	})
	t.Cleanup(func() {
		cancel()
		s.run.Wait()
		s.cut()
		_ = h.Close()
	})
	return s
}

func (s *server) accept(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.conns = append(s.conns, c)
	s.mu.Unlock()
	for {
		_, data, err := c.Read(context.Background())
		if err != nil {
			return
		}
		m := gjson.ParseBytes(data)
		switch m.Get("method").Str {
		case "initialize":
			s.replyTo(m, fmt.Sprintf(`{"userAgent":"codex-tui/%s (Debian 12.0.0; x86_64) xterm-256color (acp-bridge; 1)","codexHome":"/h"}`, s.version))
		case "initialized", "thread/unsubscribe":
		case "thread/loaded/list":
			s.replyTo(m, `{"data":[],"nextCursor":null}`)
		default:
			s.got <- m
		}
	}
}

// cut ends all connections.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.CloseNow()
	}
	s.conns = nil
}

func (s *server) say(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotEmpty(s.t, s.conns)
	_ = s.conns[len(s.conns)-1].Write(context.Background(), websocket.MessageText, []byte(message))
}

func (s *server) replyTo(m gjson.Result, result string) {
	s.say(fmt.Sprintf(`{"id":%s,"result":%s}`, m.Get("id").Raw, result))
}

func (s *server) status(status string) {
	s.say(fmt.Sprintf(`{"method":"thread/status/changed","params":{"threadId":%q,"status":%s}}`, thread, status))
}

// works begins a turn. At first the thread cannot be followed.
func (s *server) works() {
	s.t.Helper()
	require.Eventually(s.t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.conns) > 0 }, watchtest.Patience, 1e6)
	s.status(`{"type":"active","activeFlags":[]}`)
	m := <-s.got
	require.Equal(s.t, "thread/resume", m.Get("method").Str)
	s.say(fmt.Sprintf(`{"id":%s,"error":{"code":-32600,"message":"no rollout found"}}`, m.Get("id").Raw))
	m = <-s.got
	require.Equal(s.t, thread, m.Get("params.threadId").Str)
	s.replyTo(m, fmt.Sprintf(`{"thread":{"id":%q,"parentThreadId":null,"preview":"Set up a service","cwd":"/src/app","status":{"type":"active","activeFlags":[]}},"initialTurnsPage":{"data":[{"id":"turn-1","status":"inProgress","items":[%s]}]}}`, thread, s.begun))
}

// working is a Codex in the midst of a turn, for a test that runs beside others.
func working(t *testing.T) *server {
	t.Helper()
	t.Parallel()
	s := newServer(t, "0.166.0")
	s.works()
	return s
}

// asks says something that is asked at the hub then.
func (s *server) asks(message string) *hub.Record {
	s.t.Helper()
	s.say(message)
	return s.Next()
}

const (
	asked    = `{"method":"item/tool/requestUserInput","id":0,"params":{"threadId":"` + thread + `","turnId":"turn-1","itemId":"call_abc","questions":[{"id":"db","header":"Database","question":"Which database?","isOther":true,"isSecret":false,"options":[{"label":"PostgreSQL","description":"big"},{"label":"SQLite","description":"small"}]}],"isBlocking":false,"autoResolutionMs":null}}`
	approval = `{"method":"item/commandExecution/requestApproval","id":1,"params":{"kind":"command","threadId":"` + thread + `","turnId":"turn-1","itemId":"call_run","startedAtMs":1,"environmentId":"local","reason":"Write the file?","command":"/bin/bash -lc 'echo hi > x.txt'","cwd":"/src/app","proposedExecpolicyAmendment":["echo","hi"],"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["echo","hi"]}},"cancel"]}}`
)

func (s *server) resolved(id int) {
	s.say(fmt.Sprintf(`{"method":"serverRequest/resolved","params":{"threadId":%q,"requestId":%d}}`, thread, id))
}

func (s *server) completed(kind, item, status string) {
	s.say(fmt.Sprintf(`{"method":"item/completed","params":{"threadId":%q,"turnId":"turn-1","item":{"type":%q,"id":%q,"status":%q}}}`, thread, kind, item, status))
}

func TestAQuestionIsAnsweredAtTheHub(t *testing.T) {
	s := working(t)
	r := s.asks(asked)
	require.Equal(t, thread, r.Conversation)
	require.Equal(t, "Codex", r.Agent)
	require.Equal(t, "/src/app", r.Dir)
	require.Equal(t, "Set up a service", r.About.Title)
	s.Answer(r, watchtest.Noted("SQLite", "it is small"))
	m := <-s.got
	require.JSONEq(t, `{"answers":{"db":{"answers":["SQLite","user_note: it is small"]}}}`, m.Get("result").Raw)
	require.EqualValues(t, 0, m.Get("id").Int())
	s.resolved(0)
	s.Receipt(r, "unknown") // nothing says whose answer it was
}

func TestWhatEndsInTheTerminal(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct {
		asks string
		ends func(*server)
	}{
		"it was answered in the terminal":    {asked, func(s *server) { s.resolved(7); s.resolved(0) }}, // 7 is another one
		"answered in the terminal":           {fmt.Sprintf(toolAsks, 1, "shoes"), func(s *server) { s.resolved(1) }},
		"its turn has ended in the terminal": {asked, func(s *server) { s.say(fmt.Sprintf(`{"method":"thread/closed","params":{"threadId":%q}}`, thread)) }},
	} {
		t.Run(reason, func(t *testing.T) {
			s := working(t)
			r := s.asks(c.asks)
			c.ends(s)
			require.Contains(t, s.Settled(r).End.Reason, reason)
		})
	}
}

// To dismiss a question is what Esc is in the terminal.
func TestDismissed(t *testing.T) {
	s := working(t)
	r := s.asks(asked)
	s.Dismiss(r)
	m := <-s.got
	require.Equal(t, "turn/interrupt", m.Get("method").Str)
	require.JSONEq(t, `{"threadId":"`+thread+`","turnId":"turn-1"}`, m.Get("params").Raw)
	s.replyTo(m, `{}`)
	s.Receipt(r, "consumed")
}

func TestPermission(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pick, decision, status, receipt string }{
		{"Allow once", `"accept"`, "completed", "consumed"},
		{"Allow once", `"accept"`, "declined", "undeliverable"}, // the terminal said no at the same moment
		{"Always allow commands that start with echo hi", `{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["echo","hi"]}}`, "failed", "consumed"},
		{"Reject, and stop", `"cancel"`, "declined", "consumed"},
		{"", `"cancel"`, "declined", "consumed"},
		{"Reject, and stop", `"cancel"`, "completed", "undeliverable"},
	} {
		t.Run(c.pick+" "+c.status, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "0.166.3")
			s.works()
			r := s.asks(approval)
			require.Equal(t, []string{"allow_once", "allow_always", "reject_once"}, r.About.Picks)
			require.Contains(t, r.Detail, "echo hi > x.txt")
			require.NotContains(t, r.Detail, "turn-1")
			s.Decide(r, c.pick, "")
			m := <-s.got
			require.EqualValues(t, 1, m.Get("id").Int())
			require.JSONEq(t, c.decision, m.Get("result.decision").Raw)
			s.resolved(1)
			s.completed("commandExecution", "call_run", c.status)
			s.Receipt(r, c.receipt)
			// What is over is over: the end of its turn changes nothing, and the next one is asked.
			s.completed("commandExecution", "call_run", c.status)
			s.say(fmt.Sprintf(`{"method":"turn/completed","params":{"threadId":%q,"turn":{"id":"turn-1","status":"completed"}}}`, thread))
			require.Contains(t, s.asks(strings.NewReplacer(`"id":1`, `"id":2`, "call_run", "call_next").Replace(approval)).Detail, "echo hi > x.txt")
		})
	}
}

// The diff of a change is in the item that the request names.
func TestFileChange(t *testing.T) {
	s := working(t)
	s.say(fmt.Sprintf(`{"method":"item/started","params":{"threadId":%q,"item":{"type":"fileChange","id":"call_patch","changes":[{"path":"a.txt","kind":{"type":"add"},"diff":"one"}],"status":"inProgress"}}}`, thread))
	r := s.asks(fmt.Sprintf(`{"method":"item/fileChange/requestApproval","id":5,"params":{"threadId":%q,"turnId":"turn-1","itemId":"call_patch","startedAtMs":1,"reason":null,"grantRoot":null}}`, thread))
	require.Contains(t, r.Detail, `"diff": "one"`)
	s.say(fmt.Sprintf(`{"method":"turn/completed","params":{"threadId":%q,"turn":{"id":"turn-1","status":"interrupted"}}}`, thread))
	require.Contains(t, s.Settled(r).End.Reason, "its turn has ended")
}

// The end of a turn is told, unless it was stopped, with what was said in it. What was said
// before we were there is in the reply to our request.
func TestTurnsAreTold(t *testing.T) {
	t.Parallel()
	s := newServer(t, "0.166.0")
	turn := s.Turns()
	s.begun = `{"type":"userMessage","id":"i","content":[{"type":"image","url":"u"},{"type":"text","text":"Set it up"}]}`
	s.works()
	s.say(fmt.Sprintf(`{"method":"item/completed","params":{"threadId":%q,"item":{"type":"agentMessage","id":"j","text":"First this."}}}`, thread))
	r := s.asks(approval)
	require.Equal(t, []string{"Set it up", "First this."}, []string{r.About.Prompt, r.About.Said})
	s.say(fmt.Sprintf(`{"method":"turn/completed","params":{"threadId":%q,"turn":{"id":"turn-1","status":"completed"}}}`, thread))
	require.Equal(t, "First this.", turn().Get("text").Str)
	for _, status := range []string{`"interrupted"`, `"failed","error":{"message":"no credit"}`, `"completed"`} {
		s.say(fmt.Sprintf(`{"method":"turn/completed","params":{"threadId":%q,"turn":{"id":"turn-1","status":%s}}}`, thread, status))
	}
	seen := map[string]string{}
	for range 2 { // each is told by itself
		told := turn()
		require.Equal(t, "Codex", told.Get("agent").Str)
		seen[told.Get("event").Str] = told.Get("text").Str
	}
	require.Equal(t, map[string]string{"failed": "no credit", "done": ""}, seen)
}

// What a sub-agent asks is in the conversation of whoever started it.
func TestSubAgent(t *testing.T) {
	s := working(t)
	sub := "01a1e511-7df5-75f1-8bbf-d89096450e09"
	s.say(fmt.Sprintf(`{"method":"thread/started","params":{"thread":{"id":%q,"parentThreadId":%q,"agentRole":"explorer","cwd":"/src/app","status":{"type":"idle"}}}}`, sub, thread))
	r := s.asks(strings.ReplaceAll(approval, thread, sub))
	require.Equal(t, thread, r.Conversation)
	require.Equal(t, "explorer", r.Call.SubAgent.Task)
}

// What Codex does for itself, such as a title, is not followed.
func TestForItselfAlone(t *testing.T) {
	s := working(t)
	for _, begins := range []string{`"id":"01a1e512-title","ephemeral":true`, `"id":"01a1e513-next","ephemeral":false`} {
		s.say(`{"method":"thread/started","params":{"thread":{` + begins + `,"status":{"type":"active","activeFlags":[]}}}}`)
	}
	m := <-s.got
	require.Equal(t, "thread/resume", m.Get("method").Str)
	require.Equal(t, "01a1e513-next", m.Get("params.threadId").Str)
}

// The end of one thread's turn ends nothing that another one asks.
func TestTheTurnOfAnotherThread(t *testing.T) {
	s := working(t)
	r := s.asks(asked)
	s.say(`{"method":"turn/completed","params":{"threadId":"01a1e511-7df5-75f1-8bbf-d89096450e09","turn":{"id":"turn-7","status":"completed"}}}`)
	s.asks(approval)
	s.Answer(r, watchtest.Picks("SQLite"))
	m := <-s.got
	require.Equal(t, "0", m.Get("id").Raw)
	require.Contains(t, m.Raw, "SQLite")
}

// A Codex that has ended takes its questions along, and is found again.
func TestCodexEnds(t *testing.T) {
	s := working(t)
	r := s.asks(asked)
	s.cut()
	require.Contains(t, s.Settled(r).End.Reason, "Codex has ended")
	s.works()
	s.asks(asked)
}

// What is not known is left alone, with one line.
func TestAnotherVersion(t *testing.T) {
	t.Parallel()
	s := newServer(t, "0.999.1")
	require.Equal(t, "Codex's terminals are not watched: version 0.999.1 is not known here (known: 0.166)", <-s.said)
	require.Empty(t, s.got)
}
