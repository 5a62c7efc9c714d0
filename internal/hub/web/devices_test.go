package web_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// A device that was removed gets no answer any more, also where it waits for one.
func TestARemovedDeviceGetsNoAnswer(t *testing.T) {
	t.Parallel()
	for path, method := range map[string]string{"/ask?wait=5m": "POST", "/questions/toolu_1?wait=5m": "GET"} {
		t.Run(method, func(t *testing.T) {
			s := newSite(t, hub.Options{Lease: time.Hour})
			token := s.device("bot", web.CanAsk)
			s.expect(202, "POST", "/conversations/c/ask", database, "Authorization", "Bearer "+token)
			waiting := make(chan *http.Response, 1)
			http.DefaultTransport.(*http.Transport).CloseIdleConnections() // or a GET is sent again when it breaks
			go func() {
				defer close(waiting)
				reply, _ := s.request(method, "/conversations/c"+path, database, "Authorization", "Bearer "+token)
				waiting <- reply
			}()
			require.Eventually(t, func() bool { return s.access.Watched("bot") }, patience, time.Millisecond)
			require.NoError(t, s.access.Remove("bot"))
			reply := <-waiting
			require.NotNil(t, reply)
			require.Equal(t, http.StatusUnauthorized, reply.StatusCode)
			s.expect(200, "POST", "/conversations/c/respond", `{"answers":{"Which database?":"SQLite"}}`)
			require.Equal(t, "accepted", s.find("c", "").End.Receipt())
		})
	}
}
