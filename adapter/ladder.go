package adapter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/seen"
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
	// Elsewhere does not ask the client at all: the answer comes from the desk.
	Elsewhere
)

// String returns the name that the rung has in flags and logs.
func (r Rung) String() string { return cmp.Or(rungs[r], "auto") }

var rungs = map[Rung]string{Form: "form", Permission: "permission", Conversation: "message", Elsewhere: "hub"}

// usable reports whether a rung can be tried in this session.
func (a *Adapter) usable(e *entry, r Rung) bool {
	if _, broken := a.broken.Load(rungOf{e.call.Session, r}); broken || r < a.opts.First {
		return false
	}
	switch r {
	case Form:
		forms, _ := a.elicits()
		return forms && a.hasForms()
	case Permission:
		return !a.opts.Unseen || a.opts.First == Permission
	case Conversation:
		_, ok := a.client.(Talker)
		return ok
	}
	return true
}

// elicits reports what the client says that it can show.
func (a *Adapter) elicits() (forms, urls bool) {
	if a.declared == nil {
		return a.opts.Forms, a.opts.URLs
	}
	caps, _ := a.declared.ClientCapabilities()
	return caps.Elicitation != nil && caps.Elicitation.Form != nil, caps.Elicitation != nil && caps.Elicitation.Url != nil
}

func (a *Adapter) hasForms() bool {
	_, ok := a.client.(Former)
	return ok
}

// takesForm reports whether the call can be asked in one piece.
func (a *Adapter) takesForm(e *entry) bool {
	if e.form != nil && e.form.IsURL() {
		_, urls := a.elicits()
		return a.opts.First <= Form && urls && a.hasForms()
	}
	return a.usable(e, Form)
}

// ask takes the call through the rungs and settles it. The zero Outcome of a
// rung means that the client gave no valid reply there.
func (a *Adapter) ask(e *entry) (stands convert.Outcome, first bool) {
	secret := e.form != nil && e.form.Secret()
	if a.opts.First == Elsewhere && !secret {
		return a.askElsewhere(e)
	}
	announced, reason := false, secretReason
	if a.takesForm(e) {
		o, err := a.askForm(e)
		if err == nil {
			return a.concludeForm(e, o)
		}
		announced, reason = true, secretUnfit
		a.stepDown(e, Form, err)
	}
	if secret {
		a.announce(e, 0, announced)
		return a.conclude(e, 0, convert.Outcome{Status: convert.Failed, Reason: reason})
	}
	answers := make([]convert.Answer, len(e.call.Questions))
	for q := range e.call.Questions {
		a.announce(e, q, announced && q == 0)
		answer, o := a.askFitting(e, q)
		answers[q] = answer
		switch {
		case o.Status != convert.Answered:
			return a.conclude(e, q, o)
		case q == len(answers)-1:
			o.Answers = answers
			return a.conclude(e, q, o)
		}
		a.end(e, ask.Updates(e.call).Complete(q, answer))
	}
	panic("unreachable: a call has questions")
}

// askElsewhere shows what is asked, and waits for the desk.
func (a *Adapter) askElsewhere(e *entry) (stands convert.Outcome, first bool) {
	a.update(e, a.announcement(e, 0, false)) // nothing comes behind it until it is answered
	e.asking(0, Elsewhere)
	select {
	case <-e.ctx.Done():
	case <-a.closed():
	}
	return a.concludeForm(e, a.ended(e.ctx, io.ErrClosedPipe))
}

// closed is closed when the connection is gone, if the client can tell.
func (a *Adapter) closed() <-chan struct{} {
	if c, ok := a.client.(Closer); ok {
		return c.Done()
	}
	return nil
}

// conclude settles a call that ended at question q, and then ends its tool
// calls. Answers given at the desk count for the questions before it, too.
func (a *Adapter) conclude(e *entry, q int, o convert.Outcome) (stands convert.Outcome, first bool) {
	stands, first = e.settle(o)
	if stands.Status != convert.Answered {
		a.end(e, ask.Updates(e.call).Fail(q, stands))
		return stands, first
	}
	from := 0
	if first {
		from = q
	}
	shown := e.shown(stands.Answers)
	for i := from; i < len(shown); i++ {
		if i > q { // answered at the desk before it was asked here
			a.announce(e, i, false)
		}
		a.end(e, ask.Updates(e.call).Complete(i, shown[i]))
	}
	return stands, first
}

// concludeForm is conclude for a call that was asked as a form.
func (a *Adapter) concludeForm(e *entry, o convert.Outcome) (stands convert.Outcome, first bool) {
	stands, first = e.settle(o)
	if stands.Status == convert.Answered {
		a.end(e, ask.Updates(e.call).CompleteAll(e.shown(stands.Answers)))
	} else {
		a.end(e, ask.Updates(e.call).FailAll(stands))
	}
	return stands, first
}

// shown are answers without what nobody else may see.
func (e *entry) shown(answers []convert.Answer) []convert.Answer {
	if e.form == nil {
		return answers
	}
	return e.form.Shown(answers)
}

// asking tells the desk how a question is being asked.
func (e *entry) asking(question int, r Rung) {
	e.rung = r
	e.ticket.Asking(question, r.String())
}

// noticer is a [Client] that can tell its user something about a question.
type noticer interface{ Notice(title string) }

// stepDown remembers that a rung does not work in this session. A value that
// does not fit its field, or an address that is not opened, says nothing about
// other forms.
func (a *Adapter) stepDown(e *entry, from Rung, why error) {
	if !errors.Is(why, convert.ErrBadAnswer) && (e.form == nil || !e.form.IsURL() || from != Form) {
		a.broken.Store(rungOf{e.call.Session, from}, true)
	}
	what := "question goes to the next rung"
	if errors.Is(why, errTooFast) {
		what = "This editor answered by itself; asking in the chat instead."
		if n, ok := a.client.(noticer); ok {
			n.Notice(what)
		}
	} else if n, ok := a.client.(noticer); ok {
		n.Notice("This question could not be shown as a " + from.String() + " here; it is asked another way.")
	}
	a.log.Warn(what, "session", e.call.Session, "name", e.ticket.Item().Name, "call", e.call.ID, "rung", from.String(), "why", why)
}

// maxTries is how often answers that do not fit are taken before a question is given up.
const maxTries = 3

// askFitting asks one question until the answer fits it, and its field, if it is one of
// a form.
func (a *Adapter) askFitting(e *entry, q int) (convert.Answer, convert.Outcome) {
	call := e.call
	for try := 1; ; try++ {
		answer, o := a.askOne(e, call, q)
		err := call.Questions[q].Fits(answer)
		if err == nil && e.form != nil {
			err = e.form.Check(q, answer)
		}
		if o.Status != convert.Answered || err == nil {
			return answer, o
		}
		if try == maxTries {
			// Without the answer: reasons are logged.
			return convert.Answer{}, convert.Outcome{Status: convert.Failed, Reason: "No answer fitted: expected " + cmp.Or(e.form, new(ask.FormCall)).Expects(q)}
		}
		call.Questions = slices.Clone(e.call.Questions)
		call.Questions[q].Text = remarked(err.Error(), call.Questions[q].Text)
	}
}

// askOne asks one question on the best rung below the form.
func (a *Adapter) askOne(e *entry, call convert.Call, q int) (convert.Answer, convert.Outcome) {
	asking := ask.New(call, q, ask.Options{Title: a.opts.Title, Aware: a.opts.Aware, Appends: a.opts.Appends})
	var why error
	if a.usable(e, Permission) {
		o, err := a.askPermission(e, q, asking)
		if err == nil {
			return asking.Answer(), o
		}
		why = err
		a.stepDown(e, Permission, err)
	}
	if a.usable(e, Conversation) {
		o := a.askConversation(e, q, asking)
		return asking.Answer(), o
	}
	return convert.Answer{}, convert.Outcome{Status: convert.Failed, Reason: "The user could not be asked: " + Words(cmp.Or(why, errNoRung))}
}

// secretReason is why a secret is not asked for: an option, a tool call or a
// message is no place to write one.
const secretReason = "This asks for a secret, and the editor has no form to take one"

// secretUnfit is why one has no answer although there was a form.
const secretUnfit = "This asks for a secret, and the editor's form brought no answer that fits"

var errSecretAtDesk = fmt.Errorf("%w: it asks for a secret, which only the editor's form takes", convert.ErrBadAnswer)

var errNoRung = errors.New("the client has no way to answer questions")

// refused says in words what an error reply to a request means.
func refused(what string, err error) error {
	if re, ok := errors.AsType[*acp.RequestError](err); ok {
		return fmt.Errorf("the client refused %s: %s (%d)", what, clean.Line(re.Message), re.Code)
	}
	return err
}

var (
	answered = convert.Outcome{Status: convert.Answered}
	declined = convert.Outcome{Status: convert.Declined, Reason: convert.DeclineMessage}
)

// askPermission goes through the rounds of one question. An error means that
// the client gave no valid reply.
func (a *Adapter) askPermission(e *entry, q int, asking *ask.Asking) (convert.Outcome, error) {
	e.asking(q, Permission)
	if text := asking.Beside(); text != "" {
		a.update(e, acp.UpdateAgentMessageText("\n\n"+text+"\n\n"))
	}
	for {
		// Who has picked one option picks the next ones quickly.
		ctx, showing := a.showing(e.ctx, a.opts.Guard && asking.Round() == 1)
		request := asking.Request()
		request.Meta = marked(e.ticket, request.Meta)
		resp, err := a.client.RequestPermission(ctx, request)
		if err != nil {
			if o := a.ended(e.ctx, err); o.Status != 0 {
				return o, nil
			}
			return convert.Outcome{}, refused("the request", err)
		}
		if !byPerson(e.ctx, showing, ask.ByHand(resp)) {
			return a.ended(e.ctx, errTooFast), tooFast(e)
		}
		step, err := asking.Reply(resp)
		switch {
		case err != nil:
			return convert.Outcome{}, err
		case step == ask.Done:
			return answered, nil
		case step == ask.Dismissed:
			return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}, nil
		case step == ask.Refused:
			return declined, nil
		case step == ask.NeedText:
			return a.askText(e, q, asking), nil
		}
	}
}

// askText gets the text for Other from the conversation. Where there is none,
// the answer is the word the user picked, which no form takes.
func (a *Adapter) askText(e *entry, q int, asking *ask.Asking) convert.Outcome {
	if a.usable(e, Conversation) {
		return a.askConversation(e, q, asking)
	}
	switch {
	case len(asking.Question().Options) == 0:
		return convert.Outcome{Status: convert.Failed, Reason: "the client cannot send text, and the question has no options"}
	case e.form != nil:
		return convert.Outcome{Status: convert.Failed, Reason: "the client cannot send text"}
	}
	asking.AddText("Other")
	return answered
}

func (a *Adapter) askConversation(e *entry, q int, asking *ask.Asking) convert.Outcome {
	e.asking(q, Conversation)
	talker := a.client.(Talker)
	text := e.call.SubAgent.Behind(asking.Message())
	means := func(text string) bool {
		said := asking.Reads(text)
		return said.Cancel || said.Unclear != "" || len(said.Picks) > 0
	}
	for hasty := 0; ; {
		ctx, showing := a.showing(e.ctx, a.opts.GuardPrompts)
		reply, err := talker.AskInConversation(ctx, Message{e.call.Session, ask.Updates(e.call).IDOf(q), text, means})
		if err != nil {
			o := a.ended(e.ctx, err)
			if o.Status == 0 {
				o = convert.Outcome{Status: convert.Failed, Reason: Words(err)}
			}
			return o
		}
		showing.Replied(seen.Prompt)
		if !showing.Counts(e.ctx) {
			if hasty++; hasty == maxHasty {
				return convert.Outcome{Status: convert.Failed, Reason: hastyReason}
			}
			text = hastyRemark + "\n\n" + asking.Message()
			continue
		}
		hasty = 0
		step, unclear := asking.ReplyText(reply)
		switch {
		case unclear != "":
			text = unclear + "\n\n" + asking.Message()
		case step == ask.Dismissed:
			a.update(e, acp.UpdateAgentMessageText("Question dismissed.\n\n"))
			return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
		case step == ask.Refused:
			return declined
		default:
			return answered
		}
	}
}

// askForm asks all questions at once. An error means that the client gave no
// valid reply.
func (a *Adapter) askForm(e *entry) (convert.Outcome, error) {
	e.asking(0, Form)
	var o convert.Outcome
	var err error
	if e.form == nil {
		a.queueUpdate(e, ask.Updates(e.call).AnnounceAll())
		o, err = a.sendForm(e, ask.Form(e.call))
	} else {
		a.queueUpdate(e, e.form.Announce())
		request := e.form.Request()
		for range maxTries {
			o, err = a.sendForm(e, request)
			if !errors.Is(err, convert.ErrBadAnswer) {
				break
			}
			request.Message = remarked(err.Error(), e.form.Request().Message)
		}
	}
	return o, err
}

// sendForm shows a form once.
func (a *Adapter) sendForm(e *entry, request ask.FormRequest) (o convert.Outcome, err error) {
	ctx, showing := a.showing(e.ctx, a.opts.Guard)
	request.Meta = marked(e.ticket, request.Meta)
	reply, err := a.client.(Former).CreateElicitation(ctx, request)
	if err != nil {
		if o = a.ended(e.ctx, err); o.Status == 0 {
			return o, refused("the form", err)
		}
		return o, nil
	}
	var forServer json.RawMessage
	var ownWords bool
	if e.form == nil {
		o, err = ask.FormOutcome(e.call, reply)
		ownWords = byHand(o.Answers)
	} else {
		o, forServer, err = e.form.Read(reply)
		ownWords = e.form.ByHand(reply)
	}
	if err == nil && !byPerson(e.ctx, showing, ownWords) {
		return a.ended(e.ctx, errTooFast), tooFast(e)
	}
	e.reply = forServer
	return o, err
}

// announce shows a question's tool call. The question itself comes behind it, or
// the end of the tool call.
func (a *Adapter) announce(e *entry, q int, again bool) {
	a.queueUpdate(e, a.announcement(e, q, again))
}

// announcement is a question's tool call.
func (a *Adapter) announcement(e *entry, q int, again bool) acp.SessionUpdate {
	if again {
		return ask.Updates(e.call).Reannounce(q, a.opts.Title)
	}
	update := ask.Updates(e.call).Announce(q, a.opts.Title)
	if (a.opts.Appends || !a.usable(e, Permission)) && update.ToolCall != nil {
		// The question is in the request or the conversation, and what is here is shown, too.
		update.ToolCall.RawInput = nil
	}
	if a.opts.Appends && a.usable(e, Permission) && update.ToolCall != nil {
		update.ToolCall.Content = nil // the request has it
	}
	return update
}

// remarked puts what is wrong with an answer before the question that is asked
// again.
func remarked(wrong, text string) string {
	return strings.ToUpper(wrong[:1]) + wrong[1:] + ".\n\n" + text
}
