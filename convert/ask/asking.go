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
	opts   PermissionOptions
	answer convert.Answer
}

// New prepares question q of the call, which counts from 0. Round and Picked
// of the options are the Asking's own to set.
func New(c convert.Call, q int, o PermissionOptions) *Asking {
	o.Round, o.Picked = 1, nil
	return &Asking{call: c, index: q, opts: o}
}

// Request is the permission request of the current round.
func (a *Asking) Request() acp.RequestPermissionRequest {
	return Permission(a.call, a.index, a.opts)
}

// Question is the question being asked.
func (a *Asking) Question() *convert.Question { return &a.call.Questions[a.index] }

// Round counts the requests, from 1.
func (a *Asking) Round() int { return a.opts.Round }

// Answer is the user's answer after [Done].
func (a *Asking) Answer() convert.Answer { return a.answer }

// Picked holds the positions of the options picked so far, in option order.
func (a *Asking) Picked() []int { return a.opts.Picked }

// Reply takes the client's response to the current request. An error wraps
// [convert.ErrProtocol]: the response says neither what the user picked nor that the
// user cancelled, and the Asking stays as it was.
func (a *Asking) Reply(resp acp.RequestPermissionResponse) (Step, error) {
	selected, cancelled := resp.Outcome.Selected, resp.Outcome.Cancelled
	switch {
	case selected != nil && cancelled == nil:
		reply, err := readReply(string(selected.OptionId), selected.Meta, resp.Meta)
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

// HasText reports whether a response carries words or several picks, which no
// client sends by itself.
func HasText(resp acp.RequestPermissionResponse) bool {
	metas := []map[string]any{resp.Meta}
	if s := resp.Outcome.Selected; s != nil {
		metas = append(metas, s.Meta)
	}
	r, err := readReply("", metas...)
	return err == nil && (r.text != "" || r.notes != "" || len(r.ids) > 1)
}

// reply is a response that said `selected`, with what its _meta adds.
type reply struct {
	id    string
	ids   []string // of selectedOptionIds
	many  bool     // selectedOptionIds was there
	text  string
	notes string
}

func readReply(id string, metas ...map[string]any) (reply, error) {
	r := reply{id: id}
	for _, meta := range metas {
		if err := metaText(meta, "customText", &r.text); err != nil {
			return r, err
		}
		if err := metaText(meta, "notes", &r.notes); err != nil {
			return r, err
		}
		if v := meta["selectedOptionIds"]; v != nil && !r.many {
			ids, err := stringList(v)
			if err != nil {
				return r, err
			}
			r.ids, r.many = ids, true
		}
	}
	return r, nil
}

// metaText reads a text that an earlier _meta has not given already.
func metaText(meta map[string]any, key string, into *string) error {
	v := meta[key]
	if v == nil || *into != "" {
		return nil
	}
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("%w: _meta.%s must be a string, got %T", convert.ErrProtocol, key, v)
	}
	*into = strings.TrimSpace(s)
	return nil
}

func stringList(v any) ([]string, error) {
	switch list := v.(type) {
	case []string:
		return list, nil
	case []any:
		ids := make([]string, len(list))
		for i, e := range list {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("%w: _meta.selectedOptionIds must hold strings, got %T", convert.ErrProtocol, e)
			}
			ids[i] = s
		}
		return ids, nil
	}
	return nil, fmt.Errorf("%w: _meta.selectedOptionIds must be an array, got %T", convert.ErrProtocol, v)
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
			return NeedText, nil
		}
		a.answer = convert.Answer{Text: r.text, Note: r.notes}
		return Done, nil
	}
	i, err := a.offered(r.id)
	if err != nil {
		return 0, err
	}
	if a.Question().Options[i].Effect != 0 {
		return a.effect(i), nil
	}
	note := strings.TrimSpace(r.text + "\n" + r.notes)
	a.answer = convert.Answer{Selected: []string{a.Question().Options[i].Label}, Note: note}
	return Done, nil
}

// effect does what an option with an effect does.
func (a *Asking) effect(i int) Step {
	a.answer = convert.Answer{}
	switch o := &a.Question().Options[i]; o.Effect {
	case convert.EffectDecline:
		return Refused
	case convert.EffectAlone:
		a.answer.Selected = []string{o.Label}
	}
	return Done
}

func (a *Asking) takeMany(r reply) (Step, error) {
	picked, other, done := slices.Clone(a.opts.Picked), false, false
	open := !a.Question().Closed
	ids := r.ids
	if !r.many {
		ids = []string{r.id}
	} else if r.id == OtherID && open {
		other = true
	} else if err := a.known(r.id); err != nil {
		return 0, err
	}
	for _, id := range ids {
		switch {
		case id == OtherID && open:
			other = true
		case id == DoneID && len(a.opts.Picked) > 0:
			done = true
		case a.pickedBefore(id):
			done = true
		default:
			i, err := a.offered(id)
			if err != nil {
				return 0, err
			}
			if a.Question().Options[i].Effect != 0 {
				if len(ids) > 1 {
					return 0, fmt.Errorf("%w: option %q stands alone", convert.ErrProtocol, id)
				}
				return a.effect(i), nil
			}
			if !slices.Contains(picked, i) {
				picked = append(picked, i)
			}
		}
	}
	text, note := r.text, r.notes
	if !open {
		text, note = "", strings.TrimSpace(text+"\n"+note)
	} else if text == "" {
		text, note = note, ""
	}
	if text == "" && !other && (len(picked) == 0 || r.many && len(r.ids) == 0) {
		return 0, fmt.Errorf("%w: no option was picked", convert.ErrProtocol)
	}
	slices.Sort(picked)
	a.opts.Picked = picked
	a.settle(text, note)
	switch {
	case other && text == "":
		return NeedText, nil
	case done, other, r.many, text != "", a.opts.Aware, len(picked) == plain(a.Question()):
		return Done, nil
	}
	a.opts.Round++
	return Again, nil
}

// settle makes the answer of what is picked and typed.
func (a *Asking) settle(text, note string) {
	var labels []string
	for _, p := range a.opts.Picked {
		labels = append(labels, a.Question().Options[p].Label)
	}
	a.answer = convert.Answer{Selected: labels, Text: text, Note: note}
}

// ReplyText takes what the user wrote in reply to [Message], at any step: it is
// read by [convert.ReadReply] and stands beside the picks made before. The word
// `done` ends a question that has some. The step is [Done], [Dismissed] or
// [Refused]; or unclear says, in a sentence, why the question has to be asked
// again.
func (a *Asking) ReplyText(reply string) (step Step, unclear string) {
	said := convert.ReadReply(*a.Question(), reply)
	if len(a.opts.Picked) > 0 && strings.EqualFold(said.Text, "done") {
		said.Text = ""
	}
	switch {
	case said.Cancel:
		return Dismissed, ""
	case said.Unclear != "":
		return 0, said.Unclear
	case len(said.Picks) == 1 && a.Question().Options[said.Picks[0]].Effect != 0:
		return a.effect(said.Picks[0]), ""
	case !a.Question().MultiSelect:
		a.opts.Picked = nil
	}
	for _, p := range said.Picks {
		if !a.opts.picked(p) {
			a.opts.Picked = append(a.opts.Picked, p)
		}
	}
	slices.Sort(a.opts.Picked)
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

// offered finds the option with this id in the current round's list.
func (a *Asking) offered(id string) (int, error) {
	q := a.Question()
	for i := range q.Options {
		if optionID(q, i) == id && !a.opts.picked(i) {
			return i, nil
		}
	}
	if id == "" {
		return 0, fmt.Errorf("%w: selected without an option id", convert.ErrProtocol)
	}
	return 0, fmt.Errorf("%w: option %q was not offered", convert.ErrProtocol, id)
}

// known refuses an id beside a list of ids that says nothing.
func (a *Asking) known(id string) error {
	if id == "" || id == DoneID || a.pickedBefore(id) {
		return nil
	}
	_, err := a.offered(id)
	return err
}

func (a *Asking) pickedBefore(id string) bool {
	q := a.Question()
	for _, p := range a.opts.Picked {
		if optionID(q, p) == id {
			return true
		}
	}
	return false
}
