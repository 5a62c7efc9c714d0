package transcript

import (
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// said tells what a text of a user line is.
type said int

const (
	saidNothing     said = iota // the CLI's own, not for people
	saidPrompt                  // what the user typed
	saidCommand                 // a slash command or a "!" line, as typed
	saidOutput                  // what a command of the CLI printed
	saidInterrupted             // the user stopped the turn
)

// reminders wrap what the CLI or an editor adds before or after the user's own
// words.
var reminders = []string{"system-reminder", "task-notification", "ide_opened_file", "ide_selection", "local-command-caveat"}

// words reads a text of a user line: the CLI keeps commands, their output and
// its reminders to the model in tags.
func words(text string) (string, said) {
	text = strings.TrimSpace(unwrap(text))
	switch {
	case text == "":
		return "", saidNothing
	case strings.HasPrefix(text, "[Request interrupted by user") && strings.HasSuffix(text, "]"):
		return text, saidInterrupted
	case strings.HasPrefix(text, "<command-name>"), strings.HasPrefix(text, "<command-message>"):
		if name := strings.TrimSpace(tagged(text, "command-name")); name != "" {
			if !strings.HasPrefix(name, "/") {
				name = "/" + name
			}
			return strings.TrimSpace(name + " " + strings.TrimSpace(tagged(text, "command-args"))), saidCommand
		}
	case strings.HasPrefix(text, "<bash-input>"):
		return "!" + strings.TrimSpace(tagged(text, "bash-input")), saidCommand
	case strings.HasPrefix(text, "<local-command-std"):
		return output(text, "local-command-stdout", "local-command-stderr")
	case strings.HasPrefix(text, "<bash-std"):
		return output(text, "bash-stdout", "bash-stderr")
	}
	return text, saidPrompt
}

func output(text string, tags ...string) (string, said) {
	var parts []string
	for _, tag := range tags {
		if s := strings.TrimSpace(clean.Block(tagged(text, tag))); s != "" {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return "", saidNothing
	}
	return strings.Join(parts, "\n"), saidOutput
}

// unwrap takes reminders off both ends of a text. One in the middle is the
// user's own.
func unwrap(text string) string {
	for {
		before := len(text)
		text = strings.TrimSpace(text)
		for _, tag := range reminders {
			open, end := "<"+tag+">", "</"+tag+">"
			if strings.HasPrefix(text, open) {
				if i := strings.Index(text, end); i >= 0 {
					text = text[i+len(end):]
				}
			}
			if strings.HasSuffix(text, end) {
				if i := strings.LastIndex(text, open); i >= 0 {
					text = text[:i]
				}
			}
		}
		if len(text) == before {
			return text
		}
	}
}

// tagged is what stands between the first tag and its end; without an end, all
// the rest.
func tagged(text, tag string) string {
	_, rest, ok := strings.Cut(text, "<"+tag+">")
	if !ok {
		return ""
	}
	inner, _, _ := strings.Cut(rest, "</"+tag+">")
	return inner
}
