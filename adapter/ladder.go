package adapter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Rung is a way to ask. A client that cannot answer on one is asked on the
// next.
type Rung int

const (
	// Form asks all questions of a call in one elicitation form.
	Form Rung = iota + 1
	// Permission asks each question as a permission request.
	Permission
	// Conversation asks each question as a message; the user's next message is
	// the answer.
	Conversation
)

// String returns the name that the rung has in flags and logs.
func (r Rung) String() string {
	switch r {
	case Form:
		return "form"
	case Permission:
		return "permission"
	case Conversation:
		return "message"
	}
	return "auto"
}

// usable reports whether a rung can be tried in this session.
func (a *Adapter) usable(s *session, r Rung) bool {
	if r < a.opts.First || s.isBroken(r) {
		return false
	}
	switch r {
	case Form:
		_, ok := a.client.(Former)
		return ok && a.opts.Forms
	case Permission:
		return !a.opts.Unseen || a.opts.First == Permission
	case Conversation:
		_, ok := a.client.(Talker)
		return ok
	}
	return true
}

// ask takes the call through the rungs. The zero Outcome of a rung means that
// the client gave no valid reply there.
func (a *Adapter) ask(e *entry, s *session) convert.Outcome {
	announced := false
	if a.usable(s, Form) {
		o, err := a.askForm(e)
		if err == nil {
			return o
		}
		announced = true
		a.stepDown(e, s, Form, err)
	}
	answers := make([]convert.Answer, len(e.call.Questions))
	for q := range e.call.Questions {
		a.announce(e, q, announced && q == 0)
		answer, o := a.askOne(e, s, q)
		if o.Status != convert.Answered {
			a.conclude(e, q, a.settled(e, o))
			return o
		}
		a.end(e, convert.Complete(e.call, q, answer))
		answers[q] = answer
	}
	return convert.Outcome{Status: convert.Answered, Answers: answers}
}

// conclude ends the tool calls of a call that ended at question q. Answers
// given by code count for the questions before it, too.
func (a *Adapter) conclude(e *entry, q int, o convert.Outcome) {
	if o.Status != convert.Answered {
		a.end(e, convert.Fail(e.call, q, o))
		return
	}
	for i := range min(q+1, len(o.Answers)) {
		a.end(e, convert.Complete(e.call, i, o.Answers[i]))
	}
}

// settled is how the call ends, which code may have decided meanwhile.
func (a *Adapter) settled(e *entry, o convert.Outcome) convert.Outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.forced != nil {
		return *e.forced
	}
	return o
}

// stepDown remembers that a rung does not work in this session.
func (a *Adapter) stepDown(e *entry, s *session, from Rung, why error) {
	s.breaks(from)
	a.log.Warn("question goes to the next rung", "session", e.call.Session, "call", e.call.ID, "rung", from.String(), "why", why)
}

// askOne asks one question on the best rung below the form.
func (a *Adapter) askOne(e *entry, s *session, q int) (convert.Answer, convert.Outcome) {
	asking := convert.Ask(e.call, q, convert.PermissionOptions{Title: a.opts.Title, Aware: a.opts.Aware})
	var why error
	if a.usable(s, Permission) {
		o, err := a.askPermission(e, s, q, asking)
		if err == nil {
			return asking.Answer(), o
		}
		why = err
		a.stepDown(e, s, Permission, err)
	}
	if a.usable(s, Conversation) {
		o := a.askConversation(e, q, asking)
		return asking.Answer(), o
	}
	if why == nil {
		why = errNoRung
	}
	return convert.Answer{}, convert.Outcome{Status: convert.Failed, Reason: "The user could not be asked: " + why.Error()}
}

var errNoRung = errors.New("the client has no way to answer questions")

// refused says in words what an error reply to a request means.
func refused(what string, err error) error {
	var re *acp.RequestError
	if errors.As(err, &re) {
		return fmt.Errorf("the client refused %s: %s (%d)", what, clean.Line(re.Message), re.Code)
	}
	return err
}

var answered = convert.Outcome{Status: convert.Answered}

// errTooFast is the guard's reason to distrust a reply.
var errTooFast = errors.New("the reply came faster than a person could have read the question")

// tooFast reports whether the guard distrusts a reply that came now.
func (a *Adapter) tooFast(asked time.Time) bool {
	return a.opts.Guard && a.opts.Now().Sub(asked) < GuardTime
}

// askPermission goes through the rounds of one question. An error means that
// the client gave no valid reply.
func (a *Adapter) askPermission(e *entry, s *session, q int, asking *convert.Asking) (convert.Outcome, error) {
	a.asking(e, q, Permission)
	for {
		start := a.opts.Now()
		resp, err := a.client.RequestPermission(e.ctx, asking.Request())
		if err != nil {
			if o := a.ended(e.ctx, err); o.Status != 0 {
				return o, nil
			}
			return convert.Outcome{}, refused("the request", err)
		}
		if asking.Round() == 1 && a.tooFast(start) && !convert.HasText(resp) {
			return convert.Outcome{}, errTooFast
		}
		step, err := asking.Reply(resp)
		switch {
		case err != nil:
			return convert.Outcome{}, err
		case step == convert.Done:
			return answered, nil
		case step == convert.Dismissed:
			return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}, nil
		case step == convert.NeedText:
			return a.askText(e, s, q, asking), nil
		}
	}
}

// askText gets the text for Other from the conversation. Where there is none,
// the answer is the word the user picked.
func (a *Adapter) askText(e *entry, s *session, q int, asking *convert.Asking) convert.Outcome {
	if a.usable(s, Conversation) {
		return a.askConversation(e, q, asking)
	}
	if len(asking.Question().Options) == 0 {
		return convert.Outcome{Status: convert.Failed, Reason: "the client cannot send text, and the question has no options"}
	}
	asking.AddText("Other")
	return answered
}

func (a *Adapter) askConversation(e *entry, q int, asking *convert.Asking) convert.Outcome {
	a.asking(e, q, Conversation)
	talker := a.client.(Talker)
	text := convert.Message(*asking.Question(), asking.Picked())
	for {
		reply, err := talker.AskInConversation(e.ctx, Message{e.call.Session, convert.ToolCallID(e.call, q), text})
		if err != nil {
			o := a.ended(e.ctx, err)
			if o.Status == 0 {
				o = convert.Outcome{Status: convert.Failed, Reason: err.Error()}
			}
			return o
		}
		said := convert.ReadMessage(*asking.Question(), reply)
		switch {
		case said.Cancel:
			return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
		case said.Unclear != "":
			text = said.Unclear + "\n\n" + convert.Message(*asking.Question(), asking.Picked())
			continue
		case len(said.Picks) > 0, len(asking.Picked()) > 0 && strings.EqualFold(said.Text, "done"):
			asking.AddPicks(said.Picks)
		default:
			asking.AddText(said.Text)
		}
		return answered
	}
}

// askForm asks all questions at once. An error means that the client gave no
// valid reply.
func (a *Adapter) askForm(e *entry) (convert.Outcome, error) {
	a.asking(e, 0, Form)
	a.updateSoon(e, convert.AnnounceAll(e.call))
	start := a.opts.Now()
	reply, err := a.client.(Former).CreateElicitation(e.ctx, convert.Form(e.call))
	var o convert.Outcome
	if err != nil {
		if o = a.ended(e.ctx, err); o.Status == 0 {
			return o, refused("the form", err)
		}
	} else if o, err = convert.FormOutcome(e.call, reply); err != nil {
		return o, err
	} else if a.tooFast(start) && !byHand(o.Answers) {
		return convert.Outcome{}, errTooFast
	}
	if end := a.settled(e, o); end.Status == convert.Answered {
		a.end(e, convert.CompleteAll(e.call, end.Answers))
	} else {
		a.end(e, convert.FailAll(e.call, end))
	}
	return o, nil
}

// byHand reports whether answers hold words or several picks for one question,
// which no client sends by itself.
func byHand(answers []convert.Answer) bool {
	return slices.ContainsFunc(answers, func(a convert.Answer) bool {
		return a.Text != "" || a.Note != "" || len(a.Selected) > 1
	})
}

// announce shows a question's tool call. The question itself comes behind it, or
// the end of the tool call.
func (a *Adapter) announce(e *entry, q int, again bool) {
	if again {
		a.updateSoon(e, convert.Reannounce(e.call, q, a.opts.Title))
		return
	}
	a.updateSoon(e, convert.Announce(e.call, q, a.opts.Title))
}
