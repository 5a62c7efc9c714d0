package about

import (
	"encoding/json"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
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
