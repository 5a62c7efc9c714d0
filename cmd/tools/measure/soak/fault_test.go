//go:build unix

package soak_test

import (
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/served"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// passes notes that the calls before this one are over: the agent asks one at a
// time.
func (t *soakTurn) passes(call *soakCall) {
	for _, c := range t.calls {
		if c == call {
			return
		}
		if call != nil && len(c.given) > 0 {
			c.passed = true
		}
	}
}

// hit counts a fault.
func (s *soakSession) hit(fault string) {
	s.note("fault: %s", fault)
	s.life.mu.Lock()
	defer s.life.mu.Unlock()
	s.faults[fault]++
}

// send writes to the agent, if the editor is there.
func (s *soakSession) send(text string) {
	if err := served.Send(s.e, text); err != nil {
		require.True(s, s.left.Load(), "the agent does not read: %v", err)
	}
}

// wireID is the id of the request that is, or was last, open.
func (s *soakSession) wireID() string {
	s.life.mu.Lock()
	defer s.life.mu.Unlock()
	if id := s.open[s.id]; id != "" {
		return id
	}
	return "1"
}

// disturb does, now and then, what must make no difference.
func (s *soakSession) disturb() {
	faults := []string{"garbage", "half line", "ids that were never used", "batch", "request id twice", "torn lines", "replies twice", "stall", "freeze"}
	n := s.rng.IntN(4 * len(faults))
	if n >= len(faults) {
		return
	}
	s.hit(faults[n])
	span := time.Duration(1+s.rng.IntN(15)) * time.Millisecond
	switch faults[n] {
	case "garbage":
		s.send("garbage\n\xff\xfe\x00\n{\"jsonrpc\"\n42\nnull\n\n")
	case "half line":
		s.send(`{"jsonrpc":"2.0","method":"session/can` + "\n")
	case "ids that were never used":
		for _, id := range []string{"424242", `"x"`, "null", "-1", "{}", "1.5"} {
			s.send(served.Forged(id) + "\n")
		}
	case "batch":
		s.send("[" + served.Forged(s.wireID()) + "]\n")
	case "request id twice":
		s.send(strings.Repeat(`{"jsonrpc":"2.0","id":"twice","method":"session/list","params":{}}`+"\n", 2))
	case "torn lines":
		rng := rand.New(rand.NewPCG(s.rng.Uint64(), 3))
		s.wire.Tear(s.e, func(n int) int { return 1 + rng.IntN(n-1) })
	case "replies twice":
		s.wire.Double(s.e)
	case "stall":
		s.e.Gate.Close()
		time.AfterFunc(span, s.e.Gate.Open)
	case "freeze":
		pid := s.pid(s.id)
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		time.AfterFunc(span, func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	}
}

func (s *soakSession) kills() {
	s.hit("killed")
	s.signal(s.id, syscall.SIGKILL)
}

// mute has the CLI close its output.
func (s *soakSession) mute() {
	s.hit("output closed")
	served.ClosePipe(s, s.cli, s.pid(s.id), ct.CloseStdoutNow)
}

// unheard has the CLI hear nothing any more.
func (s *soakSession) unheard(act string) {
	pid := s.pid(s.id)
	if act == "deaf" {
		s.hit("input closed")
		served.ClosePipe(s, s.cli, pid, ct.CloseStdinNow)
		return
	}
	s.hit("frozen for good")
	served.Freeze(s, pid)
}

// leaves ends the connection in one of several ways.
func (s *soakSession) leaves() {
	how := []string{"leaves", "leaves in the middle of a line", "stops reading for good, then leaves"}[s.rng.IntN(3)]
	s.hit(how)
	s.leaveAfter(func() {
		switch how {
		case "leaves in the middle of a line":
			s.send(served.Half(s.wireID()))
		case "stops reading for good, then leaves":
			s.e.In.Close()
		}
	})
}

// buried waits until a question of a CLI that is dying has ended.
func (s *soakSession) buried(waiting string) {
	require.Eventually(s, func() bool {
		return s.left.Load() || s.e.Tool(s.id, waiting)["status"] == "failed"
	}, acptest.Patience, 2*time.Millisecond, "the question of a dead CLI waits on\n%s", strings.Join(s.history, "\n"))
}
