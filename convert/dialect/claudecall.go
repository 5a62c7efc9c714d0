package dialect

import (
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
)

func (claude) holds() holds {
	return holds{header: true, description: true, preview: true, multi: true, open: true}
}

func (claude) write(c convert.Call) any {
	return toolUse{c.ID, "AskUserQuestion", questionList{questionsJSON(c.Questions)}}
}

// read takes a permission result, or the updated input alone.
func (claude) read(_ document, c convert.Call, g given) (convert.Outcome, error) {
	input := g.json
	switch g.json.Get("behavior").Str {
	case "allow":
		input = g.json.Get("updatedInput")
	case "deny":
		return failure(g.json.Get("message").String()), nil
	}
	if !input.Get("answers").IsObject() {
		return convert.Outcome{}, notThe(`{"behavior":"allow","updatedInput":{"answers":{…}}} or {"behavior":"deny",…}`)
	}
	o, err := byText(c, input.Get("answers"))
	for i := range o.Answers {
		o.Answers[i].Note = read.Field(read.Field(input.Get("annotations"), c.Questions[i].Text), "notes").String()
	}
	return o, err
}
