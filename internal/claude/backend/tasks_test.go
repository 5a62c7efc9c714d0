package backend_test

import (
	"encoding/json"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// todoWrite is a TodoWrite call. todos holds content and status in turns.
func todoWrite(id string, todos ...string) ct.Block {
	list := []object{}
	for i := 0; i+1 < len(todos); i += 2 {
		list = append(list, object{"content": todos[i], "status": todos[i+1], "activeForm": todos[i]})
	}
	b := ct.Tool(id, "TodoWrite", object{"todos": list}, "Todos have been modified successfully.")
	b.Detail, _ = json.Marshal(object{"oldTodos": []any{}, "newTodos": list})
	return b
}

// command is a call of a command that the CLI knows as a task, once it has run for a
// while. The result comes after the steps.
func command(id, task, output string, while ...ct.Step) ct.Block {
	b := ct.Tool(id, "Bash", object{"command": "run " + task}, output)
	b.While = append(steps{taskStarted(id, task)}, while...)
	return b
}

// taskStarted says that a command runs as a task.
func taskStarted(id, task string) ct.Step {
	text, _ := json.Marshal(object{"type": "system", "subtype": "task_started", "task_id": task, "tool_use_id": id, "description": "x", "is_backgrounded": false, "task_type": "local_bash"})
	return ct.Raw(string(text))
}
