package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/claude"
	"github.com/acp-bridge/acp-bridge/adapter/conn"
	"github.com/acp-bridge/acp-bridge/convert"
)

// prompt is one session/prompt request.
type prompt struct {
	blocks []block
	words  string // the prompt as the answer to a question
	// ready is closed when the prompt is first in line.
	ready chan struct{}
	// stop is closed when the prompt was cancelled.
	stop chan struct{}
	// done gets how the prompt ended, once.
	done  chan ending
	ended bool // guarded by session.mu
}

type ending struct {
	response acp.PromptResponse
	err      error
}

func stopped(reason acp.StopReason) ending {
	return ending{response: acp.PromptResponse{StopReason: reason}}
}

func (p *prompt) cancelled() bool {
	select {
	case <-p.stop:
		return true
	default:
		return false
	}
}

// acceptPrompt puts a prompt in line. It runs in the order of arrival and does
// not block.
func (a *Agent) acceptPrompt(params json.RawMessage) (conn.Answer, error) {
	var r acp.PromptRequest
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, unreadable(err)
	}
	s, err := a.session(r.SessionId)
	if err != nil {
		return nil, err
	}
	blocks, err := promptBlocks(r.Prompt)
	if err != nil {
		return nil, err
	}
	if len(blocks) == 0 && !s.isParked() { // an empty reply shows a question again
		return nil, errEmptyPrompt
	}
	p := &prompt{
		blocks: blocks, words: promptText(r.Prompt),
		ready: make(chan struct{}), stop: make(chan struct{}), done: make(chan ending, 1),
	}
	s.enqueue(p)
	return func() (any, error) {
		defer s.leaveLine(p) // also after a panic
		e := s.run(p)
		if e.err != nil {
			return nil, e.err
		}
		return e.response, nil
	}, nil
}

var errEmptyPrompt = invalid("the prompt is empty")

// enqueue puts a prompt in line. A prompt that comes while a question is in
// front of the user supersedes it.
func (s *session) enqueue(p *prompt) {
	s.mu.Lock()
	superseded := len(s.asking) > 0
	s.mu.Unlock()
	if superseded {
		s.cancelAll()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = append(s.line, p)
	if len(s.line) == 1 {
		close(p.ready)
	}
}

// leaveLine lets the next prompt run.
func (s *session) leaveLine(p *prompt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.line, p)
	s.line = slices.Delete(s.line, i, i+1)
	if i == 0 && len(s.line) > 0 {
		close(s.line[0].ready)
	}
}

// run takes a prompt from its place in line to its end.
func (s *session) run(p *prompt) ending {
	select {
	case <-p.ready:
	case <-p.stop:
		<-p.ready // what was cancelled before it ran ends in order, too
		return stopped(acp.StopReasonCancelled)
	}
	if s.answerParked(p) {
		return s.await(p)
	}
	if err := s.takeDead(); err != nil {
		return ending{err: processError(err)}
	}
	if len(p.blocks) == 0 {
		return ending{err: errEmptyPrompt}
	}
	if err := s.send(p); err != nil {
		switch {
		case s.ctx.Err() != nil:
			return s.closedEnding()
		case p.cancelled():
			return stopped(acp.StopReasonCancelled)
		}
		return ending{err: processError(err)}
	}
	return s.await(p)
}

// maxStarts bounds how often the CLI is started for one prompt.
const maxStarts = 3

// send waits for the CLI, starts it if need be, and gives it the prompt.
func (s *session) send(p *prompt) error {
	for range maxStarts {
		if !s.waitIdle(p) {
			return convert.ErrCancelled
		}
		if err := s.ensureRunning(p); err != nil {
			return err
		}
		sent, err := s.begin(p)
		switch {
		case errors.Is(err, claude.ErrExited): // while it was idle: the prompt was not sent
			s.waitDrained(p)
		case sent || err != nil:
			return err
		}
	}
	return errors.New("Claude Code does not keep running: it ended each time it was started")
}

// waitIdle waits until the CLI works on nothing, and until it has seen every
// interrupt: one that comes late would hit this prompt. It reports false when
// the prompt was cancelled meanwhile.
func (s *session) waitIdle(p *prompt) bool {
	for {
		s.mu.Lock()
		busy := s.interrupting
		if s.turn != nil {
			busy = s.turn.over
		}
		s.mu.Unlock()
		if busy == nil {
			return !p.cancelled()
		}
		select {
		case <-busy:
		case <-p.stop:
			return false
		}
	}
}

// ensureRunning starts the CLI if it is not there. A cancel ends the attempt.
func (s *session) ensureRunning(p *prompt) error {
	if proc, _ := s.process(); proc != nil {
		return nil
	}
	ctx, started, err := s.agent.starting(s.ctx)
	if err != nil {
		return err
	}
	defer started()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return s.start(ctx)
}

// begin gives the prompt to the CLI. It reports false if the CLI is not there
// any more, or works on something that it began by itself.
func (s *session) begin(p *prompt) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p.cancelled():
		return false, convert.ErrCancelled
	case s.proc != nil && s.proc == s.doomed:
		return false, claude.ErrExited
	case s.proc == nil || s.turn != nil || s.interrupting != nil:
		return false, nil
	}
	if err := s.proc.Prompt(p.blocks); err != nil {
		return false, err
	}
	s.turn = s.newTurn()
	s.turn.owner = p
	s.prompted = true
	return true, nil
}

// waitDrained waits until a process that ends is gone.
func (s *session) waitDrained(p *prompt) {
	proc, drained := s.process()
	if proc == nil {
		return
	}
	select {
	case <-drained:
	case <-p.stop:
	}
}

func (s *session) await(p *prompt) ending {
	select {
	case e := <-p.done:
		return e
	case <-s.ctx.Done():
		return s.closedEnding()
	}
}

// closedEnding is how a prompt ends whose session was closed.
func (s *session) closedEnding() ending {
	if why := context.Cause(s.ctx); !errors.Is(why, errSessionClosed) {
		return ending{err: internal(why.Error())}
	}
	return stopped(acp.StopReasonCancelled)
}

// finish ends the prompt that the turn belongs to, if there is one. mu of the
// session is held.
func (t *turn) finish(e ending) {
	if t.owner != nil {
		t.owner.ended = true
		t.owner.done <- e
		t.owner = nil
	}
}

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
		if !s.seeOut(t, proc, interrupt) && s.doom(t, proc) {
			s.agent.log.Warn("Claude Code did not honour a cancel, its process is ended",
				"session", s.id, "after", s.agent.opts.CancelGrace.Round(time.Millisecond))
			proc.Kill()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		close(seen)
		if s.interrupting == seen { // else a later one, which is seen later
			s.interrupting = nil
		}
	}()
}

// doom gives a process up unless its turn has just ended after all: then it may
// have the next prompt already. No prompt goes to a process that is given up.
func (s *session) doom(t *turn, proc *claude.Process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != t {
		return false
	}
	s.doomed = proc
	return true
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
			if err := proc.Interrupt(ctx); err != nil {
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
