package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// patience is how long a test waits for something that must happen.
const patience = 5 * time.Minute

const token = "the-owner's-token-of-the-tests"

// site is a hub under test.
type site struct {
	t      testing.TB
	url    string
	board  *hub.Board
	access *web.Access
	server *web.Server
}

func newSite(t testing.TB, o hub.Options) *site {
	t.Helper()
	return newSiteWith(t, o, hubstore.Options{Dir: t.TempDir()})
}

// siteBeside is a hub of a test that runs beside others.
func siteBeside(t *testing.T) *site {
	t.Helper()
	t.Parallel()
	return newSite(t, hub.Options{})
}

func newSiteWith(t testing.TB, o hub.Options, kept hubstore.Options) *site {
	t.Helper()
	if o.Lease == 0 {
		o.Lease = time.Hour // nobody is gone because a test takes long
	}
	_, board := boardOf(t, o, kept)
	access := acptest.Must(web.OpenAccess(filepath.Join(t.TempDir(), "access.json"), token))
	return serve(t, board, access, web.Options{Hosts: []string{"hub.example"}})
}

func boardOf(t testing.TB, o hub.Options, kept hubstore.Options) (*hubstore.Store, *hub.Board) {
	t.Helper()
	store := acptest.Must(hubstore.Open(t.Context(), kept))
	t.Cleanup(store.Close)
	board := acptest.Must(hub.Open(t.Context(), store, o))
	t.Cleanup(board.Close)
	return store, board
}

func serve(t testing.TB, board *hub.Board, access *web.Access, o web.Options) *site {
	server := web.New(board, access, o)
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	t.Cleanup(server.Close)
	return &site{t, h.URL, board, access, server}
}

// request makes a request; headers are pairs. The owner's token is given unless
// an Authorization is.
func (s *site) request(method, path, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	req := acptest.Must(http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body)))
	req.Header.Set("Authorization", "Bearer "+token)
	if method != http.MethodGet {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			req.Host = headers[i+1]
		case headers[i+1] == "":
			req.Header.Del(headers[i])
		default:
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	reply := acptest.Must(noRedirects.Do(req))
	defer reply.Body.Close()
	data := acptest.Must(io.ReadAll(reply.Body))
	fitsOpenAPI(s.t, req, reply, string(data))
	return reply, string(data)
}

var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// device gives a device a right, and returns its token.
func (s *site) device(name string, can web.Can, groups ...string) string {
	s.t.Helper()
	return acptest.Must(s.access.Add(name, can, groups...))
}

// find is a question as it is now.
func (s *site) find(conversation, id string) *hub.Record {
	s.t.Helper()
	return acptest.Must(s.board.Find(conversation, id))
}

func (s *site) expect(code int, method, path, body string, headers ...string) string {
	s.t.Helper()
	reply, data := s.request(method, path, body, headers...)
	require.Equal(s.t, code, reply.StatusCode, "%s %s: %s", method, path, data)
	if code >= 400 && strings.HasPrefix(reply.Header.Get("Content-Type"), "application/json") {
		var said struct{ Error string }
		require.NoError(s.t, json.Unmarshal([]byte(data), &said))
		require.NotEmpty(s.t, said.Error)
	}
	return data
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	return string(acptest.Must(json.Marshal(v)))
}

const (
	database = `{"id":"toolu_1","name":"AskUserQuestion","input":{"questions":[{"question":"Which database?","header":"DB","multiSelect":false,"options":[{"label":"PostgreSQL","description":"a server"},{"label":"SQLite","description":"a file"}]}]}}`
	features = `{"id":"toolu_2","name":"AskUserQuestion","input":{"questions":[{"question":"Which features?","header":"Features","multiSelect":true,"options":[{"label":"Auth","description":""},{"label":"Logs, all","description":""},{"label":"Mail","description":""}]},{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":""},{"label":"Blue","description":""}]}]}}`
)

func (s *site) ask(conversation string, questions ...convert.Question) *hub.Record {
	s.t.Helper()
	r := acptest.Must(s.board.Ask(s.t.Context(), hub.Asking{Conversation: conversation, Agent: "Claude Code", Machine: "laptop", Dir: "/src/shop",
		Dialect: "bridge", Call: convert.Call{ID: "toolu_" + conversation, Questions: questions}}))
	return r
}

var db = convert.Question{Text: "Which database should we use?", Header: "Database", Options: []convert.Option{
	{Label: "PostgreSQL", Description: "Battle-tested relational DB", Preview: "services:\n  db: postgres"}, {Label: "SQLite", Description: "Lightweight, file-based"}}}

func TestAskWaitsForTheAnswer(t *testing.T) {
	s := newSite(t, hub.Options{})
	require.Contains(t, s.expect(202, "POST", "/conversations/c1/ask?wait=10ms", database), "awaiting_user_response")
	result := make(chan string)
	go func() { result <- s.expect(200, "POST", "/conversations/c1/ask?wait=30s", database) }()
	s.expect(200, "POST", "/conversations/c1/cancel", "")
	require.Contains(t, <-result, `"behavior":"deny"`)
	require.Contains(t, s.expect(200, "GET", "/conversations/c1", ""), `"type":"idle"`)
}

// An answer that the agent has, however it got it, is no answer to what it asks
// next in the same words.
func TestTheSameWordsAfterTheAnswer(t *testing.T) {
	s := newSite(t, hub.Options{})
	bot := s.device("bot", web.CanAsk)
	phone := s.device("phone", web.CanAnswer)
	for n, asker := range []string{token, bot} {
		for name, get := range map[string]func(path string){
			"asked again": func(path string) {
				require.Contains(t, s.expect(200, "POST", path+"/ask", database, "Authorization", "Bearer "+asker), `"SQLite"`)
			},
			"asked again, with time": func(path string) {
				s.expect(200, "POST", path+"/ask?wait=1m", database, "Authorization", "Bearer "+asker)
			},
			"polled": func(path string) {
				require.Contains(t, s.expect(200, "GET", path+"/questions/toolu_1?wait=1m", "", "Authorization", "Bearer "+asker), `"outcome":"answered"`)
				s.expect(200, "POST", path+"/questions/toolu_1/received", "{}", "Authorization", "Bearer "+asker)
			},
		} {
			path := fmt.Sprintf("/conversations/%s-%d", strings.ReplaceAll(name, " ", "-"), n)
			s.expect(202, "POST", path+"/ask", database, "Authorization", "Bearer "+asker)
			s.expect(200, "POST", path+"/respond", `{"answers":{"Which database?":"SQLite"}}`)
			// Neither who looks nor who asks for the headers alone has it for the agent.
			s.expect(200, "GET", path+"/questions/toolu_1", "", "Authorization", "Bearer "+phone)
			s.expect(200, "HEAD", path+"/questions/toolu_1", "", "Authorization", "Bearer "+asker)
			s.expect(200, "GET", path+"/questions/toolu_1?wait=1m", "", "Authorization", "Bearer "+asker)
			require.Contains(t, s.expect(200, "GET", path+"/questions/toolu_1", "", "Authorization", "Bearer "+phone), `"receipt":"accepted"`)
			get(path)
			require.Eventually(t, func() bool {
				return strings.Contains(s.expect(200, "GET", path+"/questions/toolu_1", "", "Authorization", "Bearer "+phone), `"receipt":"delivered"`)
			}, patience, time.Millisecond)
			next := s.expect(202, "POST", path+"/ask", strings.ReplaceAll(database, "toolu_1", "toolu_2"), "Authorization", "Bearer "+asker)
			require.Contains(t, next, `"awaiting_user_response"`, name)
			require.Contains(t, next, `"question":"toolu_2"`, name)
		}
	}
}

// atFirst calls f before the first byte of a body is written.
type atFirst struct {
	*httptest.ResponseRecorder
	f func()
}

func (w *atFirst) Write(p []byte) (int, error) {
	if w.Body.Len() == 0 {
		w.f()
	}
	return w.ResponseRecorder.Write(p)
}

// An asker without a name may ask the next question as soon as it has the answer,
// in the same words and at any hub: by then the answer is used up.
func TestAnswerIsUsedUpBeforeItIsThere(t *testing.T) {
	s := newSite(t, hub.Options{})
	for i, at := range []struct{ method, path, body string }{
		{"POST", "/ask?wait=1m", database}, {"POST", "/ask", database},
	} {
		conversation := fmt.Sprint("c", i)
		s.expect(202, "POST", "/conversations/"+conversation+"/ask", database)
		s.expect(200, "POST", "/conversations/"+conversation+"/respond", `{"answers":{"Which database?":"SQLite"}}`)
		looked := false
		w := &atFirst{httptest.NewRecorder(), func() {
			require.Equal(t, "delivered", s.find(conversation, "toolu_1").End.Receipt())
			looked = true
		}}
		req := httptest.NewRequestWithContext(t.Context(), at.method, "http://localhost/conversations/"+conversation+at.path, strings.NewReader(at.body))
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		s.server.ServeHTTP(w, req)
		require.Contains(t, w.Body.String(), "SQLite")
		require.True(t, looked)
	}
}

func (s *site) stream(path string, headers ...string) (next func() (event, bool), stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	req := acptest.Must(http.NewRequestWithContext(ctx, "GET", s.url+path, nil))
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	reply := acptest.Must(http.DefaultClient.Do(req))
	require.Equal(s.t, 200, reply.StatusCode)
	require.Equal(s.t, "text/event-stream", reply.Header.Get("Content-Type"))
	s.t.Cleanup(func() { cancel(); reply.Body.Close() })
	lines := bufio.NewScanner(reply.Body)
	lines.Buffer(nil, 1<<20)
	return func() (e event, ok bool) {
		for lines.Scan() {
			key, value, _ := strings.Cut(lines.Text(), ": ")
			switch key {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				require.NoError(s.t, json.Unmarshal([]byte(value), &e.data))
			case "":
				if e.name != "" {
					return e, true
				}
			}
		}
		return e, false
	}, cancel
}

type event struct {
	id, name string
	data     map[string]any
}

func TestEvents(t *testing.T) {
	s := newSite(t, hub.Options{})
	s.expect(202, "POST", "/conversations/c1/ask", database)
	next, stop := s.stream("/events")
	e, _ := next()
	require.Equal(t, "state_change", e.name)
	require.Equal(t, "c1", e.data["conversation"])
	require.Equal(t, "awaiting_user_response", e.data["type"])
	only, _ := s.stream("/conversations/c1/events")
	only()
	s.expect(202, "POST", "/conversations/c2/ask", features)
	second, _ := next()
	require.Equal(t, "c2", second.data["conversation"])
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`)
	for _, n := range []func() (event, bool){next, only} {
		e, _ = n()
		require.Equal(t, "c1", e.data["conversation"])
		require.Equal(t, "answered", e.data["outcome"])
		require.Equal(t, "owner", e.data["by"])
		require.Equal(t, "working", e.data["type"])
	}
	stop()
	s.expect(200, "POST", "/conversations/c2/cancel", "")
	again, _ := s.stream("/events", "Last-Event-ID", second.id)
	e, _ = again()
	require.Equal(t, "c1", e.data["conversation"], "what ended meanwhile is told")
	e, _ = again()
	require.Equal(t, "cancelled", e.data["outcome"])
	fresh, _ := s.stream("/events", "Last-Event-ID", "999999")
	s.expect(202, "POST", "/conversations/c3/ask", features)
	e, _ = fresh()
	require.Equal(t, "c3", e.data["conversation"], "a revision of another hub is none")
}

// The state in an event is that of the conversation, as GET tells it: one that
// waits for another answer still waits.
func TestEventsOfAConversationWithTwoQuestions(t *testing.T) {
	s := newSite(t, hub.Options{})
	s.expect(202, "POST", "/conversations/c1/ask", database)
	s.expect(202, "POST", "/conversations/c1/ask", features)
	next, _ := s.stream("/conversations/c1/events")
	next()
	next()
	s.expect(200, "POST", "/conversations/c1/respond?question=toolu_1", `{"answers":{"Which database?":"SQLite"}}`)
	e, _ := next()
	require.Equal(t, "toolu_1", e.data["question"])
	require.Equal(t, "answered", e.data["outcome"])
	require.Equal(t, "awaiting_user_response", e.data["type"])
	require.Equal(t, "toolu_2", e.data["tool_use_id"])
	s.expect(200, "POST", "/conversations/c1/cancel", "")
	e, _ = next()
	require.Equal(t, "toolu_2", e.data["question"])
	require.Equal(t, "idle", e.data["type"])
}

func TestAnAskerThatIsGoneIsShownAsGone(t *testing.T) {
	s := newSite(t, hub.Options{Lease: 40 * time.Millisecond})
	s.expect(202, "POST", "/conversations/c1/ask", database)
	next, _ := s.stream("/events")
	e, _ := next()
	for e.data["asker_gone"] != true {
		e, _ = next()
	}
	require.Contains(t, s.expect(200, "GET", "/", ""), "The agent is gone")
	result := make(chan string)
	go func() { result <- s.expect(200, "POST", "/conversations/c1/ask?wait=30s", database) }()
	for e.data["asker_gone"] == true {
		e, _ = next()
	}
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`)
	require.Contains(t, <-result, "SQLite")
}
