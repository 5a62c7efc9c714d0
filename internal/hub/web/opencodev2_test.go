package web_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// The second version of OpenCode's routes: lists by location and by session, replies
// within a session, events of its own.
func TestOpenCodeV2(t *testing.T) {
	t.Parallel()
	const call = `{"kind":"question","agent":"Kimi","dir":"/src/app","call":{"ID":%q,"Questions":[{"Text":"Which database?","Header":"Database","Options":[{"Label":"PostgreSQL"},{"Label":"SQLite"}]}]}}`
	s := newSite(t, hub.Options{})
	next := s.openCodeStream("/api/event", "Bearer "+token)
	require.Equal(t, "server.connected", gjson.Get(next(), "type").Str)
	s.expect(202, "POST", "/conversations/c1/ask?dialect=bridge", fmt.Sprintf(call, "q1"))
	asked := next()
	require.Equal(t, "question.v2.asked", gjson.Get(asked, "type").Str)
	require.Equal(t, "/src/app", gjson.Get(asked, "location.directory").Str)
	request := gjson.Get(asked, "data")
	id, session := request.Get("id").Str, request.Get("sessionID").Str
	require.Equal(t, "SQLite", request.Get("questions.0.options.1.label").Str)

	for path, n := range map[string]int{
		"/api/question/request":                              1,
		"/api/question/request?location[directory]=/src/app": 1,
		"/api/question/request?location[directory]=/src":     0,
		"/api/session/" + session + "/question":              1,
		"/api/session/ses_other/question":                    0,
		"/api/permission/request":                            0,
	} {
		list := gjson.Parse(s.expect(200, "GET", path, ""))
		require.True(t, list.Get("data").IsArray(), path)
		require.Len(t, list.Get("data").Array(), n, path)
		if n > 0 {
			require.JSONEq(t, request.Raw, list.Get("data.0").Raw)
		}
	}
	require.Equal(t, "/src", gjson.Get(s.expect(200, "GET", "/api/question/request?location[directory]=/src", ""), "location.project.directory").Str)

	const sqlite = `{"answers":[["SQLite"]]}`
	_, other := s.request("POST", "/api/session/ses_other/question/"+id+"/reply", sqlite)
	require.Contains(t, other, "QuestionNotFoundError", "it is not in that session")
	s.requestStatus(400, "POST", "/api/session/"+session+"/question/"+id+"/reply", `{"answers":[[]]}`)
	require.Empty(t, s.expect(204, "POST", "/api/session/"+session+"/question/"+id+"/reply", sqlite))
	end := next()
	require.Equal(t, "question.v2.replied", gjson.Get(end, "type").Str)
	require.JSONEq(t, `{"sessionID":"`+session+`","requestID":"`+id+`","answers":[["SQLite"]]}`, gjson.Get(end, "data").Raw)
	_, late := s.request("POST", "/api/session/"+session+"/question/"+id+"/reply", sqlite)
	require.Contains(t, late, "QuestionNotFoundError")

	s.expect(202, "POST", "/conversations/c1/ask?dialect=bridge", fmt.Sprintf(call, "q2"))
	id = gjson.Get(next(), "data.id").Str
	require.Empty(t, s.expect(204, "POST", "/api/session/"+session+"/question/"+id+"/reject", ""))
	require.Equal(t, "question.v2.rejected", gjson.Get(next(), "type").Str)

	s.expect(202, "POST", "/conversations/c1/ask?dialect=bridge", permissionOf("p1", `["allow_once","allow_always","reject_once"]`, `[{"Label":"Yes"},{"Label":"Yes, always"},{"Label":"No"}]`))
	asked = next()
	require.Equal(t, "permission.v2.asked", gjson.Get(asked, "type").Str)
	request = gjson.Get(asked, "data")
	require.Equal(t, "bash", request.Get("action").Str)
	require.Equal(t, `["Run make"]`, request.Get("resources").Raw)
	require.Equal(t, `["Yes, always"]`, request.Get("save").Raw)
	require.Equal(t, "make", request.Get("metadata.input.command").Str)
	id = request.Get("id").Str
	require.JSONEq(t, request.Raw, gjson.Get(s.expect(200, "GET", "/api/permission/request", ""), "data.0").Raw)
	require.JSONEq(t, request.Raw, gjson.Get(s.expect(200, "GET", "/api/session/"+session+"/permission", ""), "data.0").Raw)
	require.Empty(t, s.expect(204, "POST", "/api/session/"+session+"/permission/"+id+"/reply", `{"reply":"reject","message":"not today"}`))
	require.JSONEq(t, `{"requestID":"`+id+`","reply":"reject","sessionID":"`+session+`"}`, gjson.Get(next(), "data").Raw)
	r, err := s.board.Find("c1", "p1")
	require.NoError(t, err)
	require.Equal(t, "not today", r.End.Answers[0].Note)
}
