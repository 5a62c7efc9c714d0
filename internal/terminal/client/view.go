package client

import (
	"fmt"
	"strings"
	"time"
)

const spinTime = 120 * time.Millisecond

var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func (w *window) spins() bool { return w.state != idle && len(w.asks) == 0 && !w.over }

// view is the lines that may still change, then the picker, or the spinner and
// the prompt, and where the cursor is.
func (w *window) view() (lines []string, row, col int) {
	if w.pager != nil {
		return w.pager.View(w.screen.style(), w.screen.Width, w.height), -1, 0
	}
	lines = w.screen.View()
	if w.picker != nil {
		return below(lines, w.picker.View)
	}
	if w.spins() {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, w.screen.faint(w.screen.cut(w.status())))
	}
	if w.o.Once || w.state == starting && w.prompt.empty() {
		return lines, -1, 0
	}
	lines, row, col = below(lines, func() ([]string, int, int) { return w.prompt.view(w.screen.Width) })
	lines = append(lines, w.commandLines()...)
	if w.hint != "" {
		lines = append(lines, w.screen.faint(w.screen.cut("  "+w.hint)))
	}
	return lines, row, col
}

// below draws more lines under those that are there.
func below(lines []string, draw func() ([]string, int, int)) ([]string, int, int) {
	more, row, col := draw()
	if row >= 0 {
		row += len(lines)
	}
	return append(lines, more...), row, col
}

// status says what is going on.
func (w *window) status() string {
	what := map[state]string{
		starting:   "Starting",
		working:    "Working",
		cancelling: "Cancelling: Ctrl+C again quits",
	}[w.state]
	if w.state == working {
		what += ": Ctrl+C cancels"
	}
	if spent := w.now().Sub(w.since); spent >= time.Second {
		what += fmt.Sprintf(" (%d s)", int(spent.Seconds()))
	}
	return spinner[w.frame%len(spinner)] + " " + what
}

// submit sends what was typed.
func (w *window) submit() {
	words := strings.TrimSpace(w.prompt.field.String())
	if shown, ok := w.o.run(words); ok {
		w.prompt.take()
		w.screen.shows(shown)
		return
	}
	switch {
	case words == "":
	case isQuit(words):
		w.leave(nil)
	case words == "/help":
		w.prompt.take()
		w.screen.help(w.o.known(w.commands))
	case w.state == starting:
		w.eager, w.hint = true, "It will be sent as soon as the agent is ready"
	case w.state == cancelling:
		w.hint = "The agent is being cancelled: Ctrl+C again quits"
	default:
		w.say(strings.TrimRight(w.prompt.take(), " \n"))
	}
}
