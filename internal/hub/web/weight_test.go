package web_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// What the page needs besides itself, worker included, is under 60 kB before it is
// compressed, and under 22 kB as browsers fetch it.
func TestWeightOfThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	page := s.expect(200, "GET", "/", "", "Accept", "text/html")
	raw, sent := 0, 0
	paths := slices.Sorted(slices.Values(append(regexp.MustCompile(`/[a-z]+\.(js|css)\b`).FindAllString(page, -1), "/worker.js")))
	for _, path := range slices.Compact(paths) {
		raw += len(s.expect(200, "GET", path, "", "Accept-Encoding", "identity"))
		sent += len(s.expect(200, "GET", path, "", "Accept-Encoding", "gzip"))
	}
	t.Logf("%d bytes, %d as they are sent", raw, sent)
	require.Less(t, raw, 60_000)
	require.Less(t, sent, 22_000)
	require.Greater(t, raw, 40_000, "all of them were found")
}
