package ask

import (
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
)

// Step says where a question stands after a reply.
type Step int

const (
	// Done means that [Asking.Answer] holds the answer.
	Done Step = iota + 1
	// Again means that [Asking.Request] now returns the next round's request.
	Again
	// NeedText means that the user picked Other and the client sent no text:
	// it has to come on another way, see [Asking.ReplyText].
	NeedText
	// Dismissed means that the user cancelled the question.
	Dismissed
	// Refused means that the user declined the whole call.
	Refused
)

// Asking is one question on its way through permission requests: one for a
// single-select question, one round after the other for a multi-select
// question of a client that returns one pick at a time.
//
// It holds state and does no I/O. Send [Asking.Request], hand the response to
// [Asking.Reply], and go on as its Step says.
type Asking struct {
	call   convert.Call
	index  int
	opts   Options
	round  int   // from 1
	picked []int // positions, in option order
	typing bool  // the user picked Other, and only words are asked for
	answer convert.Answer
}

// New prepares question q of the call, which counts from 0.
func New(c convert.Call, q int, o Options) *Asking {
	return &Asking{call: c, index: q, opts: o, round: 1}
}

// Question is the question being asked.
func (a *Asking) Question() *convert.Question { return &a.call.Questions[a.index] }

// Round counts the requests, from 1.
func (a *Asking) Round() int { return a.round }

// Answer is the user's answer after [Done].
func (a *Asking) Answer() convert.Answer { return a.answer }

// Picked holds the positions of the options picked so far, in option order.
func (a *Asking) Picked() []int { return slices.Clone(a.picked) }

// Reply takes the client's response to the current request. An error wraps
// [convert.ErrProtocol]: the response says neither what the user picked nor that the
// user cancelled, and the Asking stays as it was.
func (a *Asking) Reply(resp acp.RequestPermissionResponse) (Step, error) {
	selected, cancelled := resp.Outcome.Selected, resp.Outcome.Cancelled
	switch {
	case selected != nil && cancelled == nil:
		reply, err := readReply(resp)
		if err != nil {
			return 0, err
		}
		return a.take(reply)
	case selected == nil && cancelled != nil && cancelled.Outcome == "cancelled":
		return Dismissed, nil
	case cancelled != nil:
		return 0, fmt.Errorf("%w: outcome %q is neither selected nor cancelled", convert.ErrProtocol, cancelled.Outcome)
	}
	return 0, fmt.Errorf("%w: no outcome", convert.ErrProtocol)
}

func (a *Asking) take(r reply) (Step, error) {
	if a.Question().MultiSelect {
		return a.takeMany(r)
	}
	if r.many && !slices.Equal(r.ids, []string{r.id}) {
		return 0, fmt.Errorf("%w: several options for a question that takes one", convert.ErrProtocol)
	}
	if r.id == OtherID && !a.Question().Closed {
		if r.text == "" {
			r.text, r.notes = r.notes, ""
		}
		if r.text == "" {
			a.typing = true
			return NeedText, nil
		}
		a.answer = convert.Answer{Text: r.text, Note: r.notes}
		return Done, nil
	}
	i, err := a.offered(r.id)
	if err != nil {
		return 0, err
	}
	return a.effect(i, r.words()), nil
}

// effect does what an option does that is picked alone. Words beside it are its note:
// whether it takes them, [convert.Question.Fits] says.
func (a *Asking) effect(i int, words string) Step {
	o := &a.Question().Options[i]
	a.answer = convert.Answer{Selected: []string{o.Label}, Note: words}
	switch {
	case words != "":
	case o.Effect == convert.EffectDecline:
		a.answer = convert.Answer{}
		return Refused
	case o.Effect == convert.EffectSkip:
		a.answer = convert.Answer{}
	}
	return Done
}

func (a *Asking) takeMany(r reply) (Step, error) {
	ids, several := r.ids, r.many
	if !several {
		ids = a.joined(r.id)
		several = len(ids) > 1
	} else if err := a.known(r.id); err != nil {
		return 0, err
	} else if _, err := a.offered(r.id); err == nil && len(ids) > 0 && !slices.Contains(ids, r.id) && !a.pickedBefore(r.id) {
		return 0, fmt.Errorf("%w: option %q is selected, and is not among selectedOptionIds", convert.ErrProtocol, r.id)
	}
	p, err := a.pick(ids)
	if err != nil {
		return 0, err
	}
	if p.effect >= 0 {
		return a.effect(p.effect, r.words()), nil
	}
	p.other = p.other || r.id == OtherID
	text, note := r.text, r.notes
	if a.Question().Closed {
		text, note = "", r.words()
	} else if text == "" {
		text, note = note, ""
	}
	if text == "" && !p.other && (len(p.picked) == 0 || len(ids) == 0) {
		return 0, fmt.Errorf("%w: no option was picked", convert.ErrProtocol)
	}
	a.picked = p.picked
	a.settle(text, note)
	switch {
	case p.other && text == "":
		return NeedText, nil
	case p.done, p.other, several, text != "", note != "", a.opts.Aware, len(p.picked) == plain(a.Question()):
		return Done, nil
	}
	a.round++
	return Again, nil
}

// picks is what the ids of a reply say, together with what was picked before.
type picks struct {
	picked      []int // in option order
	other, done bool
	effect      int // the option that does something else, -1 for none
}

// pick reads the ids of a reply. It changes nothing: one of them may be wrong.
func (a *Asking) pick(ids []string) (picks, error) {
	p := picks{picked: slices.Clone(a.picked), effect: -1}
	for _, id := range ids {
		switch {
		case id == OtherID && !a.Question().Closed:
			p.other = true
		case id == DoneID && len(a.picked) > 0, a.pickedBefore(id):
			p.done = true
		default:
			i, err := a.offered(id)
			switch {
			case err != nil:
				return p, err
			case a.Question().Options[i].Effect == 0:
				p.picked = append(p.picked, i)
			case len(ids) > 1:
				return p, fmt.Errorf("%w: option %q stands alone", convert.ErrProtocol, id)
			default:
				p.effect = i
			}
		}
	}
	slices.Sort(p.picked)
	p.picked = slices.Compact(p.picked)
	return p, nil
}

// joined takes apart an id that is several of the labels offered, joined as the
// result joins them, or by bare commas where no label has one: with one it could
// mean two things. Any other id is one.
func (a *Asking) joined(id string) []string {
	if a.known(id) == nil {
		return []string{id}
	}
	if ids := a.labelled(convert.Split(id)); len(ids) > 1 {
		return ids
	}
	commas := slices.ContainsFunc(a.Question().Options, func(o convert.Option) bool { return strings.Contains(o.Label, ",") })
	if ids := a.labelled(strings.Split(id, ",")); len(ids) > 1 && !commas {
		return ids
	}
	return []string{id}
}

// labelled are the ids of options by their labels, none if one is no label.
func (a *Asking) labelled(labels []string) (ids []string) {
	for _, label := range labels {
		i := slices.IndexFunc(a.Question().Options, func(o convert.Option) bool { return o.Label == label })
		if i < 0 {
			return nil
		}
		ids = append(ids, optionID(a.Question(), i))
	}
	return ids
}

// settle makes the answer of what is picked and typed.
func (a *Asking) settle(text, note string) {
	a.answer = convert.Meaning{Picks: a.picked, Text: text}.Answer(*a.Question())
	a.answer.Note = note
}

// Message is the question as it now stands, as text for the conversation. Whoever
// picked Other of a question that takes one answer is asked for words: the labels
// are named once more, for clients that did not show them, and have no numbers.
func (a *Asking) Message() string {
	if a.typing {
		return wordsMessage(a.spoken())
	}
	text := Message(a.spoken(), a.picked)
	if place := placeOf(a.call, a.index); place != "" {
		text = place + "\n\n" + text
	}
	return text
}

// Reads is what a reply to [Asking.Message] means. Behind Other a number is the
// user's own words.
func (a *Asking) Reads(reply string) convert.Meaning { return a.spoken().ReadReply(reply) }

// spoken is the question as the conversation has it.
func (a *Asking) spoken() convert.Question {
	q := *a.Question()
	q.OwnWords = q.OwnWords || a.typing
	return q
}

// ReplyText takes what the user wrote in reply to [Asking.Message], at any step: it
// means what [Asking.Reads] says and stands beside the picks made before. The word
// `done` ends a question that has some. The step is [Done], [Dismissed] or
// [Refused]; or unclear says, in a sentence, why the question has to be asked
// again.
func (a *Asking) ReplyText(reply string) (step Step, unclear string) {
	said := a.Reads(reply)
	if done := strings.EqualFold(strings.TrimSpace(reply), "done"); done && len(a.picked) > 0 && len(said.Picks) == 0 {
		said = convert.Meaning{}
	}
	switch {
	case said.Cancel:
		return Dismissed, ""
	case said.Unclear != "":
		return 0, said.Unclear
	case len(said.Picks) == 1 && a.Question().Options[said.Picks[0]].Effect != 0:
		return a.effect(said.Picks[0], ""), ""
	case !a.Question().MultiSelect:
		a.picked = nil
	}
	for _, p := range said.Picks {
		if !slices.Contains(a.picked, p) {
			a.picked = append(a.picked, p)
		}
	}
	slices.Sort(a.picked)
	a.settle(said.Text, "")
	return Done, ""
}

// AddText ends a question that is at [NeedText] with a text that is not read as
// anything else. For a multi-select question it stands beside the picks.
func (a *Asking) AddText(text string) { a.settle(text, "") }

// plain counts the options that are part of an answer.
func plain(q *convert.Question) int {
	n := 0
	for i := range q.Options {
		if q.Options[i].Effect == 0 {
			n++
		}
	}
	return n
}

// offered finds the option with this id. One that was picked before is not asked
// for here, see pickedBefore.
func (a *Asking) offered(id string) (int, error) {
	q := a.Question()
	for i := range q.Options {
		if optionID(q, i) == id {
			return i, nil
		}
	}
	if id == "" {
		return 0, fmt.Errorf("%w: selected without an option id", convert.ErrProtocol)
	}
	return 0, fmt.Errorf("%w: option %q was not offered", convert.ErrProtocol, id)
}

// known refuses an id that was not offered. None at all says nothing.
func (a *Asking) known(id string) error {
	if id == "" || id == DoneID || id == OtherID && !a.Question().Closed || a.pickedBefore(id) {
		return nil
	}
	_, err := a.offered(id)
	return err
}

func (a *Asking) pickedBefore(id string) bool {
	q := a.Question()
	return slices.ContainsFunc(a.picked, func(p int) bool { return optionID(q, p) == id })
}
