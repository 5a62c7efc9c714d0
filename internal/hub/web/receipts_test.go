package web_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the page needs besides itself, worker included, is under 70 kB before it is
// compressed, and under 22 kB as browsers fetch it, which is what a phone waits for.
func TestWeightOfThePage(t *testing.T) {
	s := siteBeside(t)
	page := s.expect(200, "GET", "/", "", "Accept", "text/html")
	raw, sent := 0, 0
	paths := slices.Sorted(slices.Values(append(regexp.MustCompile(`/[a-z]+\.(js|css)\b`).FindAllString(page, -1), "/worker.js")))
	for _, path := range slices.Compact(paths) {
		raw += len(s.expect(200, "GET", path, "", "Accept-Encoding", "identity"))
		reply, data := s.request("GET", path, "", "Accept-Encoding", "gzip")
		require.Equal(t, "gzip", reply.Header.Get("Content-Encoding"))
		sent += len(data)
	}
	t.Logf("%d bytes, %d as they are sent", raw, sent)
	require.Less(t, raw, 70_000)
	require.Less(t, sent, 22_000)
	require.Greater(t, raw, 40_000, "all of them were found")
}

// A browser keeps what the page needs, by an address that says what it is; under another
// one it asks every time.
func TestAssetsAreKept(t *testing.T) {
	s := siteBeside(t)
	page := s.expect(200, "GET", "/", "", "Accept", "text/html")
	for _, path := range []string{"/page.js", "/style.css"} {
		for query, kept := range map[string]string{regexp.MustCompile(regexp.QuoteMeta(path) + `(\?v=[\w-]{12})"`).FindStringSubmatch(page)[1]: "max-age=31536000, immutable", "?v=another": "no-cache", "": "no-cache"} {
			reply, _ := s.request("GET", path+query, "")
			require.Equal(t, kept, reply.Header.Get("Cache-Control"), path+query)
		}
	}
}
