package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	for input, want := range map[string]string{
		"1\n1,3\n":             "The model gets (error: false):\nWhich auth method?\nOAuth (Recommended)\n\nWhich languages?\n- Go\n- Zig\n",
		"other a passkey\n2\n": "The model gets (error: false):\nWhich auth method?\na passkey\n\nWhich languages?\n- Rust\n",
		"1\n\n":                "The model gets (error: false):\n[cancelled by user]\n",
	} {
		var out strings.Builder
		run(strings.NewReader(input), &out)
		require.Contains(t, out.String(), "1. OAuth (Recommended): Log in with the browser\n")
		require.True(t, strings.HasSuffix(out.String(), want), out.String())
	}
}
