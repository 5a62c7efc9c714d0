package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nobody counts as away unless the hub says so: not at one that fails, whatever it says,
// and not at one that is not there.
func TestAwayIsWhatTheHubSays(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		away   bool
	}{
		{http.StatusOK, `{"away":true}`, true},
		{http.StatusOK, `{"away":false}`, false},
		{http.StatusOK, `{}`, false},
		{http.StatusInternalServerError, `{"away":true}`, false},
		{http.StatusUnauthorized, `{"away":true}`, false},
	} {
		hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		st := hookState{Hub: hub.URL, Token: "t"}
		require.Equal(t, c.away, st.away(t.Context()), "%d %s", c.status, c.body)
		hub.Close()
		require.False(t, st.away(t.Context()), "it is not there")
	}
}
