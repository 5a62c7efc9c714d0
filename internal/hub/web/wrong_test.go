package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// What is wrong with an address is a page for people and JSON for programs.
func TestWrongAddresses(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	for code, headers := range map[int][]string{404: nil, 421: {"Host", "elsewhere.example"}} {
		reply, body := s.request("GET", "/nothing", "", append([]string{"Accept", "text/html"}, headers...)...)
		require.Equal(t, code, reply.StatusCode)
		require.Contains(t, reply.Header.Get("Content-Type"), "text/html")
		require.Contains(t, body, "<h1>")
		reply, body = s.request("GET", "/nothing", "", headers...)
		require.Equal(t, code, reply.StatusCode)
		require.Contains(t, body, `"error"`)
	}
}
