package dialect

import (
	"encoding/json"

	"github.com/acp-bridge/acp-bridge/convert"
)

// grokPlan is the plan that Grok's model wants to leave plan mode with. The
// user lets it, has it plan on, or ends plan mode without the plan.
type grokPlan struct{}

const grokPlanMethod = "_x.ai/exit_plan_mode"

func (grokPlan) recognises(d document) bool { return d.isMethod(grokPlanMethod) }

const grokPlanReady = "The agent is ready to carry out its plan."

var grokPlanOutcomes = map[string]string{
	"Approve":            "approved",
	"Keep planning":      "cancelled",
	"Leave without plan": "abandoned",
}

func (grokPlan) decode(d document) (convert.Call, error) {
	if !d.isMethod(grokPlanMethod) {
		return convert.Call{}, wrongType(0, "method must be "+grokPlanMethod)
	}
	params := d.params()
	text := grokPlanReady
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
	if !r.Outcome.Status.ByPerson() {
		return d.refuse(r.Outcome)
	}
	return d.respond(grokResult{Outcome: "cancelled"}) // it stays in plan mode
}
