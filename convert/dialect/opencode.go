package dialect

import (
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
)

// openCode is OpenCode's question (and Kilo's), as a tool call or as the request
// that its API lists. Answers are lists of labels in the order of the questions,
// own words among them; for a question without an answer the list is empty.
type openCode struct{}

func (openCode) id() string { return "opencode" }

func (openCode) recognises(d document) bool {
	if d.tool != "" {
		return d.tool == "question" && !d.typed()
	}
	return strings.HasPrefix(d.root.Get("id").Str, "que") && d.root.Get("sessionID").Exists()
}

// openCodeLimits are none: OpenCode checks no counts, and positions tell the
// questions apart.
var openCodeLimits = convert.NoLimits

func (openCode) decode(d document) (convert.Call, error) {
	call, err := convert.Parse(renamed(d.input, questionNames{multi: "multiple"}), openCodeLimits)
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

type openCodeReply struct {
	Answers [][]string `json:"answers"`
}

// encode is the body of the API's reply. It has none for what is not an answer:
// the question is then rejected.
func (openCode) encode(d document, c convert.Call, r Reply) Result {
	if r.Outcome.Status != convert.Answered {
		return d.refuse(r.Outcome)
	}
	reply := openCodeReply{make([][]string, len(c.Questions))}
	for i := range c.Questions {
		reply.Answers[i] = []string{}
		if i < len(r.Outcome.Answers) {
			reply.Answers[i] = withNote(r.Outcome.Answers[i])
		}
	}
	return d.respond(reply)
}

// withNote are the items of an answer, a note behind the last of them.
func withNote(a convert.Answer) []string {
	list := a.Items()
	if last := len(list) - 1; last >= 0 {
		list[last] = convert.WithNote(list[last], a.Note)
	}
	return list
}

func (openCode) holds() holds {
	limits := openCodeLimits
	limits.RequireHeader = true
	return holds{limits: limits, header: true, description: true, multi: true, open: true, closed: true}
}

func (openCode) write(c convert.Call) any {
	type option struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	}
	type question struct {
		Question string   `json:"question"`
		Header   string   `json:"header"`
		Options  []option `json:"options"`
		Multiple bool     `json:"multiple,omitempty"`
		Custom   *bool    `json:"custom,omitempty"`
	}
	input := struct {
		Questions []question `json:"questions"`
	}{}
	for _, q := range c.Questions {
		made := question{Question: q.Text, Header: q.Header, Options: []option{}, Multiple: q.MultiSelect}
		if q.Closed {
			made.Custom = new(bool)
		}
		for _, o := range q.Options {
			made.Options = append(made.Options, option{o.Label, o.Description})
		}
		input.Questions = append(input.Questions, made)
	}
	return toolUse{c.ID, "question", input}
}

func (openCode) read(_ document, c convert.Call, g given) (convert.Outcome, error) {
	list := g.json.Get("answers")
	switch {
	case g.json.Get("error").Exists():
		return failure(g.json.Get("error").String()), nil
	case !list.IsArray() || len(list.Array()) > len(c.Questions):
		return convert.Outcome{}, notThe(`{"answers":[[…],…]}, one list a question`)
	}
	answers := make([]convert.Answer, len(c.Questions))
	for i, v := range list.Array() {
		said, err := strs(v)
		if err != nil {
			return convert.Outcome{}, err
		}
		answers[i] = cutNote(c.Questions[i], said)
	}
	return answered(answers)
}

// cutNote reads what withNote wrote.
func cutNote(q convert.Question, list []string) convert.Answer {
	a := items(q, list)
	if a.Text == "" || len(list) == 0 {
		return a
	}
	last := said(convert.Question{Options: q.Options}, list[len(list)-1])
	if last.Note == "" {
		return a
	}
	a = items(q, slices.Concat(list[:len(list)-1], last.Selected))
	a.Note = last.Note
	return a
}
