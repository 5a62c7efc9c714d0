package about

import (
	"encoding/json"
	"fmt"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
)

// A change is told apart from the input unless all of it is in there: what a person
// does not see is not permitted.
func TestToolOfChanges(t *testing.T) {
	old := func(s string) *string { return &s }
	for _, c := range []struct {
		input string
		diff  acp.ToolCallContentDiff
		told  bool
	}{
		{`{"file_path":"/a","old_string":"x","new_string":"y"}`, acp.ToolCallContentDiff{Path: "/a", OldText: old("x"), NewText: "y"}, false},
		{`{"file_path":"/a","old_string":"x","new_string":""}`, acp.ToolCallContentDiff{Path: "/a", OldText: old("x"), NewText: ""}, false},
		{`{"file_path":"/a","content":"y"}`, acp.ToolCallContentDiff{Path: "/a", NewText: "y"}, false},
		{`{"file_path":"/a","content":"y"}`, acp.ToolCallContentDiff{Path: "/b", NewText: "y"}, true},
		{`{"file_path":"/a","content":"y"}`, acp.ToolCallContentDiff{Path: "/a", OldText: old("z"), NewText: "y"}, true},
		{`{"file_path":"/a"}`, acp.ToolCallContentDiff{Path: "/a", OldText: old("z"), NewText: ""}, true},
		{`{"file_path":"/a"}`, acp.ToolCallContentDiff{Path: "/a", NewText: ""}, true},
	} {
		r := acp.RequestPermissionRequest{ToolCall: acp.ToolCallUpdate{RawInput: json.RawMessage(c.input), Content: []acp.ToolCallContent{{Diff: &c.diff}}}}
		require.Equal(t, c.told, len(ToolOf(r).Changes) == 1, "%s %+v", c.input, c.diff)
	}
}

// A command is shown unless the title has it to the letter.
func TestUnseenCommand(t *testing.T) {
	for _, c := range []struct{ kind, title, input, shows string }{
		{"execute", "make all", `{"command":"make all"}`, ""},
		{"execute", "`make all`", `{"command":"make all"}`, ""},
		{"execute", "Run a command", `{"command":"make all"}`, "make all"},
		{"execute", "make all rm -rf ~", `{"command":"make all\nrm -rf ~"}`, "make all\nrm -rf ~"},
		{"execute", "make …", `{"command":["make","all"]}`, "make all"},
		{"execute", "make …", `{"command":"\u001b[2Kmake"}`, "make"},
		{"execute", "make …", `{}`, ""},
		{"edit", "make …", `{"command":"make all"}`, ""},
	} {
		kind := acp.ToolKind(c.kind)
		got := Unseen(acp.RequestPermissionRequest{ToolCall: acp.ToolCallUpdate{Kind: &kind, Title: &c.title, RawInput: json.RawMessage(c.input)}})
		require.Contains(t, got, c.shows)
		require.Equal(t, c.shows == "", got == "", "%+v", c)
		require.NotContains(t, got, "\x1b")
		of := acp.RequestPermissionRequest{ToolCall: acp.ToolCallUpdate{Kind: &kind, Title: &c.title, RawInput: gjson.Parse(c.input).Value()}}
		require.Equal(t, got, Unseen(of), "of a Go host")
		require.JSONEq(t, c.input, string(PermissionCall(of).Input))
	}
}

// Why something is asked is in every request that has it, for the hub and for clients that
// show titles only, once.
func TestWhyItIsAsked(t *testing.T) {
	for _, kind := range []acp.ToolKind{acp.ToolKindEdit, acp.ToolKindSwitchMode} {
		r := acp.RequestPermissionRequest{ToolCall: acp.ToolCallUpdate{Kind: &kind, Content: []acp.ToolCallContent{Why("It is blocked.")}}}
		require.Equal(t, "It is blocked.", ToolOf(r).Text)
		require.Equal(t, "It is blocked.", Unseen(r))
	}
}

// Words beside a permission that is given would be lost, and may be a condition: it is
// not given. Beside a rejection they are its reason.
func TestANoteGoesWithARejectionOnly(t *testing.T) {
	r := acp.RequestPermissionRequest{Options: []acp.PermissionOption{
		{OptionId: "a", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionId: "b", Name: "Always", Kind: acp.PermissionOptionKindAllowAlways},
		{OptionId: "c", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce},
		{OptionId: "d", Name: "Never", Kind: acp.PermissionOptionKindRejectAlways},
		{OptionId: "e", Name: "Perhaps"},
	}}
	check := ToolOf(r).Check(PermissionCall(r).Questions[0].Options)
	for label, takes := range map[string]bool{"Allow": false, "Always": false, "Reject": true, "Never": true, "Perhaps": false} {
		require.NoError(t, check([]convert.Answer{{Selected: []string{label}}}), label)
		require.NoError(t, check([]convert.Answer{{Selected: []string{label}, Note: " "}}), label)
		err := check([]convert.Answer{{Selected: []string{label}, Note: "only if the backup is done"}})
		if takes {
			require.NoError(t, err, label)
		} else {
			require.ErrorIs(t, err, convert.ErrBadAnswer, label)
		}
	}
}

// Each option can be told apart from the others, whatever the agent calls them.
func TestOptionsThatLookAlike(t *testing.T) {
	for _, c := range []struct{ names, labels []string }{
		{[]string{"Yes", "No"}, []string{"Yes", "No"}},
		{[]string{"Yes", "Yes"}, []string{"Yes", "Yes (2)"}},
		{[]string{"Yes (3)", "Yes", "Yes"}, []string{"Yes (3)", "Yes", "Yes (3) (3)"}},
		{[]string{"Yes", "Yes", "Yes (2)"}, []string{"Yes", "Yes (2)", "Yes (2) (3)"}},
		{[]string{"Yes", "Yes ", "\x1b[1mYes"}, []string{"Yes", "Yes (2)", "Yes (3)"}},
		{[]string{" ", "\x1b]0;\x07", "(2)"}, []string{"(1)", "(2)", "(2) (3)"}},
		{[]string{"", ""}, []string{"o0", "o1"}},
	} {
		var r acp.RequestPermissionRequest
		for i, name := range c.names {
			r.Options = append(r.Options, acp.PermissionOption{OptionId: acp.PermissionOptionId(fmt.Sprintf("o%d", i)), Name: name})
		}
		var labels []string
		for _, o := range PermissionCall(r).Questions[0].Options {
			labels = append(labels, o.Label)
		}
		require.Equal(t, c.labels, labels)
	}
}

// What is known at the moment is told, and is no part of what is permitted: the same call is
// the same when more of the context is used. Any agent may mark so, also what has no text.
func TestWhatIsKnownIsNoPartOfThePermission(t *testing.T) {
	of := func(all ...acp.ToolCallContent) Tool {
		return ToolOf(acp.RequestPermissionRequest{ToolCall: acp.ToolCallUpdate{Content: all}})
	}
	known := of(Why("because"), Known("41% of the context used"))
	require.Equal(t, []string{"41% of the context used", "because", of(Why("because")).Key()}, []string{known.Known, known.Text, known.Key()})
	require.Empty(t, of(acp.ToolCallContent{Content: &acp.ToolCallContentContent{Meta: map[string]any{knownMark: true}}}))
}
