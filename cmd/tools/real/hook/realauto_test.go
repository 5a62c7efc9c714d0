//go:build unix

package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// Commands that auto mode's check flags.
const one, two = "sh -c 'touch one'", "sh -c 'touch two'"

// flagged is a reply with a call that the check flags, and unflagged one without any.
func flagged(id, command string) apitest.Reply {
	r := bash(id, command)
	r.Verdicts = map[string]string{id: "[Destructive] nobody wanted that"}
	return r
}

func unflagged(text string) apitest.Reply {
	r := apitest.Say(text)
	r.Verdicts = map[string]string{}
	return r
}

// inAuto is a Claude Code in auto mode whose first call is blocked: it is asked at the hub.
func inAuto(t *testing.T, replies ...apitest.Reply) (*terminals.Claude, *watchtest.Site, *hub.Record) {
	t.Helper()
	return inMode(t, "auto", replies...)
}

func inMode(t *testing.T, mode string, replies ...apitest.Reply) (*terminals.Claude, *watchtest.Site, *hub.Record) {
	t.Helper()
	c, s := terminals.NewClaude(t, nil, append([]apitest.Reply{flagged("toolu_1", one)}, replies...)...)
	terminals.Away(t, s, true) // however slow this machine is, it waits
	c.Start("--permission-mode", mode)
	c.Prompt("go")
	r := s.Next()
	require.Equal(t, "Auto mode blocked `sh -c 'touch one'`: [Destructive] nobody wanted that. Allow this once?", r.Call.Questions[0].Text)
	require.Equal(t, "toolu_1", r.Hold.Call)
	return c, s, r
}

// ran reports what a call came to: the model got its result, and its file is there.
func ran(t *testing.T, c *terminals.Claude, id, file string, yes bool) {
	t.Helper()
	require.Equal(t, !yes, c.Told(id).IsError, id)
	if yes {
		require.FileExists(t, filepath.Join(c.Dir, file))
		return
	}
	require.NoFileExists(t, filepath.Join(c.Dir, file))
}

// asksAnew is the next turn of one that Esc has ended: its call is asked about again, and does
// not run after a no.
func asksAnew(t *testing.T, c *terminals.Claude, s *watchtest.Site) {
	t.Helper()
	c.See("Interrupted")
	c.Prompt("again")
	again := s.Next()
	require.Equal(t, "toolu_2", again.Hold.Call)
	s.Answer(again, watchtest.Picks("Reject"))
	ran(t, c, "toolu_2", "one", false)
	c.See("Done.")
}

// What auto mode blocks is asked at the hub. A yes lets the same call run when it is made again,
// and that once; the model is told so.
func TestRealAutoMode(t *testing.T) {
	t.Parallel()
	c, s, r := inAuto(t, flagged("toolu_2", one), flagged("toolu_3", one), unflagged("Done."))
	s.Answer(r, watchtest.Picks("Allow"))
	ran(t, c, "toolu_2", "one", true)
	require.True(t, c.Told("toolu_1").IsError)
	s.Receipt(r, "consumed")
	again := s.Next()
	require.Equal(t, "toolu_3", again.Hold.Call)
	s.Answer(again, watchtest.Picks("Reject"))
	require.True(t, c.Told("toolu_3").IsError)
	s.Receipt(again, "consumed")
	c.See("Done.")
	told := c.API.Main()[1].Get("messages").Raw
	require.Contains(t, told, "allowed exactly this call, once")
	require.Equal(t, 1, strings.Count(c.API.Main()[3].Get("messages").Raw, "allowed exactly this call, once"))
}

// While Claude Code plans the check is the same, but no hook allows anything: behind a yes the
// call is asked again when it is made again.
func TestRealAutoModeInPlan(t *testing.T) {
	t.Parallel()
	for name, yes := range map[string]bool{"Allow": true, "Reject": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s, r := inMode(t, "plan", flagged("toolu_2", one), unflagged("Done."))
			s.Answer(r, watchtest.Picks("Allow"))
			again := s.Next()
			require.Equal(t, one, again.Call.Questions[0].Text)
			require.NoFileExists(t, filepath.Join(c.Dir, "one"))
			s.Answer(again, watchtest.Picks(name))
			ran(t, c, "toolu_2", "one", yes)
			s.Receipt(r, map[bool]string{true: "consumed", false: "undeliverable"}[yes])
			s.Receipt(again, "consumed")
			c.See("Done.")
		})
	}
}

// Of two calls of one message that were allowed the model hears, and makes both again.
func TestRealAutoModeTwo(t *testing.T) {
	t.Parallel()
	both := func(a, b string) apitest.Reply {
		r := apitest.Use(apitest.ToolUse(a, "Bash", object{"command": one}), apitest.ToolUse(b, "Bash", object{"command": two}))
		r.Verdicts = map[string]string{a: "no", b: "no"}
		return r
	}
	c, s := terminals.NewClaude(t, nil, both("toolu_1", "toolu_2"), both("toolu_3", "toolu_4"), unflagged("Done."))
	terminals.Away(t, s, true)
	c.Start("--permission-mode", "auto")
	c.Prompt("go")
	for range 2 {
		s.Answer(s.Next(), watchtest.Picks("Allow"))
	}
	ran(t, c, "toolu_3", "one", true)
	ran(t, c, "toolu_4", "two", true)
	require.Equal(t, 2, strings.Count(c.API.Main()[1].Get("messages").Raw, "allowed exactly this call, once"))
}

// A call that was not allowed does not run: nobody said yes to it, or not in this turn.
func TestRealAutoModeBlocks(t *testing.T) {
	t.Parallel()
	t.Run("no", func(t *testing.T) {
		t.Parallel()
		c, s, r := inAuto(t, flagged("toolu_2", one), unflagged("Done."))
		s.Answer(r, watchtest.Picks("Reject"))
		again := s.Next()
		s.Receipt(r, "consumed")
		s.Dismiss(again)
		ran(t, c, "toolu_2", "one", false)
		c.See("Done.")
	})
	t.Run("another call", func(t *testing.T) {
		t.Parallel()
		c, s, r := inAuto(t, flagged("toolu_2", two), unflagged("Done."))
		s.Answer(r, watchtest.Picks("Allow"))
		other := s.Next()
		require.Contains(t, other.Call.Questions[0].Text, two)
		s.Answer(other, watchtest.Picks("Reject"))
		ran(t, c, "toolu_2", "two", false)
		c.See("Done.")
		require.Contains(t, s.Receipt(r, "undeliverable").End.Undelivered, "the yes was not used: its turn has ended")
		ran(t, c, "toolu_1", "one", false)
	})
	t.Run("Esc", func(t *testing.T) {
		t.Parallel()
		c, s, r := inAuto(t, flagged("toolu_2", one), unflagged("Done."))
		c.Press("Escape")
		require.Contains(t, s.Settled(r).End.Reason, "dismissed in the terminal, or Claude Code has ended") // by the hook that ends, or by the next event
		asksAnew(t, c, s)
	})
	t.Run("Esc after a yes", func(t *testing.T) {
		t.Parallel()
		c, s, r := inAuto(t, apitest.Hang(make(chan struct{})), flagged("toolu_2", one), unflagged("Done."))
		s.Answer(r, watchtest.Picks("Allow"))
		require.True(t, c.Told("toolu_1").IsError)
		c.Press("Escape")
		asksAnew(t, c, s)
		s.Receipt(r, "undeliverable")
	})
	t.Run("nobody answers in time", func(t *testing.T) {
		t.Parallel()
		c, s, r := inAuto(t, unflagged("Done."))
		terminals.Away(t, s, false)
		require.Contains(t, s.Settled(r).End.Reason, "it stays blocked")
		ran(t, c, "toolu_1", "one", false)
		c.See("Done.")
	})
	t.Run("no hub", func(t *testing.T) {
		t.Parallel()
		c, _ := terminals.NewClaude(t, &watchtest.Site{URL: "http://127.0.0.1:1", Token: "x"}, flagged("toolu_1", one), unflagged("Done."))
		c.Start("--permission-mode", "auto")
		c.Prompt("go")
		ran(t, c, "toolu_1", "one", false)
		require.NotContains(t, strings.ToLower(c.See("Done.")), "hook error")
	})
	t.Run("the hub goes", func(t *testing.T) {
		t.Parallel()
		c, s, r := inAuto(t, unflagged("Done."))
		s.Cut()
		require.Equal(t, "failed", s.Settled(r).End.Outcome)
		ran(t, c, "toolu_1", "one", false)
		c.See("Done.")
	})
}

// A yes whose hook ends before Claude Code has it is asked again, and is told as not used: a busy
// machine may start no program in time.
func TestRealAutoModeHookIsLost(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]string{"before the hub hears of it": `exit 0`, "with what the hub says": `exec >/dev/null`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s := terminals.NewClaude(t, nil, flagged("toolu_1", one), flagged("toolu_2", one), flagged("toolu_3", one), unflagged("Done."))
			program, err := terminals.Program()
			require.NoError(t, err)
			hook := filepath.Join(t.TempDir(), "hook")
			require.NoError(t, os.WriteFile(hook, []byte(`#!/bin/sh
event=$(cat)
case "$event" in *'"PreToolUse"'*toolu_2*) `+lost+`;; esac
printf %s "$event" | '`+program+`' "$@"
`), 0o700))
			c.Hooks(hook)
			terminals.Away(t, s, true)
			c.Start("--permission-mode", "auto")
			c.Prompt("go")
			first := s.Next()
			s.Answer(first, watchtest.Picks("Allow"))
			again := s.Next()
			require.Equal(t, "toolu_2", again.Hold.Call)
			require.NoFileExists(t, filepath.Join(c.Dir, "one"))
			s.Answer(again, watchtest.Picks("Allow"))
			ran(t, c, "toolu_3", "one", true)
			require.True(t, c.Told("toolu_2").IsError)
			s.Receipt(again, "consumed")
			s.Receipt(first, "undeliverable")
			c.See("Done.")
		})
	}
}

// A sub-agent in the background has a pass of its own.
func TestRealAutoModeSubAgent(t *testing.T) {
	t.Parallel()
	c, s := terminals.NewClaude(t, nil)
	terminals.Away(t, s, true)
	c.Start("--permission-mode", "auto")
	c.API.When(func(r apitest.Request) bool {
		return strings.Contains(r.Get("messages.0.content").Raw, "work of the sub-agent")
	}, flagged("toolu_s1", one), flagged("toolu_s2", one), unflagged("The sub-agent is done."))
	start := apitest.Use(apitest.ToolUse("toolu_a", "Agent", object{"description": "delegate", "prompt": "work of the sub-agent", "subagent_type": "general-purpose", "run_in_background": true}))
	start.Verdicts = map[string]string{"toolu_a": ""}
	c.API.Script(start, unflagged("It works."), unflagged("It is done."), unflagged("It is done."))
	c.Prompt("go")
	r := s.Next()
	require.Equal(t, "toolu_s1", r.Hold.Call)
	require.NotEmpty(t, r.Hold.Agent)
	s.Answer(r, watchtest.Picks("Allow"))
	s.Receipt(r, "consumed")
	require.FileExists(t, filepath.Join(c.Dir, "one"))
}

// Where nothing checks, calls are denied as well, and the question says that.
func TestRealAutoModeUnchecked(t *testing.T) {
	t.Parallel()
	c, s := terminals.NewClaude(t, nil, bash("toolu_1", one), bash("toolu_2", one), apitest.Say("Done."))
	terminals.Away(t, s, true)
	c.Begin("-p", "go", "--permission-mode", "auto")
	r := s.Next()
	require.Equal(t, "Auto mode could not check `sh -c 'touch one'`, and blocked it. Allow this once?", r.Call.Questions[0].Text)
	s.Answer(r, watchtest.Picks("Allow"))
	ran(t, c, "toolu_2", "one", true)
}
