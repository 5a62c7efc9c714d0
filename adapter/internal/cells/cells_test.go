package cells

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrap(t *testing.T) {
	require.Equal(t, []string{"a b", "c"}, Wrap("a b c", 3))
	require.Equal(t, []string{"abc", "def", "g"}, Wrap("abcdefg", 3))
	require.Equal(t, []string{"日本", "語"}, Wrap("日本語", 5))
	require.Equal(t, []string{""}, Wrap("", 5))
	require.Equal(t, []string{"a", "", "b"}, Wrap("a\n\nb", 5))
	require.Equal(t, []string{"a", "…"}, AtMost(Wrap("a b c d", 1), 2, 1))
	require.Equal(t, "日…", Cut("日本語", 4))
	require.Equal(t, "\x1b[1mab…\x1b[m", Cut("\x1b[1mabcdef\x1b[m", 3))
}
