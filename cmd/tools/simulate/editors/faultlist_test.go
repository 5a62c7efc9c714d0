//go:build unix

package editors_test

import (
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/served"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// fault is what goes wrong, once, at some moment of a question.
type fault struct {
	name string
	// strike does it, and says how the turn ends: "" goes on as if nothing had
	// been; dead, cancelled, left; deaf if the CLI has to be stopped on the next
	// prompt.
	strike func(*faulty) string
	// heavy ones are tried at one moment only, unless all is asked for.
	heavy bool
	// flood has the CLI write, at this moment, more than is held for an editor.
	flood bool
	// moments, if set, are those that it can come at.
	moments string
}

var faults = []fault{
	{name: "the CLI is killed", strike: func(x *faulty) string { x.signal(syscall.SIGKILL); return "dead" }},
	{name: "the CLI is stopped, then goes on", strike: func(x *faulty) string {
		served.Freeze(x, x.pid())
		x.then = func() { x.signal(syscall.SIGCONT) }
		return ""
	}},
	{name: "the CLI is stopped, then killed", strike: func(x *faulty) string {
		served.Freeze(x, x.pid())
		x.signal(syscall.SIGKILL)
		return "dead"
	}},
	{name: "the CLI is stopped, the user cancels", strike: func(x *faulty) string {
		served.Freeze(x, x.pid())
		x.e.Cancel(x.session)
		return "cancelled"
	}},
	{name: "the CLI is stopped, the editor leaves", heavy: true, strike: func(x *faulty) string { served.Freeze(x, x.pid()); return "left" }},
	{name: "the CLI closes its output", strike: func(x *faulty) string { x.closes(ct.CloseStdoutNow); return "dead" }},
	{name: "the CLI closes its input, the user cancels", strike: func(x *faulty) string {
		x.closes(ct.CloseStdinNow)
		return x.stops()
	}},
	{name: "the CLI closes its input, the user answers and cancels", moments: "open mid", strike: func(x *faulty) string {
		x.closes(ct.CloseStdinNow)
		x.answers()
		x.complete = false // the CLI does not hear it
		return x.stops()
	}},
	{name: "the CLI closes its input, the editor leaves", strike: func(x *faulty) string {
		x.closes(ct.CloseStdinNow)
		return "left"
	}},
	{name: "the CLI closes both, the editor leaves", heavy: true, strike: func(x *faulty) string {
		x.closes(ct.CloseStdinNow)
		x.closes(ct.CloseStdoutNow)
		return "left"
	}},

	{name: "the editor leaves", strike: func(x *faulty) string { return "left" }},
	{name: "the editor leaves in the middle of a line", strike: func(x *faulty) string {
		x.write(served.Half(x.asked()))
		return "left"
	}},
	{name: "the editor closes what it reads, then leaves", strike: func(x *faulty) string {
		x.e.In.Close()
		return "left"
	}},
	{name: "the editor closes what it reads, and stays", moments: "before answered", strike: func(x *faulty) string {
		x.e.In.Close()
		x.cli.Release("before")
		x.cli.Release("answered")
		x.e.Served <- acptest.Next(x, x.e.Served) // the agent sees it when it writes
		return "left"
	}},
	{name: "the editor stalls, then reads on", strike: stalls},
	{name: "the editor stalls while the CLI floods it, then reads on", flood: true, moments: "before open mid answered", strike: func(x *faulty) string {
		stalls(x)
		x.cli.Release("flood")
		return ""
	}},
	{name: "the editor stalls, and cancels", moments: "before open mid answered", strike: func(x *faulty) string {
		pid := x.pid()
		x.e.Gate.Close()
		x.e.Cancel(x.session)
		x.interrupted(pid)
		x.e.Gate.Open()
		return "cancelled"
	}},
	{name: "the editor stalls while the CLI floods it, cancels, and sends the next prompt", flood: true, moments: "before open mid answered", strike: func(x *faulty) string {
		pid := x.pid()
		x.e.Gate.Close()
		x.cli.Release("flood")
		x.e.Cancel(x.session)
		x.queued = x.e.Prompt(x.session, "more")
		x.interrupted(pid) // its replies are not read
		x.e.Gate.Open()
		return "cancelled"
	}},
	{name: "the editor stalls, and leaves", heavy: true, strike: func(x *faulty) string { x.e.Gate.Close(); return "left" }},
	{name: "the editor answers nothing, and cancels", moments: "open mid", strike: func(x *faulty) string {
		x.e.Cancel(x.session)
		return "cancelled"
	}},
	{name: "the editor sends garbage", strike: sends("garbage\n\xff\xfe\x00\n{\"jsonrpc\"\n42\nnull\n\n")},
	{name: "the editor sends half a line", strike: sends(`{"jsonrpc":"2.0","method":"session/can` + "\n")},
	{name: "the editor sends half a reply", strike: func(x *faulty) string {
		x.breaks(served.Half(x.asked()) + "\n")
		return ""
	}},
	{name: "the editor's lines come in pieces", strike: func(x *faulty) string {
		x.wire.Tear(x.e, func(n int) int { return n / 2 })
		return ""
	}},
	{name: "the editor uses an id twice", strike: sends(strings.Repeat(`{"jsonrpc":"2.0","id":"twice","method":"session/list","params":{}}`+"\n", 2))},
	{name: "the editor answers twice", strike: func(x *faulty) string {
		x.wire.Double(x.e)
		if x.open == nil {
			x.arrives(served.Forged(x.asked()) + "\n")
		}
		return ""
	}},
	{name: "the editor answers what was not asked", strike: func(x *faulty) string {
		for _, id := range []string{"424242", `"x"`, "null", "-1", `{}`, "1.5"} {
			x.arrives(served.Forged(id) + "\n")
		}
		return ""
	}},
	{name: "the editor sends a batch", strike: func(x *faulty) string {
		x.arrives("[" + served.Forged(x.asked()) + "]\n")
		return ""
	}},
	{name: "the editor sends a request that is too long", heavy: true, strike: func(x *faulty) string {
		x.write(`{"jsonrpc":"2.0","id":"long","method":"session/list","params":{"cursor":"` + strings.Repeat("x", 64<<20) + `"}}` + "\n")
		return ""
	}},
	{name: "the editor sends a reply that is too long", heavy: true, strike: func(x *faulty) string {
		x.breaks(strings.TrimSuffix(served.Forged(x.asked()), "}") + `,"more":"` + strings.Repeat("x", 64<<20) + `"}` + "\n")
		return ""
	}},
}

func sends(text string) func(*faulty) string {
	return func(x *faulty) string {
		x.arrives(text)
		return ""
	}
}

// interrupted waits until the CLI knows of a cancel. One that does not within the
// grace, on a busy machine, is killed.
func (x *faulty) interrupted(pid int) {
	require.Eventually(x, func() bool {
		return syscall.Kill(pid, 0) != nil || len(x.cli.Controls("interrupt")) > 0
	}, acptest.Patience, tick)
}

// stalls has the editor read nothing until the agent has gone on.
func stalls(x *faulty) string {
	x.e.Gate.Close()
	sent := x.sent.Load()
	x.then = func() {
		require.Eventually(x, func() bool { return x.sent.Load() > sent || x.cli.Reply(call1) != nil }, acptest.Patience, tick)
		x.e.Gate.Open()
	}
	return ""
}
