package web_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

var update = flag.Bool("update", false, "rewrite what the golden cases expect")

// basic is what OpenCode's clients send.
func basic(user, token string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+token))
}

// openCodeStream reads the data of a stream's events, without their ids.
func (s *site) openCodeStream(path, auth string) (next func() string) {
	req, err := http.NewRequestWithContext(s.t.Context(), "GET", s.url+path, nil)
	require.NoError(s.t, err)
	req.Header.Set("Authorization", auth)
	got, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { got.Body.Close() })
	require.Equal(s.t, 200, got.StatusCode)
	require.Equal(s.t, "text/event-stream", got.Header.Get("Content-Type"))
	lines := bufio.NewScanner(got.Body)
	return func() string {
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				require.Empty(s.t, lines.Text(), "no field but data")
				continue
			}
			if data = eventID.ReplaceAllString(data, `"evt_…"`); !strings.Contains(data, "server.heartbeat") {
				return data
			}
		}
		return "the stream has ended"
	}
}

var eventID = regexp.MustCompile(`"evt_[A-Z0-9]{26}"`)

// A case is what an agent asks, what a client of OpenCode does, and all that is
// said to both.
func TestGoldenOpenCode(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/opencode/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			section := map[string]string{}
			for _, f := range archive.Files {
				section[f.Name] = string(f.Data)
			}
			s := newSite(t, hub.Options{})
			token, err := s.access.Add("phone", web.CanAnswer)
			require.NoError(t, err)
			auth := []string{"Authorization", basic("opencode", token)}
			s.expect(202, "POST", "/conversations/c1/ask", section["call.json"])
			_, list := s.request("GET", "/question", "", auth...)
			id := gjson.Get(list, "0.id").Str
			require.True(t, strings.HasPrefix(id, "que"), list)
			got := map[string]string{"question.json": indented(t, list)}
			events := []func() string{s.openCodeStream("/event", auth[1]), s.openCodeStream("/global/event", auth[1])}
			var said strings.Builder
			for line := range strings.Lines(section["client"]) {
				what, body, _ := strings.Cut(strings.TrimSpace(line), " ")
				reply, text := s.request("POST", "/question/"+id+"/"+what, body, auth...)
				fmt.Fprintf(&said, "%d %s", reply.StatusCode, text)
			}
			got["said"] = said.String()
			var told strings.Builder
			for _, next := range events {
				for range 2 {
					fmt.Fprintln(&told, next())
				}
				if r, err := s.board.Find("c1", ""); err == nil && !r.Open() {
					fmt.Fprintln(&told, next())
				}
			}
			got["events"] = told.String()
			_, list = s.request("GET", "/question", "", auth...)
			got["left.json"] = indented(t, list)
			r, err := s.board.Find("c1", "")
			require.NoError(t, err)
			state := s.expect(200, "GET", "/conversations/c1/questions/"+r.ID, "")
			got["result.json"] = indented(t, gjson.Get(state, "result").Raw)
			if *update {
				archive.Files = archive.Files[:2]
				for _, name := range []string{"question.json", "said", "events", "left.json", "result.json"} {
					archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(got[name])})
				}
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
				return
			}
			for name, text := range got {
				require.Equal(t, section[name], text, name)
			}
		})
	}
}

func indented(t *testing.T, text string) string {
	t.Helper()
	if text == "" {
		return "none yet\n"
	}
	var v any
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	b, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)
	return string(b) + "\n"
}

// OpenCode's routes have the rules of all routes: a credential, groups, the first
// answer.
func TestOpenCodeRoutes(t *testing.T) {
	t.Parallel()
	s, as := groupsSite(t)
	bearer := func(who string) string { return strings.TrimPrefix(as[who], "Bearer ") }
	get := func(who, path string) string {
		return s.expect(200, "GET", path, "", "Authorization", basic("opencode", bearer(who)))
	}
	require.Equal(t, "[]\n", get("plain-phone", "/question"))
	require.Equal(t, "Which database?", gjson.Get(get("red-phone", "/question"), "0.questions.0.question").Str)
	blue := gjson.Get(get("blue-phone", "/question"), "0.id").Str
	require.EqualValues(t, 2, gjson.Get(get("owner", "/question"), "#").Int())
	require.Equal(t, blue, gjson.Get(get("both-phone", "/question?group=blue"), "0.id").Str)
	require.Equal(t, "[]\n", get("blue-phone", "/question?directory=/elsewhere"))

	sqlite := `{"answers":[["SQLite"]]}`
	for _, c := range []struct {
		auth   string
		status int
		method string
		path   string
		body   string
	}{
		{basic("opencode", "wrong"), 401, "GET", "/question", ""},
		{basic("somebody", bearer("blue-phone")), 401, "GET", "/question", ""},
		{"Basic x", 401, "GET", "/question", ""},
		{basic("opencode", ""), 401, "GET", "/event", ""},
		{basic("opencode", bearer("blue-bot")), 403, "GET", "/question", ""},
		{basic("opencode", bearer("blue-bot")), 403, "GET", "/global/event", ""},
		{basic("opencode", bearer("blue-bot")), 403, "POST", "/question/" + blue + "/reply", sqlite},
		{as["red-phone"], 403, "GET", "/event?group=blue", ""},
		{as["red-phone"], 404, "POST", "/question/" + blue + "/reply", sqlite},
		{as["red-phone"], 404, "POST", "/question/" + blue + "/reject", ""},
		{as["blue-phone"], 404, "POST", "/question/que_nothing/reply", sqlite},
		{as["blue-phone"], 404, "POST", "/question/" + blue[:len(blue)-1] + "/reply", sqlite},
		{as["blue-phone"], 404, "POST", "/question/" + strings.Replace(blue, "que_", "que", 1) + "/reply", sqlite},
		{as["blue-phone"], 400, "POST", "/question/toolu_1/reply", sqlite},
		{as["blue-phone"], 400, "POST", "/question/toolu_1/reject", ""},
		{as["blue-phone"], 400, "POST", "/question/" + blue + "/reply", `{"answers":[["SQLite"],["SQLite"]]}`},
		{as["blue-phone"], 400, "POST", "/question/" + blue + "/reply", `{"answers":[["SQLite","Postgres"]]}`},
		{as["blue-phone"], 400, "POST", "/question/" + blue + "/reply", `{"answers":[[]]}`},
		{as["blue-phone"], 400, "POST", "/question/" + blue + "/reply", `{"answers":"SQLite"}`},
		{as["blue-phone"], 400, "POST", "/question/" + blue + "/reply", `{"error":"x"}`},
		{as["blue-phone"], 400, "POST", "/question/" + blue + "/reply", `not JSON`},
	} {
		reply, body := s.request(c.method, c.path, c.body, "Authorization", c.auth)
		require.Equal(t, c.status, reply.StatusCode, "%s %s %s: %s", c.auth, c.method, c.path, body)
		require.NotContains(t, body, "azure", c.path)
		switch c.status {
		case 400:
			require.Equal(t, "InvalidRequestError", gjson.Get(body, "_tag").Str, body)
			require.NotEmpty(t, gjson.Get(body, "message").Str)
		case 404:
			require.Equal(t, "QuestionNotFoundError", gjson.Get(body, "_tag").Str, body)
			require.Contains(t, c.path, gjson.Get(body, "requestID").Str)
		}
	}
	reply, _ := s.request("POST", "/question/"+blue+"/reply", sqlite, "Authorization", as["blue-phone"], "Content-Type", "text/plain")
	require.Equal(t, 415, reply.StatusCode)
	rec, err := s.board.FindIn("blue", "c1", "")
	require.NoError(t, err)
	require.True(t, rec.Open(), "none of that was an answer")

	// The first answer wins, by its device; a later one finds nothing.
	require.Equal(t, "true\n", s.expect(200, "POST", "/question/"+blue+"/reply", sqlite, "Authorization", basic("opencode", bearer("blue-phone"))))
	for what, body := range map[string]string{"reply": `{"answers":[["Postgres"]]}`, "reject": ""} {
		reply, _ := s.request("POST", "/question/"+blue+"/"+what, body, "Authorization", as["both-phone"])
		require.Equal(t, 404, reply.StatusCode)
	}
	rec, err = s.board.FindIn("blue", "c1", "")
	require.NoError(t, err)
	require.Equal(t, "blue-phone", rec.End.By)
	require.Equal(t, []string{"SQLite"}, rec.End.Answers[0].Selected)
	require.Equal(t, "[]\n", get("blue-phone", "/question"))
}

// A stream tells each group of its own, and no question of leave.
func TestOpenCodeEventsOfGroups(t *testing.T) {
	s, as := groupsSite(t)
	s.expect(202, "POST", "/conversations/c3/ask?dialect=bridge&group=red", `{"kind":"permission","call":{"ID":"p","Questions":[{"Text":"May I?","Closed":true,"Options":[{"Label":"Yes"}]}]}}`)
	next := s.openCodeStream("/event", as["red-phone"])
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which azure database?":"SQLite"}}`, "Authorization", as["blue-phone"])
	s.expect(200, "POST", "/conversations/c1/cancel?group=red", "", "Authorization", as["red-phone"])
	for _, kind := range []string{"server.connected", "question.asked", "question.rejected"} {
		e := next()
		require.Equal(t, kind, gjson.Get(e, "type").Str, e)
		require.NotContains(t, e, "azure")
	}
	require.EqualValues(t, 0, gjson.Get(s.expect(200, "GET", "/question", "", "Authorization", as["red-phone"]), "#").Int())
}

// An answer that a question does not take is refused, also for askers whose own process
// looks at answers, and the question stays.
func TestOpenCodeAnswersThatDoNotFit(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	s.expect(202, "POST", "/conversations/c1/ask?dialect=bridge", `{"kind":"question","call":{"ID":"q","Questions":[{"Text":"Which?","Closed":true,"Options":[{"Label":"A"},{"Label":"B"}]}]}}`)
	id := gjson.Get(s.expect(200, "GET", "/question", ""), "0.id").Str
	for _, answers := range []string{`[["C"]]`, `[["A","C"]]`, `[["A","B"]]`} {
		reply, body := s.request("POST", "/question/"+id+"/reply", `{"answers":`+answers+`}`)
		require.Equal(t, 400, reply.StatusCode, "%s: %s", answers, body)
	}
	s.expect(200, "POST", "/question/"+id+"/reply", `{"answers":[["B"]]}`)
	s.expect(202, "POST", "/conversations/c2/ask?dialect=bridge", `{"kind":"question","call":{"ID":"q","Questions":[{"Text":"Which?","MultiSelect":true,"Options":[{"Label":"A"},{"Label":"None","Effect":1}]}]}}`)
	id = gjson.Get(s.expect(200, "GET", "/question", ""), "0.id").Str
	for _, answers := range []string{`[["A","None"]]`, `[["None","own words"]]`} {
		reply, body := s.request("POST", "/question/"+id+"/reply", `{"answers":`+answers+`}`)
		require.Equal(t, 400, reply.StatusCode, "%s: %s", answers, body)
	}
	s.expect(200, "POST", "/question/"+id+"/reply", `{"answers":[["None"]]}`)
}

// What has no answers in it is no answer, and the question stays.
func TestRespondWithoutAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	s.expect(202, "POST", "/conversations/c1/ask", database)
	for _, body := range []string{`{}`, `{"answers":null}`, `{"answers":{}}`, `{"answers":[]}`, `[]`, `"SQLite"`} {
		reply, said := s.request("POST", "/conversations/c1/respond", body)
		require.Equal(t, 400, reply.StatusCode, "%s: %s", body, said)
	}
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":["SQLite"]}`)
}

// A client is told once that a question waits and once that it does not, whatever else
// becomes of it.
func TestOpenCodeTellsEachOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	next := s.openCodeStream("/event", "Bearer "+token)
	tells := func(kind string) {
		t.Helper()
		e := next()
		require.Equal(t, kind, gjson.Get(e, "type").Str, e)
	}
	tells("server.connected")
	s.expect(202, "POST", "/conversations/c1/ask", database)
	tells("question.asked")
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`)
	tells("question.replied")
	rec, err := s.board.FindIn("", "c1", "")
	require.NoError(t, err)
	_, err = s.board.Consumed(t.Context(), rec.Ref()) // it changes once more
	require.NoError(t, err)
	s.expect(202, "POST", "/conversations/c2/ask", database)
	tells("question.asked")
}
