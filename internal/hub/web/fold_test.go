package web

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"a\n\n\nb":                               "a\n\n\nb",
		"a\n\n\n\nb":                             "a\n⋯ 3 blank lines ⋯\nb",
		"a\n \n\t\n\u2800\n\u200b\nb":            "a\n⋯ 4 blank lines ⋯\nb",
		"a" + strings.Repeat(" ", 40) + "b":      "a" + strings.Repeat(" ", 40) + "b",
		"a" + strings.Repeat("\u00a0", 41) + "b": "a ⋯ 41 spaces ⋯ b",
		"a" + strings.Repeat("\n", 61) + "b":     "a\n⋯ 60 blank lines ⋯\nb",
	} {
		require.Equal(t, want, fold(text))
	}
	require.Equal(t, "a\n⋯ 60 blank lines ⋯\nb", fold(clean.Block("a"+strings.Repeat("\n", 61)+"b")))
}
