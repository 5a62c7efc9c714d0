//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/claude/claudetest"
)

const (
	ctrlC, ctrlD, enter, down, esc = "\x03", "\x04", "\r", "\x1b[B", "\x1b"
)

// The demo as a newcomer sees it; the README shows the same pictures.
func TestDemoByKeys(t *testing.T) {
	c := startConsole(t, 80, 24, nil, "demo")
	first := c.sees("Esc cancel")
	require.Equal(t, demoScreen, first)
	require.Contains(t, readme(t), indent(demoScreen), "the README shows the first screen")
	c.sends(enter)
	c.sees("[ ] Auth")
	c.sends(" " + down + " ")
	c.sees("[x] Logs")
	c.sends(enter)
	c.sees("What should we name")
	c.sends("order-processor" + enter)
	c.sees("Review your answers")
	c.sends(enter)
	require.Equal(t, exitOK, c.ends())
	require.Equal(t, demoEnd, c.sees("Claude Code would get"))
}

const demoScreen = `> Set up a new service

Hello! I am a script: there is no model, no account and no network behind me.
But the questions are real: before I set anything up I have three of them.
────────────────────────────────────────────────────────────
 ← ■ Database  □ Features  □ Service name  ✓ Submit →

  Which database should we use?

  > 1. PostgreSQL
       Battle-tested relational DB
    2. SQLite
       Lightweight, file-based
    3. MongoDB
       Document store
    4. Other (type your answer)

  Tab/←→ switch • ↑↓ select • Enter confirm • Esc cancel
  n add a note
────────────────────────────────────────────────────────────
`

const demoEnd = `> Set up a new service

Hello! I am a script: there is no model, no account and no network behind me.
But the questions are real: before I set anything up I have three of them.

✓ Database: PostgreSQL
✓ Features: Auth, Logs
✓ Service name: order-processor

Thank you. This is what I received:

- Database: PostgreSQL
- Features: Auth, Logs
- Service name: order-processor

Claude Code would get it as:

{"Which database should we use?":"PostgreSQL","Which features do you
want?":"Auth, Logs","What should we name this service?":"order-processor"}
`

func readme(t *testing.T) string {
	b, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	return string(b)
}

func indent(s string) string { return "```\n" + s + "```\n" }

// The first screen is there before one has looked up: within 100 ms of the
// start, the best of a few, because the machine may have other things to do.
func TestDemoIsThereAtOnce(t *testing.T) {
	best := time.Hour
	for range 10 {
		c := startConsole(t, 80, 24, nil, "demo")
		c.sees("Esc cancel")
		best = min(best, time.Since(c.started))
		c.sends(esc)
		c.ends()
	}
	t.Logf("first screen after %v", best)
	require.Less(t, best, 100*time.Millisecond)
}

func TestDemoCancelled(t *testing.T) {
	for name, keys := range map[string]string{"Esc": esc, "Ctrl+C": ctrlC} {
		t.Run(name, func(t *testing.T) {
			c := startConsole(t, 80, 24, nil, "demo")
			c.sees("Esc cancel")
			c.sends(keys)
			require.Equal(t, exitCancelled, c.ends())
			require.Contains(t, c.sees("I have no answers."), "✗ 3 questions: cancelled")
		})
	}
}

func TestDemoOnOtherTerminals(t *testing.T) {
	t.Run("dumb", func(t *testing.T) {
		c := startConsole(t, 80, 24, []string{"TERM=dumb"}, "demo")
		c.sees("An empty line cancels.")
		c.sends("1\n")
		c.sees("question 2 of 3")
		c.sends("1,2\n")
		c.sees("question 3 of 3")
		c.sends("shop\n")
		require.Equal(t, exitOK, c.ends())
		require.NotContains(t, c.wrote(), "\x1b")
	})
	t.Run("narrow", func(t *testing.T) {
		c := startConsole(t, 40, 15, nil, "demo")
		c.sees("> 1. PostgreSQL")
		c.resizes(100, 30)
		require.Contains(t, c.waits("the wide picker", func(s string) bool {
			return strings.Contains(s, "Tab/←→ switch • ↑↓ select • Enter confirm • Esc cancel")
		}), "> 1. PostgreSQL")
	})
	t.Run("no colours", func(t *testing.T) {
		c := startConsole(t, 80, 24, []string{"NO_COLOR=1"}, "demo", "--wire")
		c.sees("Esc cancel")
		require.NotRegexp(t, `\x1b\[([0-9;]*;)?[34][0-9]`, c.wrote())
	})
}

// chatWith talks to a process that is acp-bridge with these arguments.
func chatWith(t *testing.T, args ...string) *console {
	return startConsole(t, 80, 24, nil, append([]string{"chat", "--", self(t)}, args...)...)
}

func TestChatByKeys(t *testing.T) {
	c := chatWith(t, "demo", "--stdio")
	c.waits("the prompt", func(s string) bool { return strings.HasPrefix(s, ">") })
	c.sends("hello" + enter)
	c.sees("Esc cancel")
	c.sends(ctrlC)
	c.sees("\nCancelled.\n\n>")
	time.Sleep(1100 * time.Millisecond) // a Ctrl+C soon after would be the second of two
	c.sends("half a prom")
	c.sees("> half a prom")
	c.sends(ctrlC)
	c.sees("Ctrl+C again or Ctrl+D leaves")
	c.sends("\x1b[A") // the prompt before
	c.sees("\n\n> hello")
	c.sends(" again" + enter)
	c.sees("> hello again")
	c.sees("Esc cancel")
	c.sends(ctrlC + ctrlC)
	require.Equal(t, exitOK, c.ends())
}

func TestChatLeaves(t *testing.T) {
	for name, keys := range map[string]string{"Ctrl+D": ctrlD, "/quit": "/quit" + enter, "Ctrl+C twice": ctrlC + ctrlC} {
		t.Run(name, func(t *testing.T) {
			c := chatWith(t, "demo", "--stdio")
			c.waits("the prompt", func(s string) bool { return strings.HasPrefix(s, ">") })
			c.sends(keys)
			require.Equal(t, exitOK, c.ends())
		})
	}
}

// The agent is killed while its question is open.
func TestChatAgentDies(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	c := startConsole(t, 80, 24, nil, "chat", "--", "sh", "-c",
		`printf 'last \033[31mwords\n' >&2; echo $$ >"$1"; exec "$0" demo --stdio`, self(t), pidFile)
	c.waits("the prompt", func(s string) bool { return strings.HasPrefix(s, ">") })
	c.sends("hello" + enter)
	c.sees("Esc cancel")
	text, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Equal(t, exitFailed, c.ends())
	screen := c.sees("acp-bridge chat: the agent sh ended: signal: killed")
	require.Contains(t, screen, "\nsh: last words\n")
	require.NotContains(t, c.wrote(), "\x1b[31m")
}

// Text of a model has no way to act on the terminal.
func TestChatIsClean(t *testing.T) {
	const evil = "a\x1b]0;title\x07b\x1b[2Jc\x1b[31md\u009b2Je\u202ef"
	cli := claudetest.New(t, claudetest.Script{Turns: []claudetest.Turn{{Steps: []claudetest.Step{
		claudetest.Message(claudetest.TextBlock("a\x1b", "]0;title\x07b\x1b[2", "Jc\n"),
			claudetest.Question("toolu_1", claudetest.Q("Which "+evil+"?", evil, false, "one "+evil, "two"))),
		claudetest.Text("Noted: " + evil),
	}}}})
	c := chatWith(t, "--claude", cli.Path)
	c.waits("the prompt", func(s string) bool { return strings.HasPrefix(s, ">") })
	c.sends("go" + enter)
	require.Contains(t, c.sees("Esc to cancel"), "\nabc\n")
	c.sends(enter)
	c.sees("Noted: abcdef")
	c.sends(ctrlD)
	require.Equal(t, exitOK, c.ends())
	for _, sequence := range []string{"\x1b]", "\x1b[2J", "\x1b[31m", "\u009b", "\u202e"} {
		require.NotContains(t, c.wrote(), sequence)
	}
}

func TestExitCodes(t *testing.T) {
	for _, tc := range []struct {
		code int
		args []string
	}{
		{exitUsage, []string{"demo"}},
		{exitUsage, []string{"demo", "--answers", `["PostgreSQL"]`}},
		{exitUsage, []string{"chat"}},
		{exitUsage, []string{"chat", "acp-bridge"}},
		{exitFailed, []string{"chat", "--", "/nonexistent/agent"}},
		{exitOK, []string{"demo", "--answers", `["1",["auth"],"x"]`}},
	} {
		var out, errOut strings.Builder
		require.Equal(t, tc.code, run(context.Background(), tc.args, strings.NewReader(""), &out, &errOut), "%q: %s", tc.args, errOut.String())
		require.LessOrEqual(t, strings.Count(errOut.String(), "\n"), 1)
	}
}

func self(t *testing.T) string {
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}
