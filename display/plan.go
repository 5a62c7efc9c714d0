package display

import (
	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// ToDo reports whether the tool keeps the agent's to-do list. Its calls are
// shown as an ACP plan, not as tool calls.
func (t Tool) ToDo() bool {
	switch t.Name {
	case "TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet":
		return true
	}
	return false
}

// Plan returns the list that a TodoWrite call sets, which may be empty but is
// not nil. ok is false for any other tool, and for an input without a list.
func (t Tool) Plan() (entries []acp.PlanEntry, ok bool) {
	if t.Name != "TodoWrite" {
		return nil, false
	}
	todos, ok := readInput(t.Input).list("todos")
	if !ok {
		return nil, false
	}
	entries = []acp.PlanEntry{}
	for _, v := range todos {
		todo := object(v)
		entry := planEntry(todo.str("content"), todo.str("activeForm"), todo.str("status"))
		if entry.Content == "" {
			continue
		}
		switch p := acp.PlanEntryPriority(todo.str("priority")); p {
		case acp.PlanEntryPriorityHigh, acp.PlanEntryPriorityLow:
			entry.Priority = p
		}
		entries = append(entries, entry)
	}
	return entries, true
}

// planEntry shows a task by what is being done while it is in progress.
func planEntry(subject, active, status string) acp.PlanEntry {
	entry := acp.PlanEntry{
		Content:  clean.Line(subject),
		Priority: acp.PlanEntryPriorityMedium,
		Status:   planStatus(status),
	}
	if active = clean.Line(active); active != "" && entry.Status == acp.PlanEntryStatusInProgress {
		entry.Content = active
	}
	return entry
}

// planStatus takes a status that ACP does not have for pending.
func planStatus(status string) acp.PlanEntryStatus {
	switch s := acp.PlanEntryStatus(status); s {
	case acp.PlanEntryStatusInProgress, acp.PlanEntryStatusCompleted:
		return s
	}
	return acp.PlanEntryStatusPending
}
