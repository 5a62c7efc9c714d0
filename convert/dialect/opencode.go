package dialect

import (
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
)

// openCode is OpenCode's question (and Kilo's), as a tool call or as the request
// that its API lists. Answers are lists of labels in the order of the questions,
// own words among them; for a question without an answer the list is empty.
type openCode struct{}

func (openCode) recognises(d document) bool {
	if d.tool != "" {
		return d.tool == "question" && !d.typed()
	}
	return strings.HasPrefix(d.root.Get("id").Str, "que") && d.root.Get("sessionID").Exists()
}

// decode has no limits: OpenCode checks no counts, and positions tell the
// questions apart.
func (openCode) decode(d document) (convert.Call, error) {
	call, err := convert.Parse(renamed(d.input, "multiple"), convert.NoLimits)
	if err != nil {
		return convert.Call{}, err
	}
	for i, q := range d.questions() {
		custom, err := flagOf(q, "custom", i+1, true)
		if err != nil {
			return convert.Call{}, err
		}
		call.Questions[i].Closed = len(call.Questions[i].Options) > 0 && !custom
	}
	call.Input = raw(d.input)
	call.Session, call.ID = d.input.Get("sessionID").String(), d.input.Get("tool.callID").String()
	return call, nil
}

// encode is the body of the API's reply. It has none for what is not an answer:
// the question is then rejected.
func (openCode) encode(d document, c convert.Call, r Reply) Result {
	if r.Outcome.Status != convert.Answered {
		return d.refuse(r.Outcome)
	}
	answers := make([][]string, len(c.Questions))
	for i := range c.Questions {
		answers[i] = []string{}
		if i < len(r.Outcome.Answers) {
			answers[i] = withNote(r.Outcome.Answers[i])
		}
	}
	return d.respond(map[string]any{"answers": answers})
}

// withNote are the items of an answer, a note behind the last of them.
func withNote(a convert.Answer) []string {
	list := a.Items()
	if last := len(list) - 1; last >= 0 {
		list[last] = convert.WithNote(list[last], a.Note)
	}
	return list
}
