//go:build unix

package claude

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that is swapped for another between the check and the opening, or that
// is another user's, is not followed.
func TestOpenOwn(t *testing.T) {
	dir := t.TempDir()
	file, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	for name, tc := range map[string]struct {
		uid  int
		swap func() error
		want bool
	}{
		"its own":      {os.Getuid(), func() error { return nil }, true},
		"another's":    {os.Getuid() + 1, func() error { return nil }, false},
		"another file": {os.Getuid(), func() error { return os.Rename(other, file) }, false},
		"a link": {os.Getuid(), func() error {
			return errors.Join(os.Remove(file), os.Symlink("other", file))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(file)
			require.NoError(t, os.WriteFile(file, []byte("file"), 0o600))
			require.NoError(t, os.WriteFile(other, []byte("other"), 0o600))
			f := openOwn(root, "file", tc.uid, func() { require.NoError(t, tc.swap()) })
			require.Equal(t, tc.want, f != nil)
			if f != nil {
				f.Close()
			}
		})
	}
}
