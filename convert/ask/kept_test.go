package ask_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// What is typed to a question that asks for a secret is kept nowhere; what is picked is
// no secret, nor is what is said about one.
func TestKept(t *testing.T) {
	for text, secret := range map[string]bool{
		"What is your API key?":                  true,
		"Please enter the password for staging.": true,
		"Wie lautet dein Passwort?":              true,
		"Paste your GitHub token":                true,
		"Which database?":                        false,
		"Where shall passwords be kept?":         false,
	} {
		c := convert.Call{Questions: []convert.Question{{Text: text}, {Text: "Which database?"}}}
		given := []convert.Answer{{Selected: []string{"A"}, Text: "typed", Note: "noted"}, {Text: "DuckDB"}}
		want := []convert.Answer{{Selected: []string{"A"}, Text: "typed", Note: "noted"}, {Text: "DuckDB"}}
		if secret {
			want[0].Text, want[0].Note = "(not shown)", "(not shown)"
		}
		require.Equal(t, want, ask.Kept(c, given), text)
		require.Equal(t, "typed", given[0].Text, "whoever asked gets it")
	}
	require.Empty(t, ask.Kept(convert.Call{}, nil))
}
