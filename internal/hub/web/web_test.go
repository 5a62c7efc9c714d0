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

func newSiteWith(t testing.TB, o hub.Options, kept hubstore.Options) *site {
	t.Helper()
	store, err := hubstore.Open(t.Context(), kept)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	if o.Lease == 0 {
		o.Lease = time.Hour // nobody is gone because a test takes long
	}
	board, err := hub.Open(t.Context(), store, o)
	require.NoError(t, err)
	t.Cleanup(board.Close)
	access, err := web.OpenAccess(filepath.Join(t.TempDir(), "access.json"), token)
	require.NoError(t, err)
	server := web.New(board, access, web.Options{Hosts: []string{"hub.example"}})
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	t.Cleanup(server.Close)
	return &site{t, h.URL, board, access, server}
}

// request makes a request; headers are pairs. The owner's token is given unless
// an Authorization is.
func (s *site) request(method, path, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
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
	reply, err := noRedirects.Do(req)
	require.NoError(s.t, err)
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	require.NoError(s.t, err)
	fitsOpenAPI(s.t, req, reply, string(data))
	return reply, string(data)
}

var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// device gives a device a right, and returns its token.
func (s *site) device(name string, can web.Can, groups ...string) string {
	s.t.Helper()
	token, err := s.access.Add(name, can, groups...)
	require.NoError(s.t, err)
	return token
}

// find is a question as it is now.
func (s *site) find(conversation, id string) *hub.Record {
	s.t.Helper()
	r, err := s.board.Find(conversation, id)
	require.NoError(s.t, err)
	return r
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

// requestStatus expects a status, whatever the body is.
func (s *site) requestStatus(code int, method, path, body string, headers ...string) string {
	s.t.Helper()
	reply, data := s.request(method, path, body, headers...)
	require.Equal(s.t, code, reply.StatusCode, "%s %s: %s", method, path, data)
	return data
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

const (
	database = `{"id":"toolu_1","name":"AskUserQuestion","input":{"questions":[{"question":"Which database?","header":"DB","multiSelect":false,"options":[{"label":"PostgreSQL","description":"a server"},{"label":"SQLite","description":"a file"}]}]}}`
	features = `{"id":"toolu_2","name":"AskUserQuestion","input":{"questions":[{"question":"Which features?","header":"Features","multiSelect":true,"options":[{"label":"Auth","description":""},{"label":"Logs, all","description":""},{"label":"Mail","description":""}]},{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":""},{"label":"Blue","description":""}]}]}}`
)

func (s *site) ask(conversation string, questions ...convert.Question) *hub.Record {
	s.t.Helper()
	r, err := s.board.Ask(s.t.Context(), hub.Asking{Conversation: conversation, Agent: "Claude Code", Machine: "laptop", Dir: "/src/shop",
		Dialect: "bridge", Call: convert.Call{ID: "toolu_" + conversation, Questions: questions}})
	require.NoError(s.t, err)
	return r
}

var db = convert.Question{Text: "Which database should we use?", Header: "Database", Options: []convert.Option{
	{Label: "PostgreSQL", Description: "Battle-tested relational DB", Preview: "services:\n  db: postgres"}, {Label: "SQLite", Description: "Lightweight, file-based"}}}

func TestAskRespondResult(t *testing.T) {
	s := newSite(t, hub.Options{})
	var asked struct {
		Conversation, Question string
		State                  map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(s.expect(202, "POST", "/conversations/c1/ask", database)), &asked))
	require.Equal(t, "toolu_1", asked.Question)
	require.Equal(t, "awaiting_user_response", asked.State["type"])
	require.Equal(t, "toolu_1", asked.State["tool_use_id"])
	require.Contains(t, s.expect(200, "GET", "/conversations", ""), `"id":"c1"`)

	require.Empty(t, s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`))
	require.Contains(t, s.expect(200, "POST", "/conversations/c1/ask?wait=1m", database), `"answers":{"Which database?":"SQLite"}`)
	require.Contains(t, s.expect(200, "GET", "/conversations/c1", ""), `"type":"working"`)
	got := s.expect(200, "GET", "/conversations/c1/questions/toolu_1", "")
	require.Contains(t, got, `"outcome":"answered"`)
	require.Contains(t, got, `"by":"owner"`)
}

func TestAskWaitsForTheAnswer(t *testing.T) {
	s := newSite(t, hub.Options{})
	require.Contains(t, s.expect(202, "POST", "/conversations/c1/ask?wait=10ms", database), "awaiting_user_response")
	result := make(chan string)
	go func() {
		_, data := s.request("POST", "/conversations/c1/ask?wait=30s", database)
		result <- data
	}()
	s.expect(200, "POST", "/conversations/c1/cancel", "")
	require.Contains(t, <-result, `"behavior":"deny"`)
	require.Contains(t, s.expect(200, "GET", "/conversations/c1", ""), `"type":"idle"`)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, answers, result string }{
		{"labels", `{"Which features?":"Auth","Which colour?":"Red"}`, `{"Which features?":"Auth","Which colour?":"Red"}`},
		{"several picks as the result writes them", `{"Which features?":"Mail, \"Logs, all\"","Which colour?":"Red"}`, `{"Which features?":"\"Logs, all\", Mail","Which colour?":"Red"}`},
		{"own words", `{"Which features?":"none of these","Which colour?":"green"}`, `{"Which features?":"none of these","Which colour?":"green"}`},
		{"words that mean something elsewhere", `{"Which features?":"cancel","Which colour?":"1"}`, `{"Which features?":"cancel","Which colour?":"1"}`},
		{"a list", `{"Which features?":["Mail","Auth","more"],"Which colour?":["Blue"]}`, `{"Which features?":"Auth, Mail, more","Which colour?":"Blue"}`},
		{"an object", `{"Which features?":{"selected":["Auth"]},"Which colour?":{"text":"Red"}}`, `{"Which features?":"Auth","Which colour?":"Red"}`},
		{"in order", `["Auth","Red"]`, `{"Which features?":"Auth","Which colour?":"Red"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, hub.Options{})
			s.expect(202, "POST", "/conversations/c/ask", features)
			s.expect(200, "POST", "/conversations/c/respond", `{"answers":`+c.answers+`}`)
			require.Contains(t, s.expect(200, "POST", "/conversations/c/ask?wait=1m", features), `"answers":`+c.result)
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	s.expect(202, "POST", "/conversations/c1/ask", database)
	rec := s.find("c1", "")
	closed := `{"kind":"permission","call":{"ID":"p1","Questions":[{"Text":"Run it?","Options":[{"Label":"Yes"},{"Label":"No"}],"Closed":true}]}}`
	s.expect(202, "POST", "/conversations/c2/ask?dialect=bridge", closed)
	twice := `{"kind":"question","call":{"ID":"t1","Questions":[{"Text":"Go?","Options":[{"Label":"Yes"},{"Label":"No"}]},{"Text":"Go?","Options":[{"Label":"Yes"},{"Label":"No"}]}]}}`
	s.expect(202, "POST", "/conversations/c4/ask?dialect=bridge", twice)
	s.expect(202, "POST", "/conversations/c5/ask?dialect=bridge", strings.Replace(closed, "permission", "question", 1))
	const respond, good = "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`
	for _, c := range []struct {
		name         string
		code         int
		method, path string
		body         string
		headers      []string
	}{
		{"not JSON", 400, "POST", respond, `{"answers":`, nil},
		{"another shape", 400, "POST", respond, `[1]`, nil},
		{"no answer", 400, "POST", respond, `{"answers":{"Which database?":""}}`, nil},
		{"no answers", 400, "POST", respond, `{"answers":{}}`, nil},
		{"a note alone", 400, "POST", respond, `{"answers":{"Which database?":{"note":"hm"}}}`, nil},
		{"a question that was not asked", 400, "POST", respond, `{"answers":{"Which database?":"SQLite","What?":"x"}}`, nil},
		{"a field that is none", 400, "POST", respond, `{"answers":{"Which database?":{"selected":["SQLite"],"choice":"x"}}}`, nil},
		{"a conversation that is no text", 400, "POST", "/conversations/%FF/ask", database, nil},
		{"two of one", 400, "POST", respond, `{"answers":{"Which database?":["SQLite","PostgreSQL"]}}`, nil},
		{"no such label", 400, "POST", respond, `{"answers":{"Which database?":{"selected":["MySQL"]}}}`, nil},
		{"own words for a closed question", 400, "POST", "/conversations/c2/respond", `{"answers":{"Run it?":"Maybe"}}`, nil},
		{"a note for a closed question", 400, "POST", "/conversations/c5/respond", `{"answers":{"Run it?":{"selected":["Yes"],"note":"only if staging is green"}}}`, nil},
		{"a list for a closed question", 400, "POST", "/conversations/c2/respond", `{"answers":{"Run it?":["Yes","Maybe"]}}`, nil},
		{"one answer to two questions", 400, "POST", "/conversations/c4/respond", `{"answers":{"Go?":"Yes"}}`, nil},
		{"revision that is none", 400, "POST", respond + "?revision=x", good, nil},
		{"ask with nothing to ask", 400, "POST", "/conversations/c3/ask", `{"id":"1"}`, nil},
		{"ask in a dialect that is none", 400, "POST", "/conversations/c3/ask?dialect=latin", database, nil},
		{"a bad wait", 400, "POST", "/conversations/c3/ask?wait=long", database, nil},
		{"no such conversation", 404, "GET", "/conversations/c", "", nil},
		{"a prefix is no id", 404, "POST", "/conversations/c/respond", good, nil},
		{"no such question", 404, "POST", respond + "?question=toolu_", good, nil},
		{"no such page", 404, "GET", "/admin", "", nil},
		{"another method", 405, "PUT", respond, good, nil},
		{"another revision", 412, "POST", respond + "?revision=99", good, nil},
		{"cancel of another revision", 412, "POST", "/conversations/c1/cancel?revision=99", "", nil},
		{"too large", 413, "POST", respond, strings.Repeat("x", 1<<20+1), nil},
		{"100 MB", 413, "POST", respond, strings.Repeat("x", 100<<20), nil},
		{"a form", 415, "POST", respond, "answers=1", []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"plain text", 415, "POST", respond, good, []string{"Content-Type", "text/plain"}},
		{"no type", 415, "POST", respond, good, []string{"Content-Type", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.t = t
			s.expect(c.code, c.method, c.path, c.body, c.headers...)
			now := s.find("c1", "")
			require.True(t, now.Open(), "the question stays open")
			require.Equal(t, rec.Revision, now.Revision)
		})
	}
	s.t = t
	s.expect(200, "POST", respond, good)
	s.expect(200, "POST", respond, good)
	require.Contains(t, s.expect(409, "POST", respond, `{"answers":{"Which database?":"PostgreSQL"}}`), "answered already by owner at 20")
	s.expect(409, "POST", "/conversations/c1/cancel", "")
	phone := s.device("phone", web.CanAnswer)
	s.expect(409, "POST", respond, good, "Authorization", "Bearer "+phone)
}

func TestTheSameCallIsTheSameQuestion(t *testing.T) {
	s := newSite(t, hub.Options{})
	bare := `{"id":"q1","questions":[{"question":"Go on?","header":"Go","multiSelect":false,"options":[{"label":"Yes","description":""},{"label":"No","description":""}]}]}`
	id := func(data string) string {
		var v struct{ Question string }
		require.NoError(t, json.Unmarshal([]byte(data), &v))
		return v.Question
	}
	first := id(s.expect(202, "POST", "/conversations/c1/ask", bare))
	require.Equal(t, first, id(s.expect(202, "POST", "/conversations/c1/ask", bare)))
	other := s.find("c2", id(s.expect(202, "POST", "/conversations/c2/ask", bare)))
	require.True(t, other.Open())
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Go on?":"Yes"}}`)
	// The asker was away: the answer reaches it when it asks again. Another id, or none, is
	// another question.
	for range 2 {
		require.Contains(t, s.expect(200, "POST", "/conversations/c1/ask?wait=1m", bare), `"Go on?":"Yes"`)
	}
	for _, next := range []string{strings.Replace(bare, "q1", "q2", 1), strings.Replace(bare, `"id":"q1",`, "", 1)} {
		require.NotEqual(t, first, id(s.expect(202, "POST", "/conversations/c1/ask?wait=1ms", next)))
	}
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
			r := s.find(conversation, "toolu_1")
			require.Equal(t, "delivered", r.End.Receipt())
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
	req, err := http.NewRequestWithContext(ctx, "GET", s.url+path, nil)
	require.NoError(s.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	reply, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
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
	go func() {
		_, data := s.request("POST", "/conversations/c1/ask?wait=30s", database)
		result <- data
	}()
	for e.data["asker_gone"] == true {
		e, _ = next()
	}
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`)
	require.Contains(t, <-result, "SQLite")
}
