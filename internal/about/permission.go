package about

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// PermissionCall is a permission request as a question, whose options have the
// names of the request's, in their order. No two of them look alike: who picks one
// has picked that one.
func PermissionCall(r acp.RequestPermissionRequest) convert.Call {
	q := convert.Question{Text: string(r.ToolCall.ToolCallId), Closed: true}
	if r.ToolCall.Title != nil && *r.ToolCall.Title != "" {
		q.Text = *r.ToolCall.Title
	}
	for i, o := range r.Options {
		label := cmp.Or(o.Name, string(o.OptionId))
		alike := func(o convert.Option) bool { return clean.Line(o.Label) == clean.Line(label) }
		for clean.Line(label) == "" || slices.ContainsFunc(q.Options, alike) {
			label = strings.TrimSpace(clean.Line(label) + " (" + strconv.Itoa(i+1) + ")")
		}
		q.Options = append(q.Options, convert.Option{Label: label})
	}
	return convert.Call{
		Session: string(r.SessionId), ID: string(r.ToolCall.ToolCallId), Questions: []convert.Question{q}, Input: inputOf(r),
	}
}

const (
	whyMark   = "acp-bridge/why"
	knownMark = "acp-bridge/known"
)

// Why is a part of a request that says why it is asked. Every surface shows it.
func Why(text string) acp.ToolCallContent { return marked(whyMark, text) }

// Known is a part of a request that says what is known at the moment, see [Tool].
func Known(text string) acp.ToolCallContent { return marked(knownMark, text) }

func marked(mark, text string) acp.ToolCallContent {
	c := acp.ToolContent(acp.TextBlock(text))
	c.Content.Meta = map[string]any{mark: true}
	return c
}

// ToolOf is what a request shows beside the call's input. A change of which the input
// has all, the file and the texts, is in there.
func ToolOf(r acp.RequestPermissionRequest) (t Tool) {
	if r.ToolCall.Kind != nil {
		t.Kind = string(*r.ToolCall.Kind)
	}
	for _, o := range r.Options {
		t.Picks = append(t.Picks, string(o.Kind))
	}
	input := inputOf(r)
	for _, c := range r.ToolCall.Content {
		switch text := c.Content; {
		case c.Diff != nil && !inside(input, *c.Diff):
			t.Changes = append(t.Changes, display.Change{Path: c.Diff.Path, Old: c.Diff.OldText, New: c.Diff.NewText})
		case text == nil || text.Content.Text == nil:
		case text.Meta[whyMark] == true:
			t.Text = text.Content.Text.Text
		case text.Meta[knownMark] == true:
			t.Known = text.Content.Text.Text
		}
	}
	return t
}

// CallOf is the tool call of a request.
func CallOf(r acp.RequestPermissionRequest) (t display.Tool) {
	if r.ToolCall.Title != nil {
		t.Title = *r.ToolCall.Title
	}
	t.Input = inputOf(r)
	return t
}

// Unseen is what a client does not show that shows no more of a request than its title,
// for people: why it is asked, a plan, or a command that the title does not have whole.
func Unseen(r acp.RequestPermissionRequest) string {
	parts := []string{ToolOf(r).Text}
	kind, call := r.ToolCall.Kind, CallOf(r)
	switch {
	case kind == nil:
	case *kind == acp.ToolKindExecute:
		for _, p := range call.View("").Parts {
			command := strings.TrimSpace(clean.Visible(p.Label + " " + p.Text))
			if p.Kind == "command" && !strings.Contains(call.Title, command) { // to the letter
				parts = append(parts, "This command needs your permission:\n\n"+clean.Fence("sh", command))
			}
		}
	case *kind == acp.ToolKindSwitchMode:
		for _, c := range r.ToolCall.Content {
			if c.Content != nil && c.Content.Content.Text != nil && c.Content.Meta[whyMark] == nil {
				parts = append(parts, clean.Block(c.Content.Content.Text.Text))
			}
		}
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}

// inputOf is what the tool gets: as it was written, or of a Go host as it would be.
func inputOf(r acp.RequestPermissionRequest) json.RawMessage {
	input, ok := r.ToolCall.RawInput.(json.RawMessage)
	if !ok && r.ToolCall.RawInput != nil {
		input, _ = clean.EncodeJSON(r.ToolCall.RawInput)
	}
	return input
}

func inside(input []byte, d acp.ToolCallContentDiff) bool {
	has := func(s string) bool { return bytes.Contains(input, quoted(s)) } // also nothing at all
	if d.OldText == nil {
		return has(d.Path) && d.NewText != "" && has(d.NewText)
	}
	return has(d.Path) && has(d.NewText) && has(*d.OldText) && d.NewText+*d.OldText != ""
}

// quoted is a text as it stands in JSON, without its quotes.
func quoted(s string) []byte {
	b := clean.AppendJSON(nil, s)
	return b[1 : len(b)-1]
}

// Condition is why a permission that was given with words beside it is not given: they
// may be a condition, which nobody can check, and no agent takes it.
type Condition struct{ Words string }

// Error says what was understood, and what is wanted.
func (c Condition) Error() string {
	return convert.ErrBadAnswer.Error() + ": you allowed it with a condition (" + c.quoted() + "), which cannot be checked: allow it without words, or reject it with them as the reason"
}

// Remark is the same in a sentence, to stand before what is asked again.
func (c Condition) Remark() string {
	return "You allowed it with a condition (" + c.quoted() + "), which cannot be checked. Allow or reject it."
}

func (c Condition) quoted() string { return strconv.Quote(clean.Truncate(clean.Line(c.Words), 200)) }

// Unwrap returns [convert.ErrBadAnswer].
func (Condition) Unwrap() error { return convert.ErrBadAnswer }

// Edited is the kind of an option whose words are the plan as the person wants it.
const Edited = "allow_edited"

// Picked judges an answer to a permission, on whatever surface it was given: which of
// the options it is, and the words beside it. The error is in words for whoever answered,
// and wraps [convert.ErrBadAnswer]:
//
//	| answer                     | means                                               |
//	|----------------------------|-----------------------------------------------------|
//	| one offered option         | that one                                            |
//	| a rejection, and words     | they are its reason, if the agent takes one         |
//	| a permission, and words    | not a permission: [Condition]                       |
//	| [Edited], and words        | they are the plan                                   |
//	| anything else              | no answer                                           |
//
// Where it is not known what the options do, as over an older link, words pass.
func (t Tool) Picked(options []convert.Option, answers []convert.Answer) (pick int, words string, err error) {
	if len(answers) != 1 || len(answers[0].Selected) != 1 || answers[0].Text != "" {
		return -1, "", fmt.Errorf("%w: a permission takes one of its options and nothing else", convert.ErrBadAnswer)
	}
	a := answers[0]
	pick = slices.IndexFunc(options, func(o convert.Option) bool { return o.Label == a.Selected[0] })
	words = strings.TrimSpace(a.Note)
	known := len(t.Picks) == len(options)
	switch {
	case pick < 0:
		return -1, "", fmt.Errorf("%w: this option was not offered", convert.ErrBadAnswer)
	case known && t.Picks[pick] == Edited:
		if words == "" {
			return -1, "", fmt.Errorf("%w: write the whole plan as you want it into the note", convert.ErrBadAnswer)
		}
	case words == "":
	case known && !Rejects(t.Picks[pick]):
		return -1, "", Condition{words}
	case t.NoReason:
		return -1, "", fmt.Errorf("%w: this agent takes no words with a permission: leave them out, and write them as its next prompt", convert.ErrBadAnswer)
	}
	return pick, words, nil
}

// Rejects reports whether an option of this kind is a no.
func Rejects(kind string) bool { return strings.HasPrefix(kind, "reject") }

// Check is [Tool.Picked] for a desk.
func (t Tool) Check(options []convert.Option) func([]convert.Answer) error {
	return func(answers []convert.Answer) error {
		_, _, err := t.Picked(options, answers)
		return err
	}
}

// Beside is what a client's user wrote beside their choice.
func Beside(r acp.RequestPermissionResponse) string {
	metas := []map[string]any{r.Meta}
	if r.Outcome.Selected != nil {
		metas = []map[string]any{r.Outcome.Selected.Meta, r.Meta}
	}
	var all []string
	for _, meta := range metas {
		for _, key := range []string{"customText", "notes"} {
			words, _ := meta[key].(string)
			if words = strings.TrimSpace(words); words != "" && !slices.Contains(all, words) {
				all = append(all, words)
			}
		}
	}
	return strings.Join(all, "\n")
}
