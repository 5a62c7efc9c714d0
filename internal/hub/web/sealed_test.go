package web

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A byte of the list of devices that is damaged gives nobody another right, and takes
// none away, without a word: the hub does not start, and leaves the file as it is. One
// without a sum, of an older hub, is read.
func TestDamagedListOfDevices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.json")
	const token = "the-token-of-the-owner"
	a, err := OpenAccess(path, token)
	require.NoError(t, err)
	_, err = a.Add("phone", CanAnswer, "red")
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for at := range text {
		for _, bit := range []byte{1, 4, 32} {
			damaged := append([]byte{}, text...)
			damaged[at] ^= bit
			require.NoError(t, os.WriteFile(path, damaged, 0o600))
			now, err := OpenAccess(path, token)
			kept, _ := os.ReadFile(path)
			if err != nil {
				require.ErrorContains(t, err, "damaged", "byte %d", at)
				require.Equal(t, damaged, kept)
				continue
			}
			require.Equal(t, a.List(), now.List(), "byte %d: %s", at, damaged)
		}
	}
	old, err := unsealed(text)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, old, 0o600))
	now, err := OpenAccess(path, token)
	require.NoError(t, err)
	require.Equal(t, a.List(), now.List())
}
