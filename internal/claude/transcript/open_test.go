package transcript

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// A transcript that is a link is not followed. What becomes one while it is opened is not,
// either: see TestOpenOwn of claude.
func TestOpenFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	const id = "00000000-0000-4000-8000-000000000001"
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, id+extension)
	line := `{"type":"user","uuid":"u","sessionId":"` + id + `","message":{"role":"user","content":"hello"}}` + "\n"
	require.NoError(t, os.WriteFile(real, []byte(line), 0o600))
	require.NoError(t, os.Symlink(real, link))
	require.ErrorContains(t, acptest.Err(Open(t.Context(), link)), "not a regular file")
	_, ok := newPeeker().peek(link)
	require.False(t, ok)
	_, ok = Stat(link)
	require.False(t, ok)
	require.False(t, regular(link))
}
