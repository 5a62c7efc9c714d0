package clean_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

func TestValidJSON(t *testing.T) {
	long := `"` + strings.Repeat("x", 100_000) + `"`
	for text, want := range map[string]bool{
		`{"a":[1]}`: true, `{`: false, "": false, long: true, long + "}": false,
		strings.Repeat("[", 10<<20):            false, // without a stack of a gigabyte
		`[` + long + `,` + nested(9_999) + `]`: true, `[` + long + `,` + nested(10_000) + `]`: false,
	} {
		require.Equal(t, want, clean.ValidJSON([]byte(text)), "%.20s", text)
		require.Equal(t, want, clean.ValidJSONText(text), "%.20s", text)
	}
}

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestDepth(t *testing.T) {
	for text, want := range map[string]int{
		`1`: 0, `"[[["`: 0, `[]`: 1, `{"a":[1,{"b":2}],"c":[]}`: 3, `["\\"]`: 1, `["\"[["]`: 1, `[[],[[]]]`: 3, nested(70): 70,
	} {
		require.Equal(t, want, clean.Depth(text), text)
		require.Equal(t, want, clean.Depth([]byte(text)), text)
	}
}

func FuzzAppendJSON(f *testing.F) {
	for _, s := range []string{"", "plain <b> & ~", `a "quote"`, `back\slash`, "line\n\x7f\b\f\r\t\x00\x1f", "é\u2028\u2029\ufffd", "\xff\xe2\x80", "😀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		require.Equal(t, "x"+string(clean.JSON(s)), string(clean.AppendJSON([]byte("x"), s)))
	})
}
