package display

import (
	"slices"
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// maxRunning is about the most bytes shown of a command that still runs. It is
// shown again each time there is more.
const maxRunning = 5_000

// Running is content for a command that still runs: the end of what it has
// written, which is size bytes. Read returns a piece of that.
func (t Tool) Running(size int64, read func(from, to int64) string) []acp.ToolCallContent {
	before := max(0, size-2*maxRunning)
	tail := read(before, size)
	text := strings.TrimRight(clean.Block(tail[:clean.Whole(tail)]), " \t\n")
	start := 0
	if before > 0 || len(text) > maxRunning {
		start = boundary(text, max(0, len(text)-maxRunning), false)
	}
	if gone := before + int64(start); gone > 0 && start < len(text) {
		text = LeftOut(gone) + text[start:]
	}
	return fenced("console", text)
}

// LeftOut is a line that says how many bytes are not shown.
func LeftOut(n int64) string { return "… " + bytesText(int(n)) + " left out …\n" }

// Interrupted is a line about a command that was stopped.
func (t Tool) Interrupted() []acp.ToolCallContent { return prose("Interrupted before it ended.") }

// InBackground is a line about a command that outlives its call.
func (t Tool) InBackground(task, status string) []acp.ToolCallContent {
	if status == "" {
		return prose("Running in the background as " + clean.Line(task) + ".")
	}
	return prose("Ran in the background as " + clean.Line(task) + ": " + clean.Line(status) + ".")
}

// Shell reports whether the tool runs commands.
func (t Tool) Shell() bool { return t.Name == "Bash" || t.Name == "PowerShell" }

// Console is the end of a command for a client that shows it in a terminal.
type Console struct {
	// Output is what it has written, cut as content is.
	Output string
	// ExitCode is nil when it is not known.
	ExitCode *int
	// Task is the id of a command that goes on in the background.
	Task string
	// Notes stand beside the terminal.
	Notes []acp.ToolCallContent
}

// Console reads the result of a command. It reports false for a result that
// is not what a command wrote: a refusal, or an image.
func (t Tool) Console(r Result, cwd string) (Console, bool) {
	c := end(t, r, cwd)
	if r.IsError {
		return failedConsole(withoutLastReminders(c.text()))
	}
	stdout, out := c.structured.lookup("stdout")
	stderr, err := c.structured.lookup("stderr")
	if c.structured.on("isImage") {
		return Console{}, false
	}
	if !out || !err {
		if slices.ContainsFunc(c.parts, func(p part) bool { return p.block != nil }) {
			return Console{}, false
		}
		return Console{Output: cut(withoutLastReminders(c.text()), maxText), ExitCode: acp.Ptr(0)}, true
	}
	console := Console{Output: cut(joinLines(stdout, stderr), maxText), Task: c.structured.str("backgroundTaskId"), Notes: shellNotes(c)}
	if console.Task == "" && !c.structured.on("interrupted") && c.structured.str("returnCodeInterpretation") == "" {
		console.ExitCode = acp.Ptr(0)
	}
	return console, true
}

// failedConsole takes the exit code off the text of a failed command. A text
// without one is not of a command that ran to its end.
func failedConsole(text string) (Console, bool) {
	line, rest, _ := strings.Cut(text, "\n")
	digits, ok := strings.CutPrefix(line, "Exit code ")
	code, err := strconv.Atoi(strings.TrimSpace(digits))
	if !ok || err != nil || code < 0 {
		return Console{}, false
	}
	return Console{Output: cut(rest, maxText), ExitCode: &code}, true
}

// Unseen is the command of a call whose title does not show it to the letter,
// because it is long or has several lines.
func (t Tool) Unseen() string {
	command := strings.TrimSpace(clean.Visible(readInput(t.Input).str("command")))
	if line := commandTitle(title("", command)); line == command || line == prompt+command {
		return ""
	}
	return command
}
