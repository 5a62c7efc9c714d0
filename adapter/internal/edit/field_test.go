package edit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/internal/tty"
)

func TestField(t *testing.T) {
	f := Field{Lines: true}
	type_ := func(keys ...string) {
		for _, k := range keys {
			switch {
			case strings.HasPrefix(k, "ctrl+"):
				f.Key(tty.Key{Name: k}, 10)
			case k == "left":
				f.Key(tty.Key{Name: "left"}, 10)
			case k == "up":
				f.Key(tty.Key{Name: "up"}, 10)
			case k == "back":
				f.Key(tty.Key{Name: "backspace"}, 10)
			default:
				f.Insert(k)
			}
		}
	}
	type_("e", "\u0301", "x", "left", "left", "back")
	require.Equal(t, "e\u0301x", f.String(), "nothing before the first character")
	type_("👨", "\u200d", "👩", "back")
	require.Equal(t, "e\u0301x", f.String(), "a joined emoji is one character")
	f.Set("one two three")
	type_("ctrl+w", "ctrl+w", "2")
	require.Equal(t, "one 2", f.String())
	type_("ctrl+a", "ctrl+k")
	require.Empty(t, f.String())
	f.Set("0123456789abc")
	type_("up", "!")
	require.Equal(t, "012!3456789abc", f.String(), "up by a line as shown")
	f = Field{}
	f.Insert("a\r\nb\x1b[31m\x00")
	require.Equal(t, "a b[31m", f.String(), "one line")
}
