package backend

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// WaitMethod is a request of ours about a session: it waits until what was open
// when the session ended has its answer and the agent is done with that. Its
// response is that of session/prompt.
const WaitMethod = "_acp-bridge/wait"

// Settled is a question that somebody has settled elsewhere, who is named for
// people.
type Settled interface {
	adapter.Asking
	By() string
}

// reasking is what was open when the session ended, and is asked again.
type reasking struct {
	calls []convert.Call
	shown string        // behind their ids, for an editor that shows them as they ended
	began time.Time     // before the transcript was read
	ended chan struct{} // closed when the agent is done with the answers
	// reason and err say how, then.
	reason acp.StopReason
	err    error
}

// unanswered finds the questions that a conversation ends with. One that the user
// has dismissed is none of them.
func (s *conversation) unanswered(ctx context.Context, path string) *reasking {
	r := &reasking{shown: "-" + life.UUID()[:8], began: time.Now(), ended: make(chan struct{}), reason: acp.StopReasonEndTurn}
	t, err := transcript.Open(ctx, path)
	if err != nil {
		return r
	}
	defer t.Close()
	notes := s.agent.notes(s.env)
	for _, q := range t.Questions() {
		note := notes.of(s.cliID(), q.ToolUseID)
		if note == dismissed || (q.How == transcript.Rejected || q.How == transcript.Refused) && note != leftOpen {
			continue
		}
		call, err := convert.Parse(q.Input, convert.Limits{})
		if err != nil {
			s.agent.log.Info("a question that was open cannot be asked again", "session", s.id, "call", q.ToolUseID, "err", err)
			continue
		}
		call.Session, call.ID, call.Name = s.id, q.ToolUseID, questionTool
		r.calls = append(r.calls, call)
	}
	return r
}

// meta tells the editor that a question is about to be asked again.
func (r *reasking) meta() map[string]any {
	if len(r.calls) == 0 {
		return nil
	}
	return map[string]any{"acp-bridge": map[string]any{"waitingFor": r.calls[0].ID + r.shown}}
}

// reask asks what was open once more, from the first question, and gives the
// answers to the CLI as a prompt: it has closed the calls.
func (s *conversation) reask(r *reasking) {
	if len(r.calls) == 0 {
		close(r.ended)
		return
	}
	go func() {
		defer close(r.ended)
		if before, ok := s.agent.reasks.Swap(s.id, r); ok { // the editor has opened the session anew
			<-before.(*reasking).ended // it lets go of what it could not give to the agent
		}
		defer s.agent.reasks.CompareAndDelete(s.id, r)
		a := &answers{outcomes: make([]convert.Outcome, len(r.calls)), settled: make([]Settled, len(r.calls)), used: make([]func(), len(r.calls))}
		var open []int
		for i, c := range r.calls {
			found, release, another := s.meanwhile(c, r.began)
			defer release()
			if another {
				s.givenByAnother(c)
				continue
			}
			if found != nil {
				a.settled[i] = found
				a.outcomes[i], _ = found.Wait()
				how := a.outcomes[i].Status.String()
				s.out.Notice(false, "A question was "+how+" while the session was closed",
					"\n\nThis question was "+how+" by "+clean.Line(found.By())+" while the session was closed: "+clean.Line(c.Questions[0].Text)+"\n\n")
				continue
			}
			open = append(open, i)
		}
		s.askOpen(r, open, a)
		r.reason, r.err = s.conclude(r.calls, a)
		a.said()
	}()
}

// answers are what was said to the calls of a reasking, each in its place.
type answers struct {
	outcomes []convert.Outcome
	settled  []Settled // elsewhere; nil for those that were asked here
	used     []func()  // say of those that the agent has the answer
	last     string    // the request that was answered last
	said     func()    // lets its prompt go on, or end; to be called when the agent has the words
}

// askOpen asks the calls that nobody has settled, and returns when they are. The last
// of them is not over before said is called: what the agent does with the answers is of
// the prompt that gave it.
func (s *conversation) askOpen(r *reasking, open []int, a *answers) {
	over, last := make(chan struct{}), make(chan string, 1)
	a.said = sync.OnceFunc(func() { close(over) })
	if len(open) == 0 {
		return
	}
	s.out.Notice(false, "A question was still open when the session ended, and is asked again", "\n\nThis was still open when the session ended, and is asked again.\n\n")
	var left atomic.Int32
	left.Store(int32(len(open)))
	for _, i := range open {
		id := "reask:" + r.calls[i].ID
		a.used[i] = s.out.AskAgain(id, r.calls[i].ID+r.shown, r.calls[i], func(o convert.Outcome) bool {
			a.outcomes[i] = o
			if left.Add(-1) == 0 {
				last <- id
				select {
				case <-over:
				case <-s.ctx.Done():
				}
			}
			return false // the agent has it later
		})
	}
	a.last = <-last
}

func (s *conversation) givenByAnother(c convert.Call) {
	s.out.Notice(false, "A question was answered, and another acp-bridge gives the answer to the agent",
		"\n\nThis question was answered. Another acp-bridge that has this session open gives it to the agent: "+clean.Line(c.Questions[0].Text)+"\n\n")
}

// openFor is how long a question is open before that is noted: nobody has read it, and the
// CLI has not written it down before.
const openFor = time.Second

// notesOpen notes of a question that it is open, as long as it is. Whoever is killed
// meanwhile leaves the note. What is left open when it ends keeps its note.
func (s *conversation) notesOpen(call string) (ends func(leftOpen bool)) {
	var mu sync.Mutex
	noted, ended := false, false
	session := s.cliID()
	note := func() {
		if !noted {
			noted = true
			s.agent.notes(s.env).keep(session, call, leftOpen)
		}
	}
	timer := time.AfterFunc(openFor, func() {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			note()
		}
	})
	return func(left bool) {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		ended = true
		if left {
			note()
		} else if noted {
			s.agent.notes(s.env).remove(session, call)
		}
	}
}

// meanwhile is a question that was settled elsewhere while nobody was here. It is this
// process's alone until release is called; another says that it is that of another one,
// or was.
func (s *conversation) meanwhile(c convert.Call, began time.Time) (found Settled, release func(), another bool) {
	release = func() {}
	notes := s.agent.notes(s.env)
	if s.agent.opts.Meanwhile != nil {
		found = s.agent.opts.Meanwhile(s.ctx, c)
	}
	if found != nil {
		free, ok := notes.lock(s.cliID(), c.ID)
		if !ok {
			return nil, release, true
		}
		release = free
	}
	if notes.givenSince(began, s.cliID(), c.ID) { // looked at last: whoever gives it notes that and then lets go
		return nil, release, true
	}
	return found, release, false
}

// deliver hands over what was settled elsewhere, all of it with one use.
func deliver(settled []Settled, use func() error) error {
	for _, one := range settled {
		if next := use; one != nil {
			use = func() error { return one.Deliver(next) }
		}
	}
	return use()
}

// conclude gives the CLI what was answered, and waits for its turn. What another process
// gives it, on another machine, is left out.
func (s *conversation) conclude(calls []convert.Call, a *answers) (acp.StopReason, error) {
	if reason, err := s.give(calls, a); !errors.Is(err, life.ErrTaken) {
		return reason, err
	}
	for i, one := range a.settled {
		if one != nil {
			s.givenByAnother(calls[i])
			a.outcomes[i], a.settled[i] = convert.Outcome{}, nil
		}
	}
	return s.give(calls, a)
}

// give is conclude with all that was answered. Until the model has the answers nothing
// says so: whoever loads the session next asks again.
func (s *conversation) give(calls []convert.Call, a *answers) (acp.StopReason, error) {
	notes := s.agent.notes(s.env)
	var said strings.Builder
	var answered []int
	reason := acp.StopReasonEndTurn
	for i, c := range calls {
		switch o := a.outcomes[i]; o.Status {
		case convert.Answered:
			answered = append(answered, i)
			writeAnswers(&said, c, o.Answers)
		case convert.Cancelled, convert.Declined:
			notes.keep(s.cliID(), c.ID, dismissed)
			reason = acp.StopReasonCancelled
		}
	}
	if len(answered) == 0 {
		return reason, deliver(a.settled, func() error { return nil })
	}
	words := "You asked me this before the session was interrupted. My answers:\n\n" + said.String() + "\nGo on with them."
	var turn *saidTurn
	err := deliver(a.settled, func() error {
		s.out.Update(acp.SessionUpdate{UserMessageChunk: &acp.SessionUpdateUserMessageChunk{Content: acp.TextBlock(words), MessageId: acp.Ptr(life.UUID())}})
		turn = s.say(a.last, words)
		a.said()
		return turn.heard()
	})
	if err == nil {
		for _, i := range answered {
			notes.keep(s.cliID(), calls[i].ID, given)
			if a.used[i] != nil {
				a.used[i]()
			}
		}
	}
	if turn == nil {
		return reason, err
	}
	return turn.end()
}

// saidTurn is a turn of words that we gave the CLI.
type saidTurn struct {
	begun  chan struct{} // the model has them
	ended  chan struct{}
	reason acp.StopReason
	err    error
}

func (s *conversation) say(request, words string) *saidTurn {
	t := &saidTurn{begun: make(chan struct{}), ended: make(chan struct{})}
	ended := s.out.Say(request, []block{text(words)}, t.begun)
	go func() {
		defer close(t.ended)
		t.reason, t.err = ended()
	}()
	return t
}

var errNotHeard = errors.New("the turn was cancelled before the model had the answers")

// heard returns nil when the model has the words.
func (t *saidTurn) heard() error {
	select {
	case <-t.begun:
		return nil
	case <-t.ended:
	}
	select {
	case <-t.begun:
		return nil
	default:
	}
	if t.err == nil && t.reason == acp.StopReasonCancelled {
		return errNotHeard
	}
	return t.err
}

func (t *saidTurn) end() (acp.StopReason, error) {
	<-t.ended
	return t.reason, t.err
}

// waited answers [WaitMethod].
func (s *conversation) waited(ctx context.Context) (any, error) {
	if s.reasks == nil {
		return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
	}
	select {
	case <-s.reasks.ended:
		return acp.PromptResponse{StopReason: s.reasks.reason}, s.reasks.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// writeAnswers says what was asked and what the user said to it.
func writeAnswers(b *strings.Builder, c convert.Call, answers []convert.Answer) {
	for i, q := range c.Questions {
		said := "no answer"
		if a := answers[i]; !a.Empty() || a.Note != "" {
			said = convert.WithNote(convert.Join(a.Items()), a.Note)
		}
		b.WriteString("- " + clean.Line(q.Text) + "\n  " + strings.ReplaceAll(said, "\n", "\n  ") + "\n")
	}
}
