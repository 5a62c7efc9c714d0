package transcript

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"
)

// Said is what was said last in a session, as it was said.
type Said struct {
	Title  string
	Model  string // of the last message; empty if there is none
	Prompt string // what the user wrote last
	Words  string // what the agent has said since
}

// Last reads the end of a session file. What was said too long before that is not there.
func Last(path string) (Said, bool) {
	info, ok := Stat(path)
	if !ok {
		return Said{}, false
	}
	f, err := openRegular(path)
	if err != nil {
		return Said{}, false
	}
	defer f.Close()
	const most = 4 * window
	data := make([]byte, min(info.Size, most))
	n, _ := f.ReadAt(data, max(0, info.Size-most)) // as much as there is
	data = data[:n]
	if info.Size > most {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	s := Said{Title: info.Title}
	for line := range bytes.Lines(data) {
		switch gjson.GetBytes(line, "type").Str {
		case "user", "attachment":
			s.user(parseRow(gjson.ParseBytes(line)))
		case "assistant":
			s.agent(parseRow(gjson.ParseBytes(line)))
		}
	}
	return s, true
}

func (s *Said) user(r row) {
	if r.sidechain || r.notPrompt() {
		return
	}
	var typed []string
	for _, content := range []gjson.Result{r.content, r.queued()} {
		for _, b := range blocks(content) {
			if text, what := words(b.Get("text").Str); what == saidPrompt || what == saidCommand {
				typed = append(typed, text)
			}
		}
	}
	if len(typed) > 0 {
		s.Prompt, s.Words = strings.Join(typed, "\n"), ""
	}
}

func (s *Said) agent(r row) {
	if r.sidechain || r.failed {
		return
	}
	if r.model != "" && !strings.HasPrefix(r.model, "<") { // the CLI's own messages have one in brackets
		s.Model = r.model
	}
	for _, b := range blocks(r.content) {
		if text := b.Get("text").Str; b.Get("type").Str == "text" && text != "" {
			s.Words = strings.TrimPrefix(s.Words+"\n\n"+text, "\n\n")
		}
	}
}
