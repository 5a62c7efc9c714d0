package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// Whoever can only ask cannot answer: what another process says of a question is
// nothing to the one that asks it.
func TestOnlyTheAskerTellsOfItsQuestion(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	const (
		at    = "/conversations/c1/questions/toolu_1"
		asks  = `","call":{"ID":"toolu_1","Questions":[{"Text":"Go on?","Options":[{"Label":"Yes"},{"Label":"No"}]}]}}`
		anna  = `{"outcome":"answered","by":"Anna","answers":[{"Selected":["Yes"]}]`
		asked = "/conversations/c1/ask?dialect=bridge&wait="
	)
	s.expect(202, "POST", asked+"0s", `{"asker":"p1`+asks)
	for _, other := range []string{`}`, `,"asker":"p2"}`} {
		s.expect(409, "POST", at+"/settle", anna+other)
	}
	// One that asks the same and speaks for its own user is not heard by the first.
	s.expect(202, "POST", asked+"0s", `{"asker":"p2`+asks)
	s.expect(200, "POST", at+"/settle", anna+`,"asker":"p2"}`)
	require.NotContains(t, s.expect(200, "GET", at, ""), `"Yes"`)
	s.expect(202, "POST", asked+"0s", `{"asker":"p1`+asks)
	open, _ := s.board.Waiting(10)
	require.Len(t, open, 1)
}

// Nor by one that waits meanwhile: what was said elsewhere is the word of who said it.
func TestWhatWasSaidElsewhereIsNoAnswer(t *testing.T) {
	r := hub.Record{Asker: "p2", End: &hub.End{Outcome: "answered", Elsewhere: true, By: "Anna", Answers: []convert.Answer{{Text: "Yes"}}}}
	require.Equal(t, convert.Answered, r.ResultFor("p2").Status)
	for _, other := range []string{"", "p1"} {
		require.Equal(t, convert.Failed, r.ResultFor(other).Status)
		require.Empty(t, r.ResultFor(other).Answers)
	}
	r.Asker = ""
	require.Equal(t, convert.Failed, r.ResultFor("").Status)
	r.End.Elsewhere = false
	require.Equal(t, convert.Answered, r.ResultFor("p1").Status)
}

// What an asker calls itself is its own word: behind it is the device that asks, which is not the
// asker's to choose, unless that is the owner's own.
func TestACardNamesTheDeviceThatAsks(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	for conversation, asker := range map[string]string{"c1": s.device("bot", web.CanAsk), "c2": token} {
		s.expect(202, "POST", "/conversations/"+conversation+"/ask?dialect=bridge&wait=0s",
			`{"agent":"Claude Code","call":{"ID":"toolu_1","Questions":[{"Text":"Go on?","Options":[{"Label":"Yes"},{"Label":"No"}]}]}}`, "Authorization", "Bearer "+asker)
	}
	for _, want := range []string{"<bdi>Claude Code (bot)</bdi> asks", "<bdi>Claude Code</bdi> asks"} {
		require.Contains(t, s.expect(200, "GET", "/cards", ""), want)
	}
}

// What became of an answer is for those to say who asked.
func TestOnlyTheAskerTellsOfItsAnswer(t *testing.T) {
	s := newSite(t, hub.Options{})
	const at = "/conversations/c1/questions/toolu_1"
	s.expect(202, "POST", "/conversations/c1/ask?dialect=bridge", `{"asker":"p1","call":{"ID":"toolu_1","Questions":[{"Text":"Go on?"}]}}`)
	s.expect(200, "POST", "/conversations/c1/respond?question=toolu_1", `{"answers":["Yes"]}`)
	for _, said := range []string{`{"refused":"no"}`, `{"consumed":true}`, `{"refused":"no","asker":"p2"}`} {
		s.expect(409, "POST", at+"/received", said)
	}
	require.Equal(t, "accepted", gjson.Get(s.expect(200, "GET", at, ""), "receipt").Str)
	s.expect(200, "POST", at+"/received", `{"asker":"p1"}`)
	require.Equal(t, "delivered", gjson.Get(s.expect(200, "GET", at, ""), "receipt").Str)
	// A successor that has found it says so.
	s.expect(200, "POST", at+"/received", `{"consumed":true,"asker":"p2"}`)
	require.Equal(t, "consumed", gjson.Get(s.expect(200, "GET", at, ""), "receipt").Str)
}

// A phone that looks does not keep an agent there that is gone.
func TestALookIsNoAsker(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{Lease: 200 * time.Millisecond})
	bot := s.device("bot", web.CanAsk)
	s.expect(202, "POST", "/conversations/c1/ask", database, "Authorization", "Bearer "+bot)
	looked := make(chan string)
	go func() { looked <- s.requestStatus(200, "GET", "/conversations/c1/questions/toolu_1?wait=5m", "") }()
	require.Eventually(t, func() bool {
		r, err := s.board.Find("c1", "toolu_1")
		return err == nil && r.Gone
	}, patience, 5*time.Millisecond)
	s.expect(200, "POST", "/conversations/c1/respond?question=toolu_1", `{"answers":{"Which database?":"SQLite"}}`)
	require.Contains(t, <-looked, "SQLite")
}

// A permission's answer names what was seen: another one may have taken its place, under its id.
func TestAPermissionIsAnsweredByItsRevision(t *testing.T) {
	s := newSite(t, hub.Options{})
	const at, body = "/conversations/c1/respond", `{"answers":["Allow"]}`
	first := s.askPermission("c1", "Run it?", "npm test")
	s.expect(200, "POST", "/conversations/c1/questions/toolu_c1/settle", `{"outcome":"failed","reason":"withdrawn"}`)
	r := s.askPermission("c1", "Run it?", "rm -rf /prod")
	for query, code := range map[string]int{"": 400, "?question=toolu_c1": 400, fmt.Sprintf("?question=toolu_c1&revision=%d", first.Revision): 412} {
		s.expect(code, "POST", at+query, body)
		s.expect(code, "POST", "/conversations/c1/cancel"+query, "")
	}
	s.expect(200, "POST", fmt.Sprintf("%s?question=toolu_c1&revision=%d", at, r.Revision), body)
}

// Logins and links that a device made for another end with it.
func TestARemovedAdminLeavesNoLogins(t *testing.T) {
	s := newSite(t, hub.Options{})
	admin := s.device("boss", web.CanAdmin)
	code := func() string {
		return gjson.Get(s.expect(200, "POST", "/codes", `{"name":"owner"}`, "Authorization", "Bearer "+admin), "code").Str
	}
	logIn := func(code string) *http.Response {
		reply, _ := s.request("POST", "/login", url.Values{"code": {code}}.Encode(),
			"Content-Type", "application/x-www-form-urlencoded", "Origin", "null", "Sec-Fetch-Site", "same-origin", "Authorization", "")
		return reply
	}
	in := logIn(code())
	require.Len(t, in.Cookies(), 1)
	cookie := in.Cookies()[0].Name + "=" + in.Cookies()[0].Value
	s.expect(200, "GET", "/questions", "", "Authorization", "", "Cookie", cookie)
	unused := code()
	own := s.logIn(t, web.Owner) // by somebody at the machine
	require.NoError(t, s.access.Remove("boss"))
	s.expect(401, "GET", "/questions", "", "Authorization", "", "Cookie", cookie)
	require.Equal(t, 401, logIn(unused).StatusCode)
	s.expect(200, "GET", "/questions", "", "Authorization", "", "Cookie", own)
}

// leaver goes as soon as it has its outcome, as a hook does.
type leaver struct {
	*httptest.ResponseRecorder
	leave func()
}

func (l leaver) Flush() {
	l.ResponseRecorder.Flush()
	l.leave()
}

// An asker that ends as soon as it has its outcome has it: the card says so.
func TestDeliveredToAnAskerThatLeaves(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	const asks = `{"asker":"p1","call":{"ID":"toolu_1","Questions":[{"Text":"Go on?"}]}}`
	s.expect(202, "POST", "/conversations/c1/ask?dialect=bridge", asks)
	s.expect(200, "POST", "/conversations/c1/respond?question=toolu_1", `{"answers":["Yes"]}`)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, s.url+"/conversations/c1/ask?dialect=bridge&wait=1s", strings.NewReader(asks))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	w := leaver{httptest.NewRecorder(), leave}
	s.server.ServeHTTP(w, r)
	require.Equal(t, 200, w.Code, "%s", w.Body)
	require.Error(t, ctx.Err())
	require.Eventually(t, func() bool {
		return gjson.Get(s.expect(200, "GET", "/conversations/c1/questions/toolu_1", ""), "receipt").Str == "delivered"
	}, patience, 5*time.Millisecond, "a moment later")
}

// Who asks without an id asks something new each time: no answer is for it that was given
// before.
func TestAskedOnceMoreWithoutAnID(t *testing.T) {
	s := newSite(t, hub.Options{})
	for _, asks := range []string{`{"asker":"p1","call":{"Questions":[{"Text":"Go on?"}]}}`, `{"call":{"Questions":[{"Text":"Go on?"}]}}`} {
		for range 3 {
			name := gjson.Get(s.expect(202, "POST", "/conversations/c/ask?dialect=bridge", asks), "question").Str
			s.expect(200, "POST", "/conversations/c/respond?question="+name, `{"answers":["Yes"]}`)
		}
	}
	open, _ := s.board.Waiting(10)
	require.Empty(t, open)
}

// An id is a name in its conversation, in every shape of a call: another id is another
// question, and the same one has the answer that was given to it.
func TestAnIDIsANameInEveryShape(t *testing.T) {
	for shape, call := range map[string]string{
		"short":  `{"id":"%s","question":"Go on?","options":["Yes","No"]}`,
		"opal":   `{"id":"%s","question":"Go on?","choices":["Yes","No"]}`,
		"claude": `{"id":"%s","questions":[{"question":"Go on?","options":[{"label":"Yes"},{"label":"No"}]}]}`,
		"bridge": `{"id":"%s","type":"tool_use","name":"AskUserQuestion","input":{"questions":[{"question":"Go on?","header":"Go","options":[{"label":"Yes","description":"y"},{"label":"No","description":"n"}],"multiSelect":false}]}}`,
	} {
		t.Run(shape, func(t *testing.T) {
			s := newSite(t, hub.Options{})
			ask := func(status int, id string) string {
				return s.expect(status, "POST", "/conversations/c/ask", fmt.Sprintf(call, id))
			}
			require.Equal(t, "a1", gjson.Get(ask(202, "a1"), "question").Str)
			s.expect(200, "POST", "/conversations/c/respond?question=a1", `{"answers":["Yes"]}`)
			require.Equal(t, "a2", gjson.Get(ask(202, "a2"), "question").Str, "nobody was asked this")
			require.Contains(t, ask(200, "a1"), "Yes")
			number := strings.Replace(call, `"%s"`, "7", 1)
			require.Equal(t, "7", gjson.Get(s.expect(202, "POST", "/conversations/c/ask", number), "question").Str)
			require.Equal(t, "7", gjson.Get(ask(202, "7"), "question").Str, "a number is what it is written as")
		})
	}
}

// Who asks again, in another shape of the same words, has the result in the shape of now.
func TestAnIDAskedAgainInAnotherShape(t *testing.T) {
	s := newSite(t, hub.Options{})
	const short, claude = `{"id":"a1","question":"Go on?","options":["Yes","No"]}`, `{"id":"a1","questions":[{"question":"Go on?","options":[{"label":"Yes"},{"label":"No"}]}]}`
	s.expect(202, "POST", "/conversations/c/ask", short)
	s.expect(200, "POST", "/conversations/c/respond", `{"answers":["Yes"]}`)
	for call, path := range map[string]string{short: "answers.0.answer", claude: `updatedInput.answers.Go on?`} {
		require.Equal(t, "Yes", gjson.Get(s.expect(200, "POST", "/conversations/c/ask", call), strings.ReplaceAll(path, "?", `\?`)).Str, call)
	}
}

// Where several questions are open in a conversation, an answer without a name answers
// none of them; where one is, it answers that.
func TestAnAnswerWithoutANameIsForTheOnlyOne(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	s.expect(202, "POST", "/conversations/c1/ask", database)
	s.expect(202, "POST", "/conversations/c1/ask", features)
	const sqlite = `{"answers":{"Which database?":"SQLite"}}`
	require.Equal(t, 409, s.errorOf(t, "POST", "/conversations/c1/respond", sqlite))
	require.Equal(t, 409, s.errorOf(t, "POST", "/conversations/c1/cancel", ""))
	_, open := s.board.Waiting(10)
	require.Equal(t, 2, open)
	s.expect(200, "POST", "/conversations/c1/respond?question=toolu_1", sqlite)
	s.expect(200, "POST", "/conversations/c1/cancel", "")
	_, open = s.board.Waiting(10)
	require.Zero(t, open)
}

// A reply without a name that comes once more, or late, answers nothing that was asked since.
func TestAReplyWithoutANameIsNotForTheNext(t *testing.T) {
	t.Parallel()
	const named, listed, failed = `{"answers":{"Go on?":"Yes"}}`, `{"answers":["Yes"]}`, `{"outcome":"failed"}`
	for i, c := range []struct {
		end, with, next, reply, again string
		code                          int
	}{
		{"respond", named, "Go on?", "respond", named, 409},
		{"respond", named, "Drop it?", "respond", named, 409},
		{"respond", named, "Drop it?", "respond", strings.ReplaceAll(named, "Go on", "Drop it"), 200}, // as in Phoenix
		{"respond", listed, "Drop it?", "respond", listed, 409},
		{"respond", named, "Drop it?", "cancel", "", 200},
		{"cancel", "", "Drop it?", "cancel", "", 409},
		{"questions/q1/settle", failed, "Drop it?", "respond", listed, 409},
		{"questions/q1/settle", failed, "Go on?", "respond", named, 409},
		{"questions/q1/settle", failed, "Drop it?", "cancel", "", 409},
	} {
		s := newSite(t, hub.Options{})
		ask := func(id, text string) {
			s.expect(202, "POST", "/conversations/c/ask", `{"id":"`+id+`","question":"`+text+`","options":["Yes","No"]}`)
		}
		ask("q1", "Go on?")
		s.expect(200, "POST", "/conversations/c/"+c.end, c.with)
		ask("q2", c.next)
		s.expect(c.code, "POST", "/conversations/c/"+c.reply, c.again)
		require.Equal(t, c.code != 200, s.find("c", "q2").Open(), i)
	}
}
