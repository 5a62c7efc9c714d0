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
		strings.Repeat("[", 10<<20): false, // without a stack of a gigabyte
	} {
		require.Equal(t, want, clean.ValidJSON([]byte(text)), "%.20s", text)
		require.Equal(t, want, clean.ValidJSONText(text), "%.20s", text)
	}
}
