package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

// instructions tell a person how to answer questions that wait in a file; more is
// another way.
func instructions(f *pending.File, more string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Nobody could be asked. %s in\n  %s\n\n", waiting(f), clean.Line(f.Path))
	for i, q := range f.Questions {
		mark := ""
		if i < len(f.Answers) && !f.Answers[i].Empty() {
			mark = " (answered)"
		}
		fmt.Fprintf(&b, "  %d. %s%s\n", i+1, clean.Truncate(clean.Line(q.Text), 70), mark)
	}
	fmt.Fprintf(&b, `
To answer, do one of these, and then run the same command again:
  acp-bridge questions answer %s
  write the answers into the file, in place of each null
Or give them with the command:
  --answers '%s'
`, f.ID, exampleAnswers(f))
	if more != "" {
		fmt.Fprintf(&b, "%s\n", more)
	}
	return b.String()
}

// inWords tells how a model reads the answers, in the session that asked.
func inWords(f *pending.File) string {
	return fmt.Sprintf("Or tell the agent in words, with the same command and\n  -p @%s \"your answers\"", clean.Line(f.Path))
}

func waiting(f *pending.File) string {
	if len(f.Questions) == 1 {
		return "The question is waiting"
	}
	if n := f.Left(); n < len(f.Questions) {
		return fmt.Sprintf("%d of %d questions are still open", n, len(f.Questions))
	}
	return fmt.Sprintf("%d questions are waiting", len(f.Questions))
}

// exampleAnswers are answers as they would be typed: the first option of each
// question.
func exampleAnswers(f *pending.File) string {
	list := make([]any, len(f.Questions))
	for i, q := range f.Questions {
		switch {
		case len(q.Options) == 0:
			list[i] = "…"
		case q.MultiSelect:
			list[i] = []int{1, len(q.Options)}
		default:
			list[i] = 1
		}
	}
	data, _ := json.Marshal(list) // numbers and a word always encode
	return string(data)
}

// pendingMessage tells the agent the same in a line.
func pendingMessage(f *pending.File) string {
	return fmt.Sprintf("The user has not been asked yet: there was no terminal. %s in %s. "+
		"Do not guess the answer. Tell the user to run `acp-bridge questions answer %s` or to write the answers into that file, "+
		"and make the same call again afterwards.", waiting(f), f.Path, f.ID)
}
