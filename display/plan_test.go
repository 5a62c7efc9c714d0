package display_test

import (
	"encoding/json"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/display"
)

func TestPlan(t *testing.T) {
	for _, tc := range []struct {
		name, tool, input string
		want              []acp.PlanEntry
		ok                bool
	}{
		{"the active form while in progress", "TodoWrite", `{"todos":[
			{"content":"Write","status":"completed","activeForm":"Writing"},
			{"content":"Test","status":"in_progress","activeForm":"Testing\u001b[0m\nit"},
			{"content":"Ship","status":"pending","activeForm":"Shipping","priority":"high"}]}`,
			[]acp.PlanEntry{entry("Write", "completed"), entry("Testing it", "in_progress"),
				{Content: "Ship", Status: "pending", Priority: "high"}}, true},
		{"no active form", "TodoWrite", `{"todos":[{"content":"a","status":"in_progress"}]}`, []acp.PlanEntry{entry("a", "in_progress")}, true},
		{"an unknown status is pending", "TodoWrite", `{"todos":[{"content":"a","status":"blocked","priority":7}]}`, []acp.PlanEntry{entry("a", "pending")}, true},
		{"a list as a string", "TodoWrite", `{"todos":"[{\"content\":\"a\"}]"}`, []acp.PlanEntry{entry("a", "pending")}, true},
		{"what is no entry is left out", "TodoWrite", `{"todos":[7,{"status":"pending"},{"content":" "},null]}`, []acp.PlanEntry{}, true},
		{"an empty list clears the plan", "TodoWrite", `{"todos":[]}`, []acp.PlanEntry{}, true},
		{"no list", "TodoWrite", `{"todos":{}}`, nil, false},
		{"no input", "TodoWrite", ``, nil, false},
		{"another tool", "Bash", `{"todos":[]}`, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := display.Tool{Name: tc.tool, Input: json.RawMessage(tc.input)}.Plan()
			assert.Equal(t, tc.want, got)
			assert.Equal(t, tc.ok, ok)
		})
	}
}

func TestToDo(t *testing.T) {
	for _, name := range []string{"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"} {
		assert.True(t, display.Tool{Name: name}.ToDo(), name)
	}
	for _, name := range []string{"Task", "TaskOutput", "TaskStop", "Bash", ""} {
		assert.False(t, display.Tool{Name: name}.ToDo(), name)
	}
}

// step is a call of a Task tool with its result, and the plan after it.
type step struct {
	name, input         string
	content, structured string
	failed              bool
	changed             bool
	want                []acp.PlanEntry
}

func TestTasks(t *testing.T) {
	a, b := entry("Write", "pending"), entry("Test", "pending")
	for name, steps := range map[string][]step{
		"structured results": {
			{name: "TaskCreate", input: `{"subject":"Write","description":"d","activeForm":"Writing"}`, structured: `{"task":{"id":"1","subject":"Write"}}`, changed: true, want: []acp.PlanEntry{a}},
			{name: "TaskCreate", input: `{"subject":"Test"}`, structured: `{"task":{"id":2}}`, changed: true, want: []acp.PlanEntry{a, b}},
			{name: "TaskUpdate", input: `{"taskId":"1","status":"in_progress"}`, structured: `{"success":true,"taskId":"1","updatedFields":["status"]}`, changed: true, want: []acp.PlanEntry{entry("Writing", "in_progress"), b}},
			{name: "TaskUpdate", input: `{"taskId":"1","status":"completed"}`, structured: `{"success":false,"taskId":"1"}`, want: []acp.PlanEntry{entry("Writing", "in_progress"), b}},
			{name: "TaskUpdate", input: `{"taskId":"1","status":"completed"}`, structured: `{"success":true,"taskId":"2"}`, want: []acp.PlanEntry{entry("Writing", "in_progress"), b}},
			{name: "TaskUpdate", input: `{"taskId":"1","status":"completed"}`, failed: true, want: []acp.PlanEntry{entry("Writing", "in_progress"), b}},
			{name: "TaskUpdate", input: `{"taskId":"1","status":"completed"}`, changed: true, want: []acp.PlanEntry{entry("Write", "completed"), b}},
			{name: "TaskUpdate", input: `{"taskId":"2","subject":"Test it"}`, changed: true, want: []acp.PlanEntry{entry("Write", "completed"), entry("Test it", "pending")}},
			{name: "TaskUpdate", input: `{"taskId":"1","status":"deleted"}`, changed: true, want: []acp.PlanEntry{entry("Test it", "pending")}},
			{name: "TaskUpdate", input: `{"taskId":"9","status":"completed"}`, want: []acp.PlanEntry{entry("Test it", "pending")}},
			{name: "TaskGet", input: `{"taskId":"9"}`, structured: `{"task":{"id":"9","subject":"Old","status":"completed"}}`, changed: true, want: []acp.PlanEntry{entry("Test it", "pending"), entry("Old", "completed")}},
			{name: "TaskGet", input: `{"taskId":"8"}`, structured: `{"task":null}`, want: []acp.PlanEntry{entry("Test it", "pending"), entry("Old", "completed")}},
			{name: "TaskList", input: `{}`, structured: `{"tasks":[{"id":"9","subject":"Old","status":"in_progress"},{"id":"3","subject":"New","status":"pending"},{"no":"id"}]}`, changed: true, want: []acp.PlanEntry{entry("Old", "in_progress"), entry("New", "pending")}},
			{name: "TaskList", input: `{}`, structured: `{"tasks":[]}`, changed: true, want: []acp.PlanEntry{}},
		},
		"results as text": {
			{name: "TaskCreate", input: `{"subject":"Write","activeForm":"Writing"}`, content: `"Task #1 created successfully: Write"`, changed: true, want: []acp.PlanEntry{a}},
			{name: "TaskCreate", input: `{"subject":"Test"}`, content: `[{"type":"text","text":"{\"task\":{\"id\":\"2\"}}"}]`, changed: true, want: []acp.PlanEntry{a, b}},
			{name: "TaskCreate", input: `{"subject":"Lost"}`, content: `"done"`, want: []acp.PlanEntry{a, b}},
			{name: "TaskList", input: `{}`, content: `"#1 [in_progress] Write (me) [blocked by #2]\n#2 [completed] Test\n#4 [pending] Late [blocked by #1]"`, changed: true,
				want: []acp.PlanEntry{entry("Writing", "in_progress"), entry("Test", "completed"), entry("Late", "pending")}},
			{name: "TaskList", input: `{}`, content: `"something else"`, want: []acp.PlanEntry{entry("Writing", "in_progress"), entry("Test", "completed"), entry("Late", "pending")}},
		},
		"other tools": {{name: "Bash", input: `{"taskId":"1","subject":"x"}`, want: []acp.PlanEntry{}}},
	} {
		t.Run(name, func(t *testing.T) {
			var tasks display.Tasks
			for i, s := range steps {
				changed := tasks.Apply(
					display.Tool{Name: s.name, Input: json.RawMessage(s.input)},
					display.Result{Content: json.RawMessage(s.content), Structured: json.RawMessage(s.structured), IsError: s.failed})
				require.Equal(t, s.changed, changed, "step %d: %s", i, s.name)
				require.Equal(t, s.want, tasks.Plan(), "step %d: %s", i, s.name)
			}
		})
	}
}

func entry(content string, status acp.PlanEntryStatus) acp.PlanEntry {
	return acp.PlanEntry{Content: content, Status: status, Priority: acp.PlanEntryPriorityMedium}
}
