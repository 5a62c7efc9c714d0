package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/claude"
	"github.com/acp-bridge/acp-bridge/adapter/conn"
	"github.com/acp-bridge/acp-bridge/convert"
)

// prompt is one session/prompt request.
type prompt struct {
	blocks []block
	words  string // the prompt as the answer to a question
	// stop is closed when the prompt was cancelled.
	stop chan struct{}
	// done gets how the prompt ended, once.
	done chan ending
	// before is closed when the prompt before this one has left the line; nil if
	// there is none. left is closed when this one has.
	before <-chan struct{}
	left   chan struct{}

	// The rest is guarded by session.mu.

	id     string // by which the CLI names it
	handed bool   // the CLI has it, or the question that it answers
	// moved is closed when the prompt is handed on or leaves the line.
	moved   chan struct{}
	started bool // the CLI has begun to work on it
	dropped bool // the CLI gave it up before that
	refused bool // for good
	ended   bool
}

type ending struct {
	response acp.PromptResponse
	err      error
	again    bool // no ending: the CLI gave the prompt back unread
}

func stopped(reason acp.StopReason) ending {
	return ending{response: acp.PromptResponse{StopReason: reason}}
}

func (p *prompt) cancelled() bool { return closed(p.stop) }

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
		id: claude.NewSessionID(), blocks: blocks, words: promptText(r.Prompt),
		stop: make(chan struct{}), done: make(chan ending, 1), left: make(chan struct{}), moved: make(chan struct{}),
	}
	s.enqueue(p)
	return func() (any, error) {
		defer s.leaveLine(p) // also after a panic
		e := s.run(p)
		if p.before != nil {
			<-p.before // prompts end in the order in which they came
		}
		if e.err != nil {
			return nil, e.err
		}
		return e.response, nil
	}, nil
}

var errEmptyPrompt = invalid("the prompt is empty")

// enqueue puts a prompt in line. A prompt that comes while a question is in
// front of the user supersedes it. The next one does not, although the question
// may not be gone yet: it would take the first along.
func (s *session) enqueue(p *prompt) {
	s.mu.Lock()
	superseded := s.asks() && s.turn != nil && !s.turn.cancelled
	s.mu.Unlock()
	if superseded {
		s.cancelAll()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.line); n > 0 {
		p.before = s.line[n-1].left
	}
	s.line = append(s.line, p)
}

// leaveLine ends a prompt's place in line.
func (s *session) leaveLine(p *prompt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.line, p)
	s.line = slices.Delete(s.line, i, i+1)
	close(p.left)
	if !p.handed {
		close(p.moved)
	}
}

// hand notes that a prompt is not in the session's hands any more. mu is held.
func (p *prompt) hand() {
	p.handed = true
	close(p.moved)
}

// giveBack makes a prompt wait again that the CLI gave up unread. mu is held.
func (p *prompt) giveBack() {
	p.id = claude.NewSessionID() // the CLI is done with the old one
	p.handed, p.started, p.dropped = false, false, false
	p.moved = make(chan struct{})
	p.done <- ending{again: true}
}

// firstWaiting is the first prompt in line that is not handed on. mu is held.
func (s *session) firstWaiting() *prompt {
	for _, p := range s.line {
		if !p.handed {
			return p
		}
	}
	return nil
}

// waitFirst waits until no other prompt waits before this one. It reports false
// when the prompt was cancelled meanwhile.
func (s *session) waitFirst(p *prompt) bool {
	for {
		s.mu.Lock()
		first := s.firstWaiting()
		moved := first.moved
		s.mu.Unlock()
		if first == p {
			return !p.cancelled()
		}
		select {
		case <-moved:
		case <-p.stop:
			return false
		}
	}
}

// run takes a prompt from its place in line to its end.
func (s *session) run(p *prompt) ending {
	for {
		if !s.waitFirst(p) {
			return stopped(acp.StopReasonCancelled)
		}
		if e := s.attempt(p); !e.again {
			return e
		}
	}
}

func (s *session) attempt(p *prompt) ending {
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
	for starts := 0; starts < maxStarts; {
		if !s.waitOpen(p) {
			return convert.ErrCancelled
		}
		if s.isDown() {
			starts++
			if err := s.startFor(p); err != nil {
				return err
			}
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

// isDown reports whether there is no process, and nothing left of one.
func (s *session) isDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc == nil && s.turn == nil
}

// waitOpen waits until the CLI can take the prompt. It reports false when the
// prompt was cancelled meanwhile.
func (s *session) waitOpen(p *prompt) bool {
	for {
		s.mu.Lock()
		busy := s.busy(p)
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

// busy returns nil if the CLI can take a prompt: when it works on nothing, or on
// a turn that the prompt can steer. An interrupt must have been seen: one that
// comes late would hit this prompt. Otherwise a change closes what it returns.
// mu is held.
func (s *session) busy(p *prompt) <-chan struct{} {
	t := s.turn
	first := s.firstWaiting()
	switch {
	case first != p: // an earlier one is to be sent again
		return first.moved
	case t == nil:
		return s.interrupting
	case t.cancelled || t.proc != s.proc || s.parked != nil || s.interrupting != nil:
		return t.over
	case !closed(t.begun):
		return t.begun
	case !s.steers:
		return t.over
	}
	return nil
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// startFor starts the CLI. A cancel of the prompt ends the attempt.
func (s *session) startFor(p *prompt) error {
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
	if err := s.start(ctx); err != nil {
		return err
	}
	s.refresh()
	return nil
}

// begin gives the prompt to the CLI, which puts it into the running turn at the
// next step, or makes a turn of it. It reports false if the CLI cannot take it
// any more.
func (s *session) begin(p *prompt) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p.cancelled():
		return false, convert.ErrCancelled
	case s.proc != nil && s.proc == s.givenUp:
		return false, claude.ErrExited
	case s.proc == nil || s.busy(p) != nil:
		return false, nil
	}
	if err := s.proc.PromptAs(p.id, p.blocks); err != nil {
		return false, err
	}
	p.hand()
	if s.turn == nil {
		s.turn = s.newTurn()
		s.turn.owner = p
	} else {
		s.turn.steered = append(s.turn.steered, p)
		s.turn.queued = true
	}
	s.turn.ids = append(s.turn.ids, p.id)
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

// finish ends the prompts that the turn belongs to, if there are any. mu of the
// session is held.
func (t *turn) finish(e ending) {
	for _, p := range t.prompts() {
		p.ended = true
		p.done <- e
	}
	t.owner, t.steered = nil, nil
}
