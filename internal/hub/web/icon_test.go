package web_test

import (
	"encoding/json"
	"image/png"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// The page can be installed: a manifest, and icons of the sizes that it says. Nobody
// has to be logged in to see them.
func TestInstallable(t *testing.T) {
	s := siteBeside(t)
	get := func(path string) *http.Response {
		reply := acptest.Must(http.Get(s.url + path))
		require.Equal(t, 200, reply.StatusCode, path)
		t.Cleanup(func() { reply.Body.Close() })
		return reply
	}
	var manifest struct {
		Display string
		Icons   []struct{ Src, Sizes string }
	}
	require.NoError(t, json.NewDecoder(get("/manifest.webmanifest").Body).Decode(&manifest))
	require.Equal(t, "standalone", manifest.Display)
	require.Len(t, manifest.Icons, 3)
	for _, icon := range manifest.Icons {
		c := acptest.Must(png.DecodeConfig(get(icon.Src).Body))
		want, _, _ := strings.Cut(icon.Sizes, "x")
		require.Equal(t, want, strconv.Itoa(c.Width))
	}
	page := s.expect(200, "GET", "/", "")
	for _, path := range []string{"/favicon.ico", "/icon-180.png"} {
		require.Equal(t, "image/png", get(path).Header.Get("Content-Type"))
	}
	require.Contains(t, page, `rel="manifest"`)
	login := acptest.Must(http.Get(s.url + "/login"))
	login.Body.Close()
	require.Contains(t, login.Header.Get("Content-Security-Policy"), "manifest-src 'self'")
}
