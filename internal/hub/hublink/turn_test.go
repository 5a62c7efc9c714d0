package hublink_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// The end of a turn is told once, also to a hub that knows nothing of turns, and without
// what looks like a secret.
func TestTurnsAreTold(t *testing.T) {
	for status, works := range map[int]string{http.StatusOK: "a hub", http.StatusNotFound: "an older hub"} {
		t.Run(works, func(t *testing.T) {
			got := make(chan string, 10)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				w.WriteHeader(status)
				got <- r.URL.Path + " " + string(body)
			}))
			defer s.Close()
			u, err := url.Parse(s.URL)
			require.NoError(t, err)
			var log logs
			var d desk.Desk
			h := &hubs{t: t, url: u}
			l := h.link(&d, &log, token)
			d.EndTurn(desk.Turn{Session: session, Dir: "/src", Working: true}) // it is not done
			d.EndTurn(desk.Turn{Session: session, Dir: "/src"})
			require.Equal(t, "/conversations/"+session+`/turn {"event":"done","agent":"tester","dir":"/src"}`, <-got)
			d.EndTurn(desk.Turn{Session: session, Agent: "goose", Working: true, Err: errors.New("no API_TOKEN=abcdefgh1234")})
			require.Equal(t, "/conversations/"+session+`/turn {"event":"`+hublink.TurnFailed+`","agent":"goose","text":"no API_TOKEN=•••"}`, <-got)
			l.Close()
			require.Empty(t, got)
			require.Zero(t, log.count("level="))
		})
	}
}
