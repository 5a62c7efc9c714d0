package read

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHalved(t *testing.T) {
	for raw, want := range map[string]bool{
		`"a"`: false, `""`: false, `"\n\u00e9"`: false,
		`"\ud83d\ude00"`: false, `"\uD83D\uDE00x"`: false, `"\\ud800"`: false, `"\\\\ud800"`: false,
		`"\ud800"`: true, `"\udc00"`: true, `"\ud800x"`: true, `"\ud800\n"`: true, `"\ud800\ud800\udc00"`: true,
		`"\ude00\ud83d"`: true, `"\\\ud800"`: true, `"\ud83d\ude00\ud83d"`: true, `"\ufffd"`: false,
	} {
		require.Equal(t, want, Halved(raw), raw)
	}
}

// What is halved is what Go replaces.
func FuzzHalved(f *testing.F) {
	f.Add(`"\ud83d\ude00"`)
	f.Add(`"\\\ud800"`)
	f.Fuzz(func(t *testing.T, raw string) {
		var text string
		if json.Unmarshal([]byte(raw), &text) != nil || strings.ContainsRune(raw, '\uFFFD') || strings.Contains(strings.ToLower(raw), `\ufffd`) ||
			strings.ToValidUTF8(raw, "") != raw {
			return
		}
		require.Equal(t, strings.ContainsRune(text, '\uFFFD'), Halved(raw), raw)
	})
}
