package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// /questions shows what waits in the directory of the chat, and removes it.
func TestChatQuestions(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	in := `{"name":"ask_user","input":{"questions":[{"question":"Which database?","options":["PostgreSQL","SQLite"]}]}}`
	var out, errOut strings.Builder
	require.Equal(t, exitPending, run(context.Background(), []string{"ask", "--headless"}, strings.NewReader(in), &out, &errOut))
	questions := chatQuestions(".").Run
	require.Contains(t, questions(""), "1. Which database?\n   1. PostgreSQL\n   2. SQLite\n   Answer: none yet")
	require.Equal(t, questions("show"), questions(""))
	require.Contains(t, questions("answer"), "in another terminal")
	require.Contains(t, questions("drop"), `unknown action "drop"`)
	require.Contains(t, questions("clear 123456"), "123456")
	require.Contains(t, questions(""), "Which database?", "a wrong name removes nothing")
	require.Contains(t, questions("clear"), "Removed: ")
	require.Contains(t, questions(""), "No open questions.")
}
