package dialect

import (
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
)

// grok is Grok's ask_user_question as the agent puts it to an ACP client: an
// extension request with Claude's questions. Answers are keyed by question and
// are lists; own words stand in them like labels.
type grok struct{}

const grokMethod = "_x.ai/ask_user_question"

func (grok) id() string { return "grok" }

func (grok) recognises(d document) bool { return d.isMethod(grokMethod) }

func (grok) decode(d document) (convert.Call, error) {
	call, err := convert.Parse(renamed(d.params(), questionNames{multi: "multi_select"}), anyCount)
	if err != nil {
		return convert.Call{}, err
	}
	return inSession(call, d.params()), nil
}

type grokResult struct {
	Outcome     string              `json:"outcome"`
	Answers     map[string][]string `json:"answers,omitempty"`
	Annotations map[string]grokNote `json:"annotations,omitempty"`
}

type grokNote struct {
	Notes string `json:"notes"`
}

// encode has one word for a user who declines and for one who cancels: Grok's
// model goes on after either.
func (grok) encode(d document, c convert.Call, r Reply) Result {
	switch r.Outcome.Status {
	case convert.Answered:
	case convert.Declined, convert.Cancelled:
		return d.respond(grokResult{Outcome: "cancelled"})
	default:
		return d.refuse(r.Outcome)
	}
	result := grokResult{Outcome: "accepted", Answers: map[string][]string{}, Annotations: map[string]grokNote{}}
	for i, a := range r.Outcome.Answers {
		if i >= len(c.Questions) || a.Empty() {
			continue
		}
		result.Answers[c.Questions[i].Text] = a.Items()
		if a.Note != "" {
			result.Annotations[c.Questions[i].Text] = grokNote{a.Note}
		}
	}
	return d.respond(result)
}

func (grok) holds() holds {
	return holds{limits: anyCount, description: true, preview: true, multi: true, open: true}
}

func (grok) write(c convert.Call) any {
	type option struct {
		Label       string `json:"label"`
		Description string `json:"description,omitempty"`
		Preview     string `json:"preview,omitempty"`
	}
	type question struct {
		Question    string   `json:"question"`
		Options     []option `json:"options"`
		MultiSelect bool     `json:"multiSelect"`
	}
	params := struct {
		SessionID  string     `json:"sessionId"`
		ToolCallID string     `json:"toolCallId"`
		Questions  []question `json:"questions"`
		Mode       string     `json:"mode"`
	}{c.Session, c.ID, nil, "default"}
	for _, q := range c.Questions {
		made := question{q.Text, []option{}, q.MultiSelect}
		for _, o := range q.Options {
			made.Options = append(made.Options, option{o.Label, o.Description, o.Preview})
		}
		params.Questions = append(params.Questions, made)
	}
	return rpcCall(grokMethod, params)
}

// read takes own words in the list, and beside the label Other as a note.
func (grok) read(_ document, c convert.Call, g given) (convert.Outcome, error) {
	switch outcome := g.json.Get("outcome").Str; {
	case g.json.Get("error").Exists():
		return failure(g.json.Get("error").String()), nil
	case outcome == "cancelled":
		return notAnswered(convert.Cancelled), nil
	case outcome == "skip_interview", outcome == "chat_about_this": // what was picked before is not the answer
		return notAnswered(convert.Declined), nil
	case outcome != "accepted":
		return convert.Outcome{}, notThe(`"outcome":"accepted", "cancelled", "skip_interview" or "chat_about_this"`)
	}
	for _, keys := range []string{"answers", "annotations"} {
		if err := onlyTexts(c, g.json.Get(keys)); err != nil {
			return convert.Outcome{}, err
		}
	}
	answers := make([]convert.Answer, len(c.Questions))
	for i, q := range c.Questions {
		list, err := strs(read.Field(g.json.Get("answers"), q.Text))
		if err != nil {
			return convert.Outcome{}, err
		}
		note := read.Field(g.json.Get("annotations"), q.Text).Get("notes").String()
		if answers[i] = items(q, list); answers[i].Text == "Other" && note != "" {
			answers[i].Text, note = note, ""
		}
		answers[i].Note = note
	}
	return answered(answers)
}
