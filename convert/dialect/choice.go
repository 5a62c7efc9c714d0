package dialect

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
)

// choice is a question that an agent puts into an ordinary permission request:
// its title, with an option for each answer and none to refuse. pi-acp and
// nanocoder ask so. Own words have no place in it.
type choice struct{}

const permissionMethod = "session/request_permission"

// recognises takes a request whose options all allow something once: no
// permission is asked for without a way to refuse it.
func (choice) recognises(d document) bool {
	params := d.root.Get("params")
	options := params.Get("options").Array()
	return d.isMethod(permissionMethod) && len(options) >= 2 && !isQwen(params.Get("toolCall")) &&
		!slices.ContainsFunc(options, func(o gjson.Result) bool { return o.Get("kind").Str != "allow_once" })
}

func (choice) decode(d document) (convert.Call, error) {
	if !d.isMethod(permissionMethod) {
		return convert.Call{}, wrongType(0, "method must be "+permissionMethod)
	}
	params := d.root.Get("params")
	if _, err := listOf(params, "options", 1); err != nil {
		return convert.Call{}, err
	}
	options := labelsOf(params, "name", "optionId")
	if err := options.check(1); err != nil {
		return convert.Call{}, err
	}
	call := convert.Call{Questions: []convert.Question{{
		Text: choiceText(params.Get("toolCall")), Options: options.list, Closed: true,
	}}}
	if err := call.Validate(choiceLimits); err != nil {
		return convert.Call{}, err
	}
	call = inSession(call, params)
	call.ID = params.Get("toolCall.toolCallId").String()
	return call, nil
}

// choiceLimits have no place for a text: an option is the answer.
var choiceLimits = convert.Limits{MaxQuestions: 1, MaxOptions: -1}

// choiceText is the title, and what the content says beyond it.
func choiceText(toolCall gjson.Result) string {
	text := toolCall.Get("title").String()
	for _, c := range toolCall.Get("content").Array() {
		if more := c.Get("content.text").String(); !strings.Contains(text, more) {
			text += "\n\n" + more
		}
	}
	return strings.TrimSpace(text)
}

type permissionOutcome struct {
	Outcome  string `json:"outcome"`
	OptionID string `json:"optionId,omitempty"`
}

func (choice) encode(d document, _ convert.Call, r Reply) Result {
	outcome := permissionOutcome{Outcome: "cancelled"}
	switch r.Outcome.Status {
	case convert.Answered:
		options := labelsOf(d.root.Get("params"), "name", "optionId")
		if len(r.Outcome.Answers) == 1 {
			if ids := options.of(r.Outcome.Answers[0].Selected); len(ids) == 1 {
				outcome = permissionOutcome{"selected", ids[0]}
				break
			}
		}
		return d.refuse(convert.Outcome{Status: convert.Failed, Reason: "the agent takes one of its options and nothing else"})
	case convert.Declined, convert.Cancelled:
	default:
		return d.refuse(r.Outcome)
	}
	return d.respond(map[string]permissionOutcome{"outcome": outcome})
}
