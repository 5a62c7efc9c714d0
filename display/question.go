package display

import (
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// questionInfo shows a question call: each question, then a line for each of
// its options, questions apart by a blank line.
func questionInfo(_ Tool, in input, _ string) Info {
	info := Info{Title: "Question", Kind: acp.ToolKindThink}
	questions, _ := in.list("questions")
	var texts []string
	for i, q := range questions {
		if i == 0 {
			info.Title = title("Question", object(q).str("header"))
		}
		if text := questionText(object(q)); text != "" {
			texts = append(texts, text)
		}
	}
	info.Content = prose(strings.Join(texts, "\n\n"))
	return info
}

func questionText(q input) string {
	var lines []string
	if text := strings.TrimSpace(clean.Block(q.str("question"))); text != "" {
		lines = append(lines, text)
	}
	options, _ := q.list("options")
	for _, o := range options {
		if line := optionText(o); line != "" {
			lines = append(lines, "  - "+line)
		}
	}
	return strings.Join(lines, "\n")
}

// optionText is "label: description"; an option may also be a plain string.
func optionText(o gjson.Result) string {
	if o.Type == gjson.String {
		return clean.Line(o.Str)
	}
	label := clean.Line(object(o).str("label"))
	description := clean.Line(object(o).str("description"))
	if label == "" || description == "" {
		return label + description
	}
	return label + ": " + description
}
