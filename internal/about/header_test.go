package about_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/about"
)

// What is told in a header is what it was, and no more than is told elsewhere.
func TestHeader(t *testing.T) {
	var w about.Words
	w.Name("A title")
	w.Prompt("go on\nplease")
	w.Say("I go on, with ä and 日本")
	a := about.About{Model: "m", Branch: "main", Tool: about.Tool{Kind: "execute"}}
	w.Tell(&a)
	require.Equal(t, about.About{Model: "m", Title: "A title", Branch: "main", Prompt: "go on\nplease", Said: "I go on, with ä and 日本"}, about.Decode(a.Encode()))
	for _, wrong := range []string{"", "%", "e30x", "W10", strings.Repeat("e30", 10_000)} {
		require.Equal(t, about.About{}, about.Decode(wrong))
	}
	long := strings.Repeat("x", 3000)
	got := about.Decode(about.About{Model: long, Title: long, Branch: long, Prompt: long, Said: long}.Encode())
	require.Less(t, len(got.Model+got.Title+got.Branch+got.Prompt+got.Said), 3000)
}
