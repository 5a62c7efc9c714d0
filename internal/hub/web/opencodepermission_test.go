package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

func permissionOf(id, picks, options string) string {
	return `{"kind":"permission","agent":"Kimi","detail":"{\"command\":\"make\"}","about":{"kind":"execute","picks":` + picks + `,"text":"Because."},` +
		`"call":{"ID":"` + id + `","Questions":[{"Text":"Run make","Closed":true,"Options":` + options + `}]}}`
}

// Clients of OpenCode see permissions with all that they are for, and their replies are
// the options that the agent offered.
func TestOpenCodePermissions(t *testing.T) {
	t.Parallel()
	const picks, options = `["allow_once","allow_always","reject_once"]`, `[{"Label":"Yes"},{"Label":"Yes, always"},{"Label":"No"}]`
	for _, c := range []struct{ body, label, note string }{
		{`{"reply":"once"}`, "Yes", ""},
		{`{"reply":"always"}`, "Yes, always", ""},
		{`{"reply":"reject","message":"not today"}`, "No", "not today"},
	} {
		s := newSite(t, hub.Options{})
		s.expect(202, "POST", "/conversations/c1/ask?dialect=bridge", permissionOf("p1", picks, options))
		next := s.openCodeStream("/event", "Bearer "+token)
		list := s.expect(200, "GET", "/permission", "")
		require.EqualValues(t, 1, gjson.Get(list, "#").Int(), list)
		require.Equal(t, "make", gjson.Get(list, "0.metadata.input.command").Str)
		require.Equal(t, "Because.", gjson.Get(list, "0.metadata.text").Str)
		require.Equal(t, "bash", gjson.Get(list, "0.permission").Str)
		require.Equal(t, "[]\n", s.expect(200, "GET", "/question", ""), "it is no question")
		id := gjson.Get(list, "0.id").Str
		require.Equal(t, "server.connected", gjson.Get(next(), "type").Str)
		require.Equal(t, id, gjson.Get(next(), "properties.id").Str)
		for _, bad := range []string{`{}`, `{"reply":"yes"}`, `{"reply":"once","message":"if it is Friday"}`, `{"reply":"once","remember":true}`} {
			s.requestStatus(400, "POST", "/permission/"+id+"/reply", bad)
		}
		s.requestStatus(404, "POST", "/question/que"+id[3:]+"/reply", `{"answers":[["Yes"]]}`)
		s.requestStatus(404, "POST", "/permission/"+id[:len(id)-1]+"/reply", c.body)
		require.Equal(t, "true\n", s.expect(200, "POST", "/permission/"+id+"/reply", c.body))
		_, late := s.request("POST", "/permission/"+id+"/reply", `{"reply":"once"}`)
		require.Contains(t, late, "PermissionNotFoundError")
		r, err := s.board.Find("c1", "p1")
		require.NoError(t, err)
		require.Equal(t, []string{c.label}, r.End.Answers[0].Selected)
		require.Equal(t, c.note, r.End.Answers[0].Note)
		end := next()
		require.Equal(t, "permission.replied", gjson.Get(end, "type").Str)
		require.Equal(t, gjson.Get(c.body, "reply").Str, gjson.Get(end, "properties.reply").Str)
	}
}

// A permission whose options OpenCode has no words for is not for its clients.
func TestOpenCodePermissionsWithOtherOptions(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	s.expect(202, "POST", "/conversations/c1/ask?dialect=bridge", permissionOf("p1", `["allow_once","allow_once"]`, `[{"Label":"Yes"},{"Label":"Yes, but"}]`))
	s.expect(202, "POST", "/conversations/c2/ask?dialect=bridge", permissionOf("p2", `["allow_once","reject_always"]`, `[{"Label":"Yes"},{"Label":"Never"}]`))
	require.Equal(t, "[]\n", s.expect(200, "GET", "/permission", ""))
	s.expect(202, "POST", "/conversations/c3/ask?dialect=bridge", permissionOf("p3", `["allow_once","reject_once"]`, `[{"Label":"Yes"},{"Label":"No"}]`))
	id := gjson.Get(s.expect(200, "GET", "/permission", ""), "0.id").Str
	s.requestStatus(400, "POST", "/permission/"+id+"/reply", `{"reply":"always"}`)
}
