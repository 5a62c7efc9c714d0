package backend

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// However an input is cut into pieces, what is shown of it early is true.
func TestPartial(t *testing.T) {
	const whole = `{"file_path":"/src/a, \"b\".go","nested":{"x":[1,2,{"y":"}"}]},"content":"long","last":1}`
	var full map[string]any
	require.NoError(t, json.Unmarshal([]byte(whole), &full))
	for size := 1; size <= len(whole); size++ {
		var p partial
		members := 0
		for rest := whole; rest != ""; {
			piece := rest[:min(size, len(rest))]
			rest = rest[len(piece):]
			if !p.feed(piece) {
				continue
			}
			var early map[string]any
			require.NoError(t, json.Unmarshal(p.input(), &early), "%s", p.input())
			require.Greater(t, len(early), members)
			members = len(early)
			for key, value := range early {
				require.Equal(t, full[key], value)
			}
		}
		if size == 1 {
			require.Equal(t, 3, members)
		}
	}
}

func TestPartialIsBounded(t *testing.T) {
	var p partial
	p.feed(`{"a":1,"content":"`)
	for range 1000 {
		require.False(t, p.feed(strings.Repeat("x,", 1000)))
	}
	require.LessOrEqual(t, len(p.buf), maxPartial)
	require.JSONEq(t, `{"a":1}`, string(p.input()))
}

// Of an input that is JSON, what is shown early is JSON and true, wherever it is
// cut; of one that is not, nothing breaks.
func FuzzPartial(f *testing.F) {
	f.Add([]byte(`{"a":"x, \"y\"","b":[1,{"c":","}],"d":2}`), 3)
	f.Add([]byte(`[1,2,3]`), 1)
	f.Add([]byte(`}{,",\`), 2)
	f.Add([]byte(`{"a":1,"a":2,"b":3}`), 7)
	f.Fuzz(func(t *testing.T, whole []byte, size int) {
		size = max(1, size%100)
		var full map[string]any
		isObject := json.Unmarshal(whole, &full) == nil && full != nil
		var p partial
		for rest := string(whole); rest != ""; {
			piece := rest[:min(size, len(rest))]
			rest = rest[len(piece):]
			if !p.feed(piece) {
				continue
			}
			var early map[string]any
			err := json.Unmarshal(p.input(), &early)
			if isObject {
				require.NoError(t, err, "%s", p.input())
				require.LessOrEqual(t, len(early), len(full))
			}
		}
	})
}
