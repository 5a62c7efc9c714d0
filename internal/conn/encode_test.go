package conn

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

// What is encoded by hand is what the SDK makes of it.
func TestEncodeIsTheSDKs(t *testing.T) {
	contents := []acp.ToolCallContent{
		acp.ToolContent(acp.TextBlock("a <b> \u2028 \x1b")),
		acp.ToolDiffContent("/a", "new", "old"),
		acp.ToolDiffContent("/a", "new"),
		acp.ToolTerminalRef("t1"),
		acp.ToolContent(acp.ImageBlock("AAAA", "image/png")),
		{Content: &acp.ToolCallContentContent{Content: acp.TextBlock("x"), Meta: map[string]any{"a": 1}}},
		{Diff: &acp.ToolCallContentDiff{Path: "/a", Meta: map[string]any{"a": 1}}},
	}
	meta := map[string]any{"claudeCode": map[string]any{"toolName": "Bash"}}
	locations := []acp.ToolCallLocation{{Path: "/a", Line: acp.Ptr(3)}}
	start := acp.SessionUpdateToolCall{
		ToolCallId: "t", Title: "T", Kind: acp.ToolKindEdit, Status: acp.ToolCallStatusPending, Content: contents,
		Locations: locations, RawInput: json.RawMessage(`{"b":1, "a":[null]}`), RawOutput: "out", Meta: meta,
	}
	next := acp.SessionToolCallUpdate{
		ToolCallId: "t", Title: acp.Ptr(""), Kind: acp.Ptr(acp.ToolKindOther), Status: acp.Ptr(acp.ToolCallStatusFailed),
		Content: contents, Locations: locations, RawInput: map[string]any{"a": 1}, RawOutput: json.RawMessage(`[1]`), Meta: meta,
	}
	asked := acp.ToolCallUpdate{
		ToolCallId: "t", Title: acp.Ptr("T"), Kind: acp.Ptr(acp.ToolKindOther), Status: acp.Ptr(acp.ToolCallStatusPending),
		Content: contents, Locations: locations, RawInput: struct {
			A int `json:"a"`
		}{1}, Meta: meta,
	}
	update := func(u acp.SessionUpdate) any {
		return acp.SessionNotification{SessionId: "s", Update: u, Meta: map[string]any{"m": true}}
	}
	for name, params := range map[string]any{
		"tool call":          update(acp.SessionUpdate{ToolCall: &start}),
		"tool call, empty":   update(acp.SessionUpdate{ToolCall: &acp.SessionUpdateToolCall{}}),
		"update":             update(acp.SessionUpdate{ToolCallUpdate: &next}),
		"update, empty":      update(acp.SessionUpdate{ToolCallUpdate: &acp.SessionToolCallUpdate{ToolCallId: "t"}}),
		"update, no content": update(acp.SessionUpdate{ToolCallUpdate: &acp.SessionToolCallUpdate{Content: []acp.ToolCallContent{}}}),
		"plan":               update(acp.UpdatePlan(acp.PlanEntry{Content: "x", Priority: acp.PlanEntryPriorityLow, Status: acp.PlanEntryStatusPending})),
		"chunk":              update(acp.UpdateAgentMessageText("x")),
		"commands": update(acp.SessionUpdate{AvailableCommandsUpdate: &acp.SessionAvailableCommandsUpdate{Meta: meta, AvailableCommands: []acp.AvailableCommand{
			{Name: "a", Description: "<b>", Input: &acp.AvailableCommandInput{Unstructured: &acp.UnstructuredCommandInput{Hint: "h"}}}, {Name: "b"},
		}}}),
		"no commands": update(acp.SessionUpdate{AvailableCommandsUpdate: &acp.SessionAvailableCommandsUpdate{}}),
		"options": update(acp.SessionUpdate{ConfigOptionUpdate: &acp.SessionConfigOptionUpdate{Meta: meta, ConfigOptions: []acp.SessionConfigOption{
			{Select: &acp.SessionConfigOptionSelect{Id: "i", Name: "n", CurrentValue: "v", Options: acp.SessionConfigSelectOptions{Ungrouped: &acp.SessionConfigSelectOptionsUngrouped{{Name: "n", Value: "v"}}}}},
			{Boolean: &acp.SessionConfigOptionBoolean{Id: "i", Name: "n", CurrentValue: true}},
		}}}),
		"title": update(acp.SessionUpdate{SessionInfoUpdate: &acp.SessionSessionInfoUpdate{Title: acp.Ptr("T"), UpdatedAt: acp.Ptr("now"), Meta: meta}}),
		"usage": update(acp.SessionUpdate{UsageUpdate: &acp.SessionUsageUpdate{Cost: &acp.Cost{Amount: 1e-7, Currency: "USD"}, Size: 1e6, Used: 3, Meta: meta}}),
		"permission": acp.RequestPermissionRequest{SessionId: "s", ToolCall: asked, Meta: meta, Options: []acp.PermissionOption{
			{Kind: acp.PermissionOptionKindAllowOnce, Name: "N", OptionId: "o"},
		}},
		"permission, empty": acp.RequestPermissionRequest{},
		"anything":          map[string]any{"a": 1},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := json.Marshal(params)
			require.NoError(t, err)
			if name == "tool call" || name == "permission" { // newer than the SDK
				want = bytes.Replace(want, []byte(`"rawInput"`), []byte(`"name":"Bash","rawInput"`), 1)
			}
			got, err := Encode(params)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got))
		})
	}
}

// A field that a later version of the SDK adds must not get lost.
func TestEncodeKnowsAllFields(t *testing.T) {
	names := func(v any) (names []string) {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			names = append(names, f.Tag.Get("json"))
		}
		return names
	}
	require.Subset(t, append(names(toolCall{}), "title", "sessionUpdate"), names(acp.SessionUpdateToolCall{}))
	require.Subset(t, append(names(toolCall{}), "sessionUpdate"), names(acp.SessionToolCallUpdate{}))
	require.Subset(t, names(toolCall{}), names(acp.ToolCallUpdate{}))
	require.Equal(t, names(permissionRequest{}), names(acp.RequestPermissionRequest{}))
	require.Equal(t, names(notification{}), names(acp.SessionNotification{}))
	require.Equal(t, []string{"_meta,omitempty", "annotations,omitempty", "text", "type"}, names(acp.ContentBlockText{}), "the SDK itself drops the first two")
}

// Numbers too large for a float stay what they are.
func TestEncodeKeepsRawInput(t *testing.T) {
	const raw = `{"id":12345678901234567890,"a":1.0}`
	got, err := Encode(acp.SessionNotification{Update: acp.SessionUpdate{ToolCall: &acp.SessionUpdateToolCall{RawInput: json.RawMessage(raw)}}})
	require.NoError(t, err)
	require.Contains(t, string(got), `"rawInput":`+raw)
}
