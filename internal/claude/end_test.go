//go:build unix

package claude_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// gone waits until there is no process of that id, or only a zombie that is
// not ours to reap.
func gone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err == nil && strings.Contains(string(stat), ") Z ")
	}, patience, 2*time.Millisecond, "process %d is still there", pid)
}

func closeFast(o *claude.Options) {
	o.EOFGrace, o.TermGrace = 100*time.Millisecond, 100*time.Millisecond
}

// noGrace makes each grace longer than a test waits: a Close that needs one does
// not end before the test's context does.
func noGrace(o *claude.Options) { o.EOFGrace, o.TermGrace = time.Hour, time.Hour }

func TestDeathFailsWhatIsPending(t *testing.T) {
	s := prompted(t, turns(claudetest.Wait("die"), claudetest.Die(7, "last words", "\x1b[31mreally\x07 last\x1b[0m")), func(o *claude.Options) {})
	s.until(claude.TypeSystem)
	s.cli.Await("the prompt", func(l []claudetest.Line) bool { return len(l) > 1 })
	pending := make(chan error)
	go func() {
		_, err := s.Control(s.ctx, "never_answered_because_unknown_is", nil)
		pending <- err
	}()
	require.Error(t, <-pending) // refused, not pending: the reader works
	s.cli.Release("die")
	err := s.end()
	require.ErrorIs(t, err, claude.ErrExited)
	var exit *claude.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 7, exit.Code)
	require.Equal(t, []string{"last words", "really last"}, exit.Stderr)
	require.Equal(t, "Claude Code exited with status 7:\nlast words\nreally last", err.Error())
	<-s.Done()
	require.Eventually(t, func() bool { return errors.Is(s.Prompt("more"), claude.ErrExited) }, patience, time.Millisecond)
	require.ErrorIs(t, s.Interrupt(s.ctx), claude.ErrExited)
}

func TestPendingControlFailsWithTheProcess(t *testing.T) {
	s := prompted(t, claudetest.Script{IgnoreInterrupt: true, Turns: []claudetest.Turn{{Steps: []claudetest.Step{claudetest.Wait("die"), {Do: "die", Signal: 9}}}}})
	pending := make(chan error)
	go func() { pending <- s.Interrupt(s.ctx) }()
	s.cli.Await("the interrupt", func([]claudetest.Line) bool { return len(s.cli.Controls("interrupt")) == 1 })
	s.cli.Release("die")
	err := <-pending
	var exit *claude.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, "killed", exit.Signal)
	require.Equal(t, -1, exit.Code)
}

func TestDeathAtStart(t *testing.T) {
	s := run(t, claudetest.Script{Start: []claudetest.Step{claudetest.Die(1, "no way")}})
	_, err := s.Initialize(s.ctx)
	require.ErrorIs(t, err, claude.ErrExited)
	require.ErrorContains(t, err, "no way")
}

func TestMessagesBeforeTheDeathAreDelivered(t *testing.T) {
	t.Parallel()
	// More than the test takes, less than test and pipe together.
	s := prompted(t, turns(claudetest.Burst(800), claudetest.Die(1)))
	<-s.Done()                         // dead before anything was read
	time.Sleep(400 * time.Millisecond) // longer than the grace for the streams
	var all []claude.Message
	for {
		m, err := s.Next(s.ctx)
		if err != nil {
			require.ErrorIs(t, err, claude.ErrExited)
			break
		}
		all = append(all, m)
	}
	require.Len(t, strings.Fields(deltas(all)), 800)
}

func TestStderrIsBounded(t *testing.T) {
	var lines []string
	for i := range 50 {
		lines = append(lines, strconv.Itoa(i)+" "+strings.Repeat("é", 2000))
	}
	s := prompted(t, turns(claudetest.Die(1, append(lines, strings.Repeat("z", 1<<20))...)))
	var exit *claude.ExitError
	require.ErrorAs(t, s.end(), &exit)
	require.Len(t, exit.Stderr, 20)
	require.True(t, strings.HasPrefix(exit.Stderr[0], "31 "))
	for _, l := range exit.Stderr {
		require.LessOrEqual(t, len([]rune(l)), 501)
	}
}

func TestCloseEndsInputFirst(t *testing.T) {
	s := initialized(t, claudetest.Script{}, noGrace)
	require.NoError(t, s.Close(s.ctx))
	require.NoError(t, s.ctx.Err(), "no grace was needed")
	gone(t, s.Pid())
	lines := s.cli.Lines()
	require.True(t, lines[len(lines)-1].EOF)
	_, err := s.Next(s.ctx)
	require.ErrorIs(t, err, claude.ErrClosed)
	require.ErrorIs(t, err, claude.ErrExited)
	require.ErrorIs(t, s.Prompt("x"), claude.ErrClosed)
}

func TestCloseInterruptsARunningTurn(t *testing.T) {
	s := prompted(t, turns(claudetest.Hang()), noGrace)
	s.until(claude.TypeSystem)
	require.NoError(t, s.Close(s.ctx))
	require.NoError(t, s.ctx.Err(), "no grace was needed")
}

func TestCloseEscalates(t *testing.T) {
	t.Parallel()
	t.Run("to SIGTERM", func(t *testing.T) {
		s := initialized(t, claudetest.Script{IgnoreEOF: true}, closeFast)
		start := time.Now()
		require.NoError(t, s.Close(s.ctx))
		require.GreaterOrEqual(t, time.Since(start), 100*time.Millisecond)
		gone(t, s.Pid())
	})
	t.Run("to SIGKILL, grandchildren included", func(t *testing.T) {
		s := initialized(t, claudetest.Script{IgnoreEOF: true, IgnoreTerm: true, IgnoreInterrupt: true, Grandchild: true}, closeFast)
		require.NoError(t, s.Close(s.ctx))
		require.NoError(t, s.ctx.Err())
		gone(t, s.Pid())
		gone(t, s.cli.Starts()[0].Child)
	})
}

func TestGrandchildrenEndWithTheCLI(t *testing.T) {
	s := prompted(t, claudetest.Script{Grandchild: true, Turns: []claudetest.Turn{{Steps: []claudetest.Step{claudetest.Die(0)}}}})
	require.ErrorIs(t, s.end(), claude.ErrExited)
	gone(t, s.cli.Starts()[0].Child)
}

func TestCloseWhileTheConsumerIsStuck(t *testing.T) {
	s := prompted(t, turns(claudetest.Burst(50000)))
	s.until(claude.TypeStreamEvent)   // and no more
	time.Sleep(50 * time.Millisecond) // time for a queue to form
	require.NoError(t, s.Close(s.ctx))
	gone(t, s.Pid())
	require.ErrorIs(t, acptest.Err(s.Next(s.ctx)), claude.ErrClosed, "what was queued is dropped")
}

func TestAProcessThatLeftTheGroupHoldsNothingUp(t *testing.T) {
	t.Parallel()
	s := prompted(t, claudetest.Script{Escapee: true, Turns: []claudetest.Turn{{Steps: []claudetest.Step{claudetest.Text("bye"), claudetest.Die(3)}}}})
	s.until(claude.TypeAssistant)
	child := s.cli.Starts()[0].Child
	require.NotZero(t, child)
	defer syscall.Kill(child, syscall.SIGKILL)
	var exit *claude.ExitError
	require.ErrorAs(t, s.end(), &exit)
	require.Equal(t, 3, exit.Code)
	require.NoError(t, s.ctx.Err(), "it holds the output open for ever")
	require.NoError(t, syscall.Kill(child, 0), "it was not ours to end")
}

func TestCloseWhenTheCLIDoesNotRead(t *testing.T) {
	t.Parallel()
	s := initialized(t, claudetest.Script{StopReading: 1}, closeFast)
	for range 4 {
		require.NoError(t, s.Prompt(strings.Repeat("x", 10<<20)), "sending never waits")
	}
	var err error
	for err == nil {
		err = s.Prompt(strings.Repeat("x", 10<<20))
	}
	require.ErrorIs(t, err, claude.ErrNotReading)
	require.NoError(t, s.Close(s.ctx))
	gone(t, s.Pid())
}

func TestCloseWithItsContextEnding(t *testing.T) {
	s := initialized(t, claudetest.Script{IgnoreEOF: true, IgnoreTerm: true}, noGrace)
	ctx, cancel := context.WithTimeout(s.ctx, 50*time.Millisecond)
	defer cancel()
	require.NoError(t, s.Close(ctx))
	gone(t, s.Pid())
}

func TestCloseFromManySides(t *testing.T) {
	s := prompted(t, turns(claudetest.Burst(5000)))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if i%4 == 3 {
				s.Kill()
			}
			if err := s.Close(s.ctx); err != nil {
				t.Error(err)
			}
			_ = s.Prompt("late")
			_, _ = s.Next(s.ctx)
		})
	}
	wg.Wait()
	gone(t, s.Pid())
}

func TestKill(t *testing.T) {
	s := prompted(t, turns(claudetest.Text("before"), claudetest.Hang()))
	s.until(claude.TypeAssistant)
	s.Kill()
	var exit *claude.ExitError
	require.ErrorAs(t, s.end(), &exit)
	require.Equal(t, "killed", exit.Signal)
	s.Kill() // harmless
}

func TestStdoutClosedByTheCLI(t *testing.T) {
	s := prompted(t, turns(claudetest.CloseStdout(), claudetest.Hang()), closeFast)
	require.ErrorIs(t, s.end(), claude.ErrExited, "a CLI without output is ended")
	gone(t, s.Pid())
}

// What the CLI says after Close began is for nobody.
func TestNothingIsDeliveredAfterClose(t *testing.T) {
	first, closing := make(chan struct{}), make(chan struct{})
	var delivered atomic.Int32
	s := run(t, turns(claudetest.Burst(5000), claudetest.Hang()), func(o *claude.Options) {
		o.OnMessage = func(claude.Message) {
			if delivered.Add(1) == 1 {
				close(first)
				<-closing
			}
		}
	})
	require.NoError(t, s.Prompt("hi"))
	<-first
	ended, cancel := context.WithCancel(s.ctx)
	done := make(chan error, 1)
	go func() { done <- s.Close(ended) }()
	require.Eventually(t, func() bool { return errors.Is(s.Prompt("late"), claude.ErrClosed) }, patience, time.Millisecond, "Close began")
	close(closing)
	cancel() // and ends at once
	require.NoError(t, <-done)
	require.EqualValues(t, 1, delivered.Load())
}
