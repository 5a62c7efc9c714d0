package web_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// The status says since when the oldest of the open questions waits.
func TestStatusOfTheOldest(t *testing.T) {
	s := siteBeside(t)
	for _, c := range []string{"c1", "c2", "c3"} {
		s.expect(202, "POST", "/conversations/"+c+"/ask", database)
	}
	first := acptest.Must(s.board.FindRef(hub.Ref{Conversation: "c1"}))
	var st web.Status
	require.NoError(t, json.Unmarshal([]byte(s.expect(200, "GET", "/status", "")), &st))
	require.Equal(t, []int{3, 0}, []int{st.Open, st.Gone})
	require.True(t, first.Asked.Equal(st.Oldest), st.Oldest)
}

// A device that measures, and is bound to a group, as it was kept before, does not. What it gets
// says in which version it is written.
func TestWhoMeasures(t *testing.T) {
	t.Parallel()
	require.True(t, web.Device{Can: web.CanMeasure}.May(web.CanMeasure))
	require.False(t, web.Device{Can: web.CanMeasure, Groups: []string{"red"}}.May(web.CanMeasure))
	reply, _ := newSite(t, hub.Options{}).request("GET", "/metrics", "")
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", reply.Header.Get("Content-Type"))
}
