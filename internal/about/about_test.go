package about

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func TestWords(t *testing.T) {
	var w Words
	var a About
	w.Tell(&a)
	require.Zero(t, a)
	require.Zero(t, a.Told())
	w.Prompt("first line\nsecond")
	w.Say("thinking ")
	w.Say("aloud")
	w.Tell(&a)
	require.Equal(t, "{}", string(acptest.Must(json.Marshal(a))), "nothing is told by mistake")
	a = a.Told()
	require.Equal(t, About{Title: "first line", Prompt: "first line\nsecond", Said: "thinking aloud"}, a)
	w.Prompt("next")
	a = About{}
	w.Tell(&a)
	require.Equal(t, About{Title: "first line", Prompt: "next"}, a.Told(), "what was said was before it")
	w.Name("A title")
	for range 10_000 {
		w.Say("wörds and ")
	}
	w.Prompt(strings.Repeat("ü", 5000))
	w.Say(strings.Repeat("wörds ", 10_000) + "the end")
	a = About{}
	w.Tell(&a)
	require.Zero(t, a.Kept())
	a = a.Told()
	require.Equal(t, "A title", a.Title)
	require.LessOrEqual(t, len(a.Prompt), maxPrompt+3)
	require.LessOrEqual(t, len(a.Said), maxSaid+3)
	require.True(t, strings.HasPrefix(a.Said, "…wörds") && strings.HasSuffix(a.Said, "the end"), a.Said)
	require.Zero(t, a.Kept().Prompt+a.Kept().Said)
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"use sk-ant-api03-abcdefghijklmnop here":            "use ••• here",
		"export GITHUB_TOKEN=ghp_abcdefghij0123456789":      "export GITHUB_TOKEN=•••",
		"password: hunter22, then":                          "password: •••, then",
		"the password is hunter22":                          "the password is •••",
		"Authorization: Bearer abcdef0123456789":            "Authorization: Bearer •••",
		"postgres://anna:secret@db/x":                       "postgres://anna:•••db/x",
		"AKIAIOSFODNN7EXAMPLE":                              "•••",
		"-----BEGIN RSA PRIVATE KEY-----\nabc\nnever ended": "•••",
		"a token bucket and the secret of good code":        "a token bucket and the secret of good code",
		"commit 0123456 and /home/anna/src/orders-service":  "commit 0123456 and /home/anna/src/orders-service",
	} {
		require.Equal(t, want, Redact(text))
	}
}
