package dialect

import (
	"github.com/acp-bridge/acp-bridge/convert"
)

// grok is Grok's ask_user_question as the agent puts it to an ACP client: an
// extension request with Claude's questions. Answers are keyed by question and
// are lists; own words stand in them like labels.
type grok struct{}

const grokMethod = "_x.ai/ask_user_question"

func (grok) recognises(d document) bool { return d.isMethod(grokMethod) }

func (grok) decode(d document) (convert.Call, error) {
	call, err := convert.Parse(renamed(d.params(), "multi_select"), anyCount)
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
