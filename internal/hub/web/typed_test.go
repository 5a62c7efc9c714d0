package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// A secret that is typed at the hub reaches whoever asked, once. Nothing that the hub
// shows, before or after, has it.
func TestATypedSecretIsShownNowhere(t *testing.T) {
	t.Parallel()
	const secret = "sk-live-4242"
	s := newSite(t, hub.Options{})
	phone := s.device("phone", web.CanAnswer)
	call := strings.ReplaceAll(database, "Which database?", "What is your API key?")
	next, _ := s.stream("/events")
	s.expect(202, "POST", "/conversations/c1/ask", call)
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"What is your API key?":"`+secret+`"}}`, "Authorization", "Bearer "+phone)
	nowhere := func() {
		for _, path := range []string{"/", "/cards", "/history", "/conversations", "/conversations/c1", "/questions"} {
			for _, accept := range []string{"text/html", "application/json", "application/x-ndjson"} {
				_, said := s.request("GET", path, "", "Accept", accept)
				require.NotContains(t, said, secret, "%s as %s", path, accept)
			}
		}
		require.Contains(t, s.expect(200, "GET", "/history", ""), "(not shown)", "that something was answered is known")
		require.JSONEq(t, `{"history":[]}`, s.expect(200, "GET", "/history?text="+secret, ""))
		require.NotContains(t, s.expect(200, "GET", "/conversations/c1/questions/toolu_1", "", "Authorization", "Bearer "+phone), secret)
	}
	nowhere()
	e, ok := next()
	for ok && e.data["outcome"] == nil {
		e, ok = next()
	}
	require.Equal(t, "(not shown)", e.data["answer"])

	require.Contains(t, s.expect(200, "GET", "/conversations/c1/questions/toolu_1", ""), secret, "whoever asked may ask for it")
	require.Contains(t, s.expect(200, "POST", "/conversations/c1/ask?wait=1m", call), `"answers":{"What is your API key?":"`+secret+`"}`)
	s.receipt(s.find("c1", "toolu_1"), "consumed") // which is noted when the asker has it all
	nowhere()
	require.NotContains(t, s.expect(200, "GET", "/conversations/c1/questions/toolu_1", ""), secret)
	require.Contains(t, s.expect(202, "POST", "/conversations/c1/ask", call), "awaiting_user_response", "asked again, it is another question")
}

// receipt waits until an answer got that far.
func (s *site) receipt(r *hub.Record, far string) {
	s.t.Helper()
	reader := s.board.Read(1)
	for late := time.After(patience); ; {
		_, more := reader.Next()
		now := acptest.Must(s.board.FindRef(r.Ref()))
		if now.End.Receipt() == far {
			return
		}
		select {
		case <-more:
		case <-late:
			require.Fail(s.t, "an answer was not "+far, now.Call.Name)
		}
	}
}
