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
	c := convert.Call{Session: string(r.SessionId), ID: string(r.ToolCall.ToolCallId), Questions: []convert.Question{q}}
	c.Input, _ = r.ToolCall.RawInput.(json.RawMessage)
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
	input, _ := r.ToolCall.RawInput.(json.RawMessage)
	for _, c := range r.ToolCall.Content {
		if c.Diff != nil && !inside(input, *c.Diff) {
			t.Changes = append(t.Changes, Change{Path: c.Diff.Path, Old: c.Diff.OldText, New: c.Diff.NewText})
		}
	}
	return t
}

// Plan is the plan that a request asks to go on with, for people; empty if it asks
// for something else.
func Plan(r acp.RequestPermissionRequest) string {
	if r.ToolCall.Kind == nil || *r.ToolCall.Kind != acp.ToolKindSwitchMode {
		return ""
	}
	var parts []string
	for _, c := range r.ToolCall.Content {
		if c.Content != nil && c.Content.Content.Text != nil {
			parts = append(parts, c.Content.Content.Text.Text)
		}
	}
	return clean.Block(strings.Join(parts, "\n\n"))
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

// OneOption is the rule for answers to a permission request: one of its options, and a
// reason beside a rejection.
func OneOption(r acp.RequestPermissionRequest) func([]convert.Answer) error {
	options, tool := PermissionCall(r).Questions[0].Options, ToolOf(r)
	return func(answers []convert.Answer) error {
		if len(answers) != 1 || len(answers[0].Selected) != 1 || answers[0].Text != "" {
			return fmt.Errorf("%w: a permission takes one of its options and nothing else", convert.ErrBadAnswer)
		}
		return tool.TakesNote(options, answers[0])
	}
}

// TakesNote reports words beside a permission that is given. No agent takes them: they
// may be a condition, and what would reach it is a permission without one. Options of
// which it is not known what they do are passed over.
func (t Tool) TakesNote(options []convert.Option, a convert.Answer) error {
	if strings.TrimSpace(a.Note) == "" || len(t.Picks) != len(options) {
		return nil
	}
	for i, o := range options {
		if slices.Contains(a.Selected, o.Label) && !strings.HasPrefix(t.Picks[i], "reject") {
			return fmt.Errorf("%w: no agent takes words along with a permission: leave them out, or reject with them as the reason", convert.ErrBadAnswer)
		}
	}
	return nil
}
