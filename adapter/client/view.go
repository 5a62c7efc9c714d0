package client

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

const spinTime = 120 * time.Millisecond

var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// spin keeps the spinner turning while there is one.
func (w *window) spin() tea.Cmd {
	if w.ticks || !w.spins() {
		return nil
	}
	w.ticks = true
	return tea.Tick(spinTime, func(time.Time) tea.Msg { return tick{} })
}

func (w *window) spins() bool { return w.state != idle && len(w.asks) == 0 && !w.over }

// View is the lines that may still change, then the picker, or the spinner and
// the prompt.
func (w *window) View() tea.View {
	if w.over {
		return tea.NewView("")
	}
	lines := w.screen.View()
	if w.picker != nil {
		v := w.picker.View()
		if v.Cursor != nil {
			v.Cursor.Y += len(lines)
		}
		v.Content = strings.Join(append(lines, v.Content), "\n")
		return v
	}
	if w.spins() {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, w.screen.faint(w.screen.cut(w.status())))
	}
	if w.o.Once || w.state == starting {
		return tea.NewView(strings.Join(lines, "\n"))
	}
	typed, cursor := w.prompt.view(w.screen.Width)
	if cursor != nil {
		cursor.Y += len(lines)
	}
	lines = append(lines, typed...)
	if w.hint != "" {
		lines = append(lines, w.screen.faint(w.screen.cut("  "+w.hint)))
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.Cursor = cursor
	return v
}

// status says what is going on.
func (w *window) status() string {
	what := map[state]string{
		starting:   "Starting",
		working:    "Working",
		cancelling: "Cancelling: Ctrl+C again leaves",
	}[w.state]
	if w.state == working {
		what += ": Ctrl+C cancels"
	}
	spent := w.now().Sub(w.since)
	if spent >= time.Second {
		what += fmt.Sprintf(" (%d s)", int(spent.Seconds()))
	}
	return spinner[w.frame%len(spinner)] + " " + what
}

// submit sends what was typed.
func (w *window) submit() {
	switch words := strings.TrimSpace(w.prompt.area.Value()); {
	case words == "":
	case isQuit(words):
		w.leave(nil)
	case w.state != idle:
		w.hint = "The agent still works: Ctrl+C cancels it"
	default:
		w.say(strings.TrimRight(w.prompt.take(), " \n"))
	}
}
