package agent

import (
	"context"
	"errors"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/claude"
	"github.com/acp-bridge/acp-bridge/convert"
)

// cancelAll cancels what runs and every prompt in line.
func (s *session) cancelAll() {
	s.mu.Lock()
	for _, p := range s.line {
		if !p.cancelled() {
			close(p.stop)
		}
	}
	s.mu.Unlock()
	s.cancelTurn(true)
}

// cancelTurn cancels the running turn: open requests are withdrawn, and a CLI
// that does not end it in time is ended. With interrupt the CLI is told;
// otherwise a reply tells it.
func (s *session) cancelTurn(interrupt bool) {
	s.mu.Lock()
	t, proc := s.turn, s.proc
	first := t != nil && !t.cancelled
	if first {
		t.cancelled = true
		s.parked = nil // the next prompt is no answer any more
	}
	open := s.requests
	seen := make(chan struct{})
	if interrupt && first && proc != nil {
		s.interrupting = seen
	}
	s.mu.Unlock()
	if !first || proc == nil {
		return
	}
	t.cancel(convert.ErrCancelled)
	open.cancelOpen(convert.ErrCancelled) // sub-agents' too
	go func() {
		for t != nil {
			if !s.seeOut(t, proc, interrupt) && s.giveUp(t, proc) {
				s.agent.log.Warn("Claude Code did not honour a cancel, its process is ended",
					"session", s.id, "after", s.agent.opts.CancelGrace.Round(time.Millisecond))
				proc.Kill()
				break
			}
			t, interrupt = s.takeDoomed(seen), true
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		close(seen)
		if s.interrupting == seen { // else a later one, which is seen later
			s.interrupting = nil
		}
	}()
}

// giveUp marks a process as one that is killed, unless its turn has just ended
// after all: then it may have the next prompt already. No prompt goes to a
// process that is given up.
func (s *session) giveUp(t *turn, proc *claude.Process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != t {
		return false
	}
	s.givenUp = proc
	return true
}

// takeDoomed returns the turn that the CLI goes on to although its prompts are
// cancelled, once. seen becomes the interrupt that prompts wait for.
func (s *session) takeDoomed(seen chan struct{}) *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || !s.turn.doomed {
		return nil
	}
	s.turn.doomed = false
	s.interrupting = seen
	return s.turn
}

// interrupt ends a turn. Prompts that the CLI has in its queue go with it: it
// says which, and those that are not cancelled are sent again.
func (s *session) interrupt(ctx context.Context, t *turn, proc *claude.Process) error {
	s.mu.Lock()
	queued := t.queued
	s.mu.Unlock()
	if queued {
		return proc.InterruptAll(ctx)
	}
	return proc.Interrupt(ctx)
}

// interruptAgain is when an interrupt is repeated: one that comes before the
// CLI has begun with its prompt finds nothing to end.
const interruptAgain = 100 * time.Millisecond

// seeOut waits for the end of a cancelled turn, and reports false if it does
// not come in time.
func (s *session) seeOut(t *turn, proc *claude.Process, interrupt bool) bool {
	ctx, stop := context.WithTimeout(s.ctx, s.agent.opts.CancelGrace)
	defer stop()
	for {
		var again <-chan time.Time
		if interrupt {
			if err := s.interrupt(ctx, t, proc); err != nil {
				s.agent.log.Debug("interrupt failed", "session", s.id, "err", err)
			}
			again = time.After(interruptAgain)
		}
		select {
		case <-t.over:
			return true
		case <-again:
		case <-ctx.Done():
			return !errors.Is(ctx.Err(), context.DeadlineExceeded)
		}
	}
}
