package hubstore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// A file with neither is refused, and none of it is in the error.
func TestCredentials(t *testing.T) {
	name := filepath.Join(t.TempDir(), "creds")
	_, err := credentials(name)
	require.ErrorIs(t, err, os.ErrNotExist)
	for text, want := range map[string][2]string{
		"hub:pass:word\r\n": {"hub", "pass:word"}, "hub:secret": {"hub", "secret"},
		"": {}, "secret": {}, ":secret": {}, "hub:": {}, "hub:secret\nmore": {},
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		option, err := credentials(name)
		if want[0] == "" {
			require.ErrorContains(t, err, "expected what NATS makes for a user, or one line USER:PASSWORD", text)
			require.NotContains(t, err.Error(), "secret")
			continue
		}
		require.NoError(t, err, text)
		o := nats.GetDefaultOptions()
		require.NoError(t, option(&o))
		require.Equal(t, want, [2]string{o.User, o.Password})
	}
}
