package build

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStamped(t *testing.T) {
	defer func(r, c string) { release, commit = r, c }(release, commit)
	release, commit = "v1.2.3", "0123456789ABCDEF0123456789abcdef01234567"
	require.Equal(t, "v1.2.3", Version())
	require.Equal(t, "0123456789ab", Commit())
	require.Equal(t, "unknown", short("", true))
	require.Equal(t, "abc with changes", short("abc", true))
}
