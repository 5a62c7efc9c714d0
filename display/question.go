package display

import (
	"encoding/json"
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

// askUserInfo shows ask_user, which some agents call with a list of questions,
// others with one. Of one question the title is its beginning.
func askUserInfo(t Tool, in input, cwd string) Info {
	if _, several := in.list("questions"); several {
		return questionInfo(t, in, cwd)
	}
	return Info{
		Title:   title("ask_user", clean.First(clean.Line(in.str("question")), askTitle)),
		Kind:    acp.ToolKindThink,
		Content: prose(questionText(in)),
	}
}

// askTitle is how much of a question stands in the title.
const askTitle = 60

func questionText(q input) string {
	var lines []string
	if text := strings.TrimSpace(clean.Block(q.str("question"))); text != "" {
		lines = append(lines, text)
	}
	for _, key := range []string{"options", "suggestions", "choices"} {
		options, _ := q.list(key)
		for _, o := range options {
			if line := optionText(o); line != "" {
				lines = append(lines, "  - "+line)
			}
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

// answerResult shows what came back for a question call: a line for each
// answer. The result of one question may be the bare answer.
func answerResult(c ended) Update {
	text := strings.TrimSpace(withoutLastReminders(c.text()))
	result := readInput(json.RawMessage(text))
	switch list, ok := result.list("answers"); {
	case ok && len(list) > 0:
		return answered(listed(list))
	case result.Get("answers").IsObject() && len(mapped(result.Get("answers"))) > 0:
		return answered(mapped(result.Get("answers")))
	case result.on("cancelled"):
		return Update{Status: acp.ToolCallStatusFailed, Content: prose("Cancelled")}
	case result.on("connectionLost"):
		return Update{Status: acp.ToolCallStatusFailed, Content: prose("The connection was lost")}
	case result.str("error") != "":
		return Update{Status: acp.ToolCallStatusFailed, Content: prose(result.str("error"))}
	case result.str("pendingFile") != "":
		return Update{Content: prose(result.str("message", "pendingFile"))}
	case c.in.str("question") != "" && text != "":
		return answered([]answer{{c.in.str("question"), text}})
	}
	return proseResult(c)
}

type answer struct{ question, text string }

// answered has the answers in the content. The title says them, too: many
// clients show nothing else afterwards.
func answered(list []answer) Update {
	var lines []string
	for _, a := range list {
		lines = append(lines, clean.Line(a.question)+" → "+clean.Line(a.text))
	}
	u := Update{Content: prose(strings.Join(lines, "\n\n"))}
	if len(list) == 1 {
		u.Title = title("", lines[0])
	}
	return u
}

// listed reads answers in a list.
func listed(list []gjson.Result) (answers []answer) {
	for _, v := range list {
		texts := []string{}
		for _, item := range object(v).Get("answer").Array() {
			texts = append(texts, item.String())
		}
		text := strings.Join(texts, ", ")
		if note := object(v).str("note"); note != "" {
			text += " (note: " + note + ")"
		}
		answers = append(answers, answer{object(v).str("question"), text})
	}
	return answers
}

// mapped reads answers by question.
func mapped(m gjson.Result) (answers []answer) {
	m.ForEach(func(k, v gjson.Result) bool {
		answers = append(answers, answer{k.Str, v.String()})
		return true
	})
	return answers
}
