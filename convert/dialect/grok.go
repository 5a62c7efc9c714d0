package dialect

import (
	"encoding/json"

	"github.com/acp-bridge/acp-bridge/convert"
)

// grok is Grok's ask_user_question as the agent puts it to an ACP client: an
// extension request with Claude's questions. Answers are keyed by question and
// are lists; own words stand in them like labels.
type grok struct{}

const grokMethod = "_x.ai/ask_user_question"

func (grok) id() string { return "grok" }

func (grok) recognises(d document) bool { return d.isMethod(grokMethod) }

func (grok) decode(d document) (convert.Call, error) {
	params := d.root.Get("params")
	call, err := convert.Parse([]byte(params.Raw), anyCount)
	if err != nil {
		return convert.Call{}, err
	}
	return inSession(call, params), nil
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

// grokPlan is the plan that Grok's model wants to leave plan mode with. The
// user lets it, has it plan on, or ends plan mode without the plan.
type grokPlan struct{}

const grokPlanMethod = "_x.ai/exit_plan_mode"

func (grokPlan) id() string { return "grok-plan" }

func (grokPlan) recognises(d document) bool { return d.isMethod(grokPlanMethod) }

var grokPlanOutcomes = map[string]string{
	"Approve":            "approved",
	"Keep planning":      "cancelled",
	"Leave without plan": "abandoned",
}

func (grokPlan) decode(d document) (convert.Call, error) {
	params := d.root.Get("params")
	text := "The agent is ready to carry out its plan."
	if plan := params.Get("planContent").String(); plan != "" {
		text = plan + "\n\n" + text
	}
	return inSession(convert.Call{Questions: []convert.Question{{
		Text: text, Header: "Plan", Closed: true,
		Options: []convert.Option{
			{Label: "Approve", Description: "leave plan mode and carry it out"},
			{Label: "Keep planning", Description: "stay in plan mode; say what to change in your next message"},
			{Label: "Leave without plan", Description: "leave plan mode and drop the plan"},
		},
	}}}, params), nil
}

func (grokPlan) encode(d document, _ convert.Call, r Reply) Result {
	if r.Outcome.Status == convert.Answered && len(r.Outcome.Answers) == 1 && len(r.Outcome.Answers[0].Selected) == 1 {
		return d.respond(json.RawMessage(`{"outcome":"` + grokPlanOutcomes[r.Outcome.Answers[0].Selected[0]] + `"}`))
	}
	if r.Outcome.Status == convert.Failed || r.Outcome.Status == convert.Disconnected {
		return d.refuse(r.Outcome)
	}
	return d.respond(grokResult{Outcome: "cancelled"}) // it stays in plan mode
}
