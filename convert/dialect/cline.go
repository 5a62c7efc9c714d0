package dialect

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
)

// cline is Cline's ask_question: one question with two to five options. The
// result is the bare answer. Older versions call it ask_followup_question.
type cline struct{}

const followUp = "ask_followup_question"

func (cline) id() string { return "cline" }

func (cline) recognises(d document) bool {
	return d.tool == "ask_question" || d.tool == followUp && !d.input.Get("follow_up").Exists()
}

var clineLimits = convert.Limits{MaxQuestions: 1, MaxOptions: 5, FreeText: true}

func (cline) decode(d document) (convert.Call, error) {
	return oneQuestion(d.input, "options", clineLimits)
}

// noAnswer stands before the reason where a tool has no words of its own for a
// question without an answer.
const noAnswer = "The question was not answered: "

func (cline) encode(_ document, c convert.Call, r Reply) Result {
	if r.Outcome.Status != convert.Answered {
		return Result{Body: []byte(noAnswer + r.Outcome.Message()), IsError: true}
	}
	return Result{Body: []byte(answerText(c.Questions[0], r.Outcome.Answers[0]))}
}

func (cline) holds() holds {
	limits := clineLimits
	limits.FreeText = false
	return holds{limits: limits, open: true}
}

func (cline) write(c convert.Call) any {
	q := c.Questions[0]
	return toolUse{c.ID, "ask_question", struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}{q.Text, append([]string{}, labelsOf(q)...)}}
}

func (cline) read(_ document, c convert.Call, g given) (convert.Outcome, error) {
	if reason, ok := strings.CutPrefix(g.text, noAnswer); ok {
		return failure(reason), nil
	}
	if g.rpc {
		return convert.Outcome{}, notThe("the answer as a text, got a JSON-RPC response")
	}
	return answered([]convert.Answer{said(c.Questions[0], g.text)})
}

// roo is Roo Code's ask_followup_question: one question with suggestions, each
// of which may switch to another mode. The result is a user message in tags.
type roo struct{}

func (roo) id() string { return "roo" }

func (roo) recognises(d document) bool {
	return d.tool == followUp && d.input.Get("follow_up").Exists()
}

// rooLimits take a question without suggestions for one that is answered in
// words, as Roo does. Its own schema asks for a suggestion.
var rooLimits = convert.Limits{MaxQuestions: 1, MinOptions: -1, FreeText: true}

func (roo) decode(d document) (convert.Call, error) {
	text, err := textOf(d.input, "question", 1)
	if err != nil {
		return convert.Call{}, err
	}
	suggestions, err := listOf(d.input, "follow_up", 1)
	if err != nil {
		return convert.Call{}, err
	}
	call := convert.Call{Input: raw(d.input), Questions: []convert.Question{{Text: text}}}
	for _, s := range suggestions {
		o := convert.Option{Label: s.Get("text").String()}
		if s.Type == gjson.String {
			o.Label = s.Str
		}
		if mode := s.Get("mode").String(); mode != "" {
			o.Description = "then in mode " + mode
		}
		call.Questions[0].Options = append(call.Questions[0].Options, o)
	}
	return call, call.Validate(rooLimits)
}

const rooOpen, rooClose = "<user_message>\n", "\n</user_message>"

func (roo) encode(_ document, c convert.Call, r Reply) Result {
	if r.Outcome.Status != convert.Answered {
		return Result{Body: []byte(noAnswer + r.Outcome.Message()), IsError: true}
	}
	return Result{Body: []byte(rooOpen + answerText(c.Questions[0], r.Outcome.Answers[0]) + rooClose)}
}

func (roo) holds() holds {
	limits := rooLimits
	limits.FreeText = false
	return holds{limits: limits, open: true}
}

func (roo) write(c convert.Call) any {
	type suggestion struct {
		Text string  `json:"text"`
		Mode *string `json:"mode"`
	}
	input := struct {
		Question string       `json:"question"`
		FollowUp []suggestion `json:"follow_up"`
	}{Question: c.Questions[0].Text}
	for _, label := range labelsOf(c.Questions[0]) {
		input.FollowUp = append(input.FollowUp, suggestion{Text: label})
	}
	return toolUse{c.ID, followUp, input}
}

func (roo) read(_ document, c convert.Call, g given) (convert.Outcome, error) {
	if reason, ok := strings.CutPrefix(g.text, noAnswer); ok {
		return failure(reason), nil
	}
	text, begins := strings.CutPrefix(g.text+"\n", rooOpen)
	text, ends := strings.CutSuffix(text, rooClose+"\n")
	if !begins || !ends {
		return convert.Outcome{}, notThe("<user_message>…</user_message>")
	}
	return answered([]convert.Answer{said(c.Questions[0], text)})
}
