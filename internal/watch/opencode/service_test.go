//go:build unix

package opencode_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch"
	"github.com/acp-bridge/acp-bridge/internal/watch/opencode"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// service plays OpenCode's service, with what the real one wrote (2.0.0).
type service struct {
	t *testing.T
	*watchtest.Site
	http   *httptest.Server
	file   string
	health string
	lists  map[string]string // what GET replies, by path
	posted chan string       // method, path and body of what we said
	status chan int          // how it replies to that; 0 hangs up
	said   string            // and with what
	events chan string

	mu      sync.Mutex // of lists, too
	callers []string   // paths that were asked for
}

// playService writes down where it listens, as the real one does.
func playService(t *testing.T) *service {
	s := &service{t: t, Site: watchtest.New(t, web.CanAsk), lists: map[string]string{
		"/api/session/active":    `{"data":{}}`,
		"/api/session/ses_1main": `{"data":{"id":"ses_1main","title":"Set up a service","location":{"directory":"/src/app"}}}`,
		"/api/session/ses_2sub":  `{"data":{"id":"ses_2sub","parentID":"ses_1main","title":"Look around","location":{"directory":"/src/app"}}}`,
		"/api/session/ses_1main/message/msg_1": `{"data":{"id":"msg_1","type":"assistant","content":[{"type":"text","text":"So."},
			{"type":"tool","id":"call_2","name":"shell","state":{"status":"running","input":{"command":"echo hi > a.txt && git status","description":"says hi"}}}]}}`,
	}, posted: make(chan string, 10), status: make(chan int, 10), events: make(chan string)}
	s.http = httptest.NewServer(s)
	t.Cleanup(s.http.Close)
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	s.file = filepath.Join(state, "opencode", "service.json")
	s.health = fmt.Sprintf(`{"healthy":true,"version":"2.0.0","pid":%d}`, os.Getpid())
	s.tells(s.http.URL, os.Getpid())
	return s
}

// newService is one that is watched.
func newService(t *testing.T, changes ...func(*service)) *service {
	s := playService(t)
	for _, change := range changes {
		change(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := watch.Start(s.Options())
	var watching sync.WaitGroup
	watching.Go(func() {
		opencode.Terminals().Run(ctx, w, func(text string) { t.Error(text) })
		w.Close()
	})
	t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	return s
}

func (s *service) tells(url string, pid int) {
	require.NoError(s.t, os.MkdirAll(filepath.Dir(s.file), 0o700))
	require.NoError(s.t, os.WriteFile(s.file, fmt.Appendf(nil, `{"id":"bd8f","version":"2.0.0","url":%q,"pid":%d,"password":"otsp"}`, url, pid), 0o600))
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != "opencode" || password != "otsp" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s.mu.Lock()
	s.callers = append(s.callers, r.URL.Path)
	reply, listed := s.lists[r.URL.RequestURI()]
	s.mu.Unlock()
	switch {
	case r.URL.Path == "/api/health":
		io.WriteString(w, s.health)
	case r.URL.Path == "/api/event":
		s.stream(w, r)
	case r.Method == http.MethodGet:
		if !listed {
			w.WriteHeader(http.StatusNotFound)
		}
		io.WriteString(w, reply)
	default:
		body, _ := io.ReadAll(r.Body)
		s.posted <- r.URL.RequestURI() + " " + string(body)
		select {
		case status := <-s.status:
			if status == 0 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(status)
			io.WriteString(w, s.said)
		case <-r.Context().Done():
		}
	}
}

// stream tells of events, until one is empty.
func (s *service) stream(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "data: {\"type\":\"server.connected\",\"data\":{}}\n\n: heartbeat\n\ndata: no JSON\n\n")
	for {
		w.(http.Flusher).Flush()
		select {
		case e := <-s.events:
			if e == "" {
				return
			}
			fmt.Fprintf(w, "data: %s\n\n", e)
		case <-r.Context().Done():
			return
		}
	}
}

func (s *service) event(kind, data string) {
	s.events <- fmt.Sprintf(`{"id":"evt_1","type":%q,"location":{"directory":"/src/app"},"data":%s}`, kind, strings.ReplaceAll(data, "\n", ""))
}

// asks is an event that is asked at the hub then.
func (s *service) asks(kind, data string) *hub.Record {
	s.t.Helper()
	s.event(kind, data)
	return s.Next()
}

// takes is what the service is told, and how it replies.
func (s *service) takes(status int, path, body string) {
	s.t.Helper()
	at, said, _ := strings.Cut(<-s.posted, " ")
	require.Equal(s.t, path, at)
	require.JSONEq(s.t, body, said)
	s.status <- status
}

const (
	questionForm = `{"id":"frm_1","sessionID":"ses_1main","title":"Questions","metadata":{"kind":"question","tool":{"messageID":"msg_1","id":"call_1"}},"fields":[
		{"key":"q0","title":"Database","description":"Which database?","type":"string","options":[{"value":"pg","label":"PostgreSQL","description":"big"},{"value":"lite","label":"SQLite"}],"custom":true},
		{"key":"q1","title":"Features","description":"Which features?","type":"multiselect","options":[{"value":"Auth","label":"Auth"},{"value":"Logs","label":"Logs"}],"custom":true}]}`
	shellAsked = `{"id":"per_1","sessionID":"ses_1main","action":"shell","resources":["echo hi > a.txt","git status"],"save":["echo *","git status *"],"source":{"type":"tool","messageID":"msg_1","id":"call_2"}}`
	form       = `{"form":` + questionForm + `}`
	formPath   = "/api/session/ses_1main/form/frm_1"
	leavePath  = "/api/session/ses_1main/permission/per_1/reply"
)

// What people pick and type at the hub is what the service takes, and what the service was
// told in the terminal is what the hub shows.
func TestServiceQuestions(t *testing.T) {
	both := watchtest.Picks("Auth")
	both.Text = "search"
	for name, test := range map[string]struct {
		answers []convert.Answer
		answer  string
	}{
		"picks":     {[]convert.Answer{watchtest.Picks("SQLite"), watchtest.Picks("Auth", "Logs")}, `{"q0":"lite","q1":["Auth","Logs"]}`},
		"own words": {[]convert.Answer{{Text: "DuckDB"}, both}, `{"q0":"DuckDB","q1":["Auth","search"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			r := s.asks("form.created", form)
			require.Equal(t, "Set up a service", r.About.Title)
			require.Equal(t, "/src/app", r.Dir)
			require.Equal(t, "Which database?", r.Call.Questions[0].Text)
			s.Answer(r, test.answers...)
			s.takes(http.StatusNoContent, formPath+"/reply", `{"answer":`+test.answer+`}`)
			s.Receipt(r, "consumed")

			r = s.asks("form.created", strings.ReplaceAll(form, "frm_1", "frm_2"))
			s.event("form.replied", `{"id":"frm_2","sessionID":"ses_1main","answer":`+test.answer+`}`)
			end := s.Settled(r).End
			require.Equal(t, "the terminal", end.By)
			require.Equal(t, test.answers, end.Answers)

			r = s.asks("form.created", strings.ReplaceAll(form, "frm_1", "frm_3"))
			s.event("form.replied", `{"id":"frm_3","sessionID":"ses_1main","answer":{"q0":"lite","q1":["Auth","search","mail"]}}`)
			require.Equal(t, "search, mail", s.Settled(r).End.Answers[1].Text, "all that was typed there")
		})
	}
}

// Who was first is the service's to say; one that hangs up may have taken the answer, and
// one that has no such path says nothing of it.
func TestServiceIsLate(t *testing.T) {
	for _, test := range []struct {
		status                     int
		body, receipt, undelivered string
	}{
		{http.StatusConflict, `{"_tag":"FormAlreadySettledError"}`, "undeliverable", "answered in the terminal before"},
		{http.StatusNotFound, `{"_tag":"FormNotFoundError"}`, "undeliverable", "answered in the terminal before"},
		{http.StatusNotFound, "", "undeliverable", "the agent has no /session/ses_1main/form/frm_1/reply any more"},
		{http.StatusBadRequest, "", "undeliverable", "returned 400"},
		{0, "", "unknown", ""},
	} {
		s := newService(t)
		r := s.asks("form.created", form)
		s.Answer(r, watchtest.Picks("SQLite"), watchtest.Picks("Auth"))
		s.said = test.body
		s.takes(test.status, formPath+"/reply", `{"answer":{"q0":"lite","q1":["Auth"]}}`)
		require.Contains(t, s.Receipt(r, test.receipt).End.Undelivered, test.undelivered)
	}
}

// A stream that says nothing is left: whoever has a heartbeat says something.
func TestServiceIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, service := net.Pipe()
		read := make(chan error, 1)
		go func() { read <- opencode.ReadEvents(stream, func(gjson.Result) {}) }()
		for range 10 {
			time.Sleep(15 * time.Second)
			io.WriteString(service, ": heartbeat\n")
		}
		left := time.Now()
		require.ErrorIs(t, <-read, io.ErrClosedPipe)
		require.Equal(t, time.Minute, time.Since(left))
	})
}

func TestServiceDismissed(t *testing.T) {
	s := newService(t)
	r := s.asks("form.created", form)
	s.Dismiss(r)
	s.takes(http.StatusNoContent, formPath+"/cancel", `{}`)
	s.Receipt(r, "consumed")
	r = s.asks("form.created", strings.ReplaceAll(form, "frm_1", "frm_2"))
	s.event("form.cancelled", `{"id":"frm_2","sessionID":"ses_1main"}`)
	require.Equal(t, "cancelled", s.Settled(r).End.Outcome)
	r = s.asks("form.created", strings.ReplaceAll(form, "frm_1", "frm_3"))
	s.event("session.execution.interrupted", `{"sessionID":"ses_1main","reason":"user"}`)
	require.Equal(t, "failed", s.Settled(r).End.Outcome)
}

// A permission shows all of what runs, and is replied to in both wordings of the service.
func TestServicePermissions(t *testing.T) {
	both := func(reply string) string { return `{"reply":"` + reply + `","decision":"` + reply + `"}` }
	for label, body := range map[string]string{
		"Allow once": both("once"), "Always allow echo *, git status *": both("always"), "Reject": both("reject"), "": both("reject"),
	} {
		s := newService(t)
		r := s.asks("permission.asked", shellAsked)
		require.Contains(t, r.Detail, "echo hi > a.txt && git status")
		require.Equal(t, "in this project, also later", strings.TrimPrefix(r.Call.Questions[0].Options[1].Description, "for bash, "))
		s.Decide(r, label, "")
		s.takes(http.StatusNoContent, leavePath, body)
		s.Receipt(r, "consumed")
	}
	s := newService(t)
	r := s.asks("permission.asked", shellAsked)
	s.Decide(r, "Reject", "use printf")
	s.takes(http.StatusNoContent, leavePath, `{"reply":"reject","decision":"reject","message":"use printf"}`)
	s.takes(http.StatusOK, "/api/session/ses_1main/prompt", `{"text":"I rejected that: use printf","delivery":"steer"}`)
	s.Receipt(r, "consumed")

	r = s.asks("permission.asked", strings.NewReplacer("per_1", "per_2", "msg_1", "msg_gone").Replace(shellAsked))
	require.Contains(t, r.Detail, "git status", "a call that is not found: what it needs leave for")
	s.event("permission.replied", `{"sessionID":"ses_1main","requestID":"per_2","reply":"once"}`)
	require.Equal(t, []string{"Allow once"}, s.Settled(r).End.Answers[0].Selected)

	r = s.asks("permission.asked", `{"id":"per_3","sessionID":"ses_2sub","action":"edit","resources":["b.txt"],"metadata":{"files":[{"file":"b.txt","patch":"@@ -1 +1 @@\n-old\n+new\n"}]}}`)
	require.Equal(t, "Look around", r.Call.SubAgent.Task)
	require.Equal(t, "ses_1main", r.Conversation)
	require.Contains(t, r.Detail, "+new")
	s.Decide(r, "Reject", "why")
	s.takes(http.StatusNoContent, "/api/session/ses_2sub/permission/per_3/reply", `{"reply":"reject","decision":"reject","message":"why"}`)
	s.takes(http.StatusInternalServerError, "/api/session/ses_2sub/prompt", `{"text":"I rejected that: why","delivery":"steer"}`)
	require.Contains(t, s.Receipt(r, "unknown").End.Unsure, "perhaps not its reason")
}

// What is open when we come is found, and found again when the service was away.
func TestServiceFound(t *testing.T) {
	s := newService(t, func(s *service) {
		s.lists["/api/session/active"] = `{"data":{"ses_1main":{"type":"running"},"../..":{}}}`
		s.lists["/api/session/ses_1main/form"] = `{"data":[` + questionForm + `]}`
		s.lists["/api/session/ses_1main/permission"] = `{"data":[` + shellAsked + `]}`
		s.lists["/api/form/request?location%5Bdirectory%5D=%2Fsrc%2Fapp"] = `{"data":[` + questionForm + `,` + strings.NewReplacer("ses_1main", "global", "frm_1", "frm_2").Replace(questionForm) + `]}`
	})
	for range 2 {
		all := []*hub.Record{s.Next(), s.Next(), s.Next()}
		require.ElementsMatch(t, []string{"ses_1main", "ses_1main", "global"}, []string{all[0].Conversation, all[1].Conversation, all[2].Conversation})
		s.events <- ""
		for _, r := range all {
			require.Contains(t, s.Settled(r).End.Reason, "OpenCode has ended")
		}
	}
}

func TestServiceTurns(t *testing.T) {
	s := newService(t)
	turn := s.Turns()
	s.event("session.execution.succeeded", `{"sessionID":"ses_2sub"}`)
	s.event("session.execution.succeeded", `{"sessionID":"ses_3unknown"}`)
	s.event("session.execution.interrupted", `{"sessionID":"ses_1main","reason":"user"}`)
	s.event("session.execution.failed", `{"sessionID":"ses_1main","error":{"message":"no credit"}}`)
	require.Contains(t, turn().Raw, "no credit")
	for _, item := range []string{`"msg_1","item":{"type":"user","payload":{"text":"Set it up"}}`, `"msg_2","item":{"type":"synthetic","payload":{"text":"Go on"}}`, `"msg_3","item":{"type":"user","payload":{"text":"And then?"}}`} {
		s.event("session.inbox.enqueued", `{"sessionID":"ses_1main","inboxID":`+item+`}`)
	}
	s.event("session.inbox.delivered", `{"sessionID":"ses_1main","inboxID":"msg_1"}`)
	s.event("session.inbox.delivered", `{"sessionID":"ses_1main","inboxID":"msg_2"}`)
	s.event("session.text.ended", `{"sessionID":"ses_1main","text":"First this."}`)
	r := s.asks("permission.asked", shellAsked)
	require.Equal(t, []string{"Set it up", "First this."}, []string{r.About.Prompt, r.About.Said})
	s.event("session.execution.succeeded", `{"sessionID":"ses_1main"}`)
	require.Contains(t, turn().Raw, `"First this."`)
	require.Empty(t, s.asks("permission.asked", strings.ReplaceAll(shellAsked, "per_1", "per_2")).About.Prompt, "it was another turn's")
	s.mu.Lock()
	s.lists["/api/session/ses_1main"] = `{"data":{"id":"ses_1main","title":"Another title","location":{"directory":"/src/app"}}}`
	s.mu.Unlock()
	s.event("session.renamed", `{"sessionID":"ses_1main","title":"Another title"}`)
	require.Equal(t, "Another title", s.asks("form.created", form).About.Title)
}

// A form is asked as far as it is known. One with a secret, or with fields that cannot be
// shown, is for the terminal alone.
func TestServiceForms(t *testing.T) {
	s := newService(t)
	for _, fields := range []string{
		`{"key":"a","type":"external","url":"https://example.com"}`, `{"key":"a","type":"string","when":[{"key":"b","op":"eq","value":"c"}]}`,
		`{"key":"password","type":"string","title":"Password"}`, `{"key":"a","type":"colour"}`,
		`{"key":"a","type":"string","title":"A","options":[{"value":"x","label":"X"}],"custom":true},{"key":"a_custom","type":"string","title":"Other"}`,
	} {
		s.event("form.created", `{"form":{"id":"frm_1","sessionID":"ses_1main","title":"A form","fields":[`+fields+`]}}`)
	}
	r := s.asks("form.created", `{"form":{"id":"frm_2","sessionID":"global","title":"Deploy","fields":[{"key":"port","type":"integer","title":"Port","minimum":1,"maximum":99,"required":true},{"key":"now","type":"boolean","title":"Now?"}]}}`)
	require.Equal(t, "form", string(r.Kind), "the others are not at the hub")
	s.Answer(r, convert.Answer{Text: "80"}, watchtest.Picks(r.Call.Questions[1].Options[0].Label))
	s.takes(http.StatusNoContent, "/api/session/global/form/frm_2/reply?location%5Bdirectory%5D=%2Fsrc%2Fapp", `{"answer":{"port":80,"now":true}}`)
	s.Receipt(r, "consumed")

	for label, body := range map[string]string{"Accept": `{"answer":{}}`, "Decline": `{}`} {
		r = s.asks("form.created", `{"form":{"id":"frm_`+label+`","sessionID":"ses_1main","title":"Delete it all?","fields":[]}}`)
		s.Answer(r, watchtest.Picks(label))
		s.takes(http.StatusNoContent, "/api/session/ses_1main/form/frm_"+label+map[string]string{"Accept": "/reply", "Decline": "/cancel"}[label], body)
		s.Receipt(r, "consumed")
	}
}

// The password goes to the service alone, and what is not known is left alone, with a line.
func TestServiceIsNotTheUsers(t *testing.T) {
	gone := exec.Command("true")
	require.NoError(t, gone.Run())
	for name, test := range map[string]struct {
		change func(*service)
		said   string
		called []string
	}{
		"a file that others can read": {func(s *service) { require.NoError(s.t, os.Chmod(s.file, 0o644)) }, "is not a file that you alone can read", nil},
		"another machine":             {func(s *service) { s.tells("http://192.0.2.1:49374", os.Getpid()) }, "not on this machine", nil},
		"an address that is none":     {func(s *service) { s.tells("http://127.0.0.1:port", os.Getpid()) }, "not on this machine", nil},
		"another version":             {func(s *service) { s.health = strings.Replace(s.health, "2.0.0", "3.1.0", 1) }, "version 3.1.0 is not known here (known: 2)", []string{"/api/health"}},
		"a process that is gone":      {func(s *service) { s.tells(s.http.URL, gone.Process.Pid) }, "has ended", nil},
		"another process":             {func(s *service) { s.health = `{"healthy":true,"version":"2.0.0","pid":1}` }, "another process is there", []string{"/api/health"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := playService(t)
			test.change(s)
			w := watch.Start(s.Options())
			defer w.Close()
			require.ErrorContains(t, opencode.Terminals().Serve(t.Context(), w), test.said)
			require.Equal(t, test.called, s.callers)
		})
	}
}
