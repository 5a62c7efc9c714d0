package web_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// The metrics count what was done, and have no word of any question.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	meter := s.device("meter", web.CanMeasure)
	bearer := []string{"Authorization", "Bearer " + meter}
	phone := s.device("phone", web.CanAnswer)
	s.expect(202, "POST", "/conversations/c1/ask", database)
	s.expect(202, "POST", "/conversations/c1/ask", database) // the same one
	s.expect(202, "POST", "/conversations/c2/ask?group=red", database)
	s.expect(202, "POST", "/conversations/c3/ask", database)
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`, "Authorization", "Bearer "+phone)
	s.expect(409, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"Postgres"}}`)
	s.expect(200, "POST", "/conversations/c3/questions/toolu_1/settle", `{"outcome":"cancelled","by":"the \"editor\"\nhere"}`)
	reply, body := s.request("GET", "/metrics", "", bearer...)
	require.Equal(t, 200, reply.StatusCode)
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", reply.Header.Get("Content-Type"))
	for _, line := range []string{
		`acp_bridge_hub_open{group="red"} 1`,
		"acp_bridge_hub_asked_total 3",
		`acp_bridge_hub_ended_total{outcome="answered",by="phone"} 1`,
		`acp_bridge_hub_ended_total{outcome="cancelled",by="the \"editor\"\nhere",elsewhere="true"} 1`,
		`acp_bridge_hub_answer_seconds_bucket{le="604800"} 1`,
		`acp_bridge_hub_answer_seconds_bucket{le="+Inf"} 1`,
		"acp_bridge_hub_answer_seconds_count 1",
		"acp_bridge_hub_streams 0",
		`acp_bridge_hub_build_info{version="unknown"} 1`,
		"acp_bridge_hub_store_errors_total 0",
	} {
		require.Contains(t, body, line+"\n")
	}
	require.NotContains(t, body, "SQLite")
	require.NotContains(t, body, "database")
	// Who measures does nothing else, and others do not measure.
	s.expect(403, "GET", "/questions", "", bearer...)
	s.expect(403, "POST", "/conversations/c9/ask", database, bearer...)
	s.expect(403, "GET", "/metrics", "", "Authorization", "Bearer "+phone)
	s.expect(401, "GET", "/metrics", "", "Authorization", "")
	// What is counted is of all groups, and for nobody who is bound to one.
	require.Contains(t, s.expect(400, "POST", "/devices", `{"name":"x","can":"measure","groups":["red"]}`), "counts all groups")
	require.True(t, web.Device{Can: web.CanMeasure}.May(web.CanMeasure))
	require.False(t, web.Device{Can: web.CanMeasure, Groups: []string{"red"}}.May(web.CanMeasure), "as it was kept before")
}

func TestReady(t *testing.T) {
	s := newSite(t, hub.Options{})
	s.expect(200, "GET", "/readyz", "", "Authorization", "")
	s.server.Close()
	s.expect(503, "GET", "/readyz", "", "Authorization", "")
	s.expect(200, "GET", "/healthz", "", "Authorization", "")
}

// The status says since when the oldest of the open questions waits.
func TestStatusOfTheOldest(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	for _, c := range []string{"c1", "c2", "c3"} {
		s.expect(202, "POST", "/conversations/"+c+"/ask", database)
	}
	first, err := s.board.FindRef(hub.Ref{Conversation: "c1"})
	require.NoError(t, err)
	var st web.Status
	require.NoError(t, json.Unmarshal([]byte(s.expect(200, "GET", "/status", "")), &st))
	require.Equal(t, 3, st.Open)
	require.True(t, first.Asked.Equal(st.Oldest), st.Oldest)
}
