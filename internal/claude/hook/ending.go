package hook

import (
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
)

// Held is an asking that has not come to its end, as [Event.Ends] sees it.
type Held struct {
	// Call is the id of its tool call, if a PreToolUse has told it, and Agent the
	// sub-agent that asks.
	Call, Agent string
	// Document is the event that asked, and Reply what its hook said; nil while the
	// asking is open.
	Document, Reply []byte
}

// What an event makes of an asking.
type What int

const (
	// Nothing means that the event is about something else.
	Nothing What = iota
	// Answered means that it was answered in the terminal, or by another hook.
	Answered
	// Over means that nobody can answer it any more.
	Over
	// Arrived means that Claude Code has gone on with the hook's reply.
	Arrived
	// Late means that Claude Code has passed over the hook's reply.
	Late
)

// Ending is how an asking ended.
type Ending struct {
	What
	// Answers are those of the terminal, where the event tells.
	Answers []convert.Answer
	// Why says what happened, in words for people.
	Why string
}

// Ends says what an event makes of an asking of its session:
//
//	| event                                 | open               | replied to                     |
//	|---------------------------------------|--------------------|--------------------------------|
//	| PostToolUse, …Failure of its call     | answered elsewhere | arrived; late if it said other |
//	| PostToolBatch with its call           | over: no, or talk  | arrived if it was a no; late   |
//	| Stop, StopFailure, UserPromptSubmit   | over, without agent | nothing; late: a pass         |
//	| SubagentStop of its agent             | over               | nothing; late: a pass          |
//	| SessionEnd                            | over               | nothing; late: a pass          |
//	| AnsweredThere, by the same program    | answered elsewhere | nothing                        |
//	| TakenBack, by the same program        | over               | nothing; late: a pass          |
//	| anything else                         | nothing            | nothing                        |
//
// A pass is a yes to what auto mode blocked, as long as it was not used. The call that used it
// is that of the asking from then on.
//
// The main thread's turn ends, and a prompt comes by itself, while a sub-agent still
// asks. What happens in another terminal, in which the same session is open, ends nothing
// here. An asking whose call is not known waits for its turn's end, or for that of its
// connection: words tell nothing.
func (e Event) Ends(h Held) Ending {
	asked, err := Parse(h.Document)
	if err == nil && e.Apart(asked) {
		return Ending{}
	}
	mine := h.Call != "" && e.Agent == h.Agent
	switch e.Name {
	case PostToolUse, PostToolUseFailure:
		if mine && e.ToolUse == h.Call {
			return e.ran(h)
		}
	case PostToolBatch:
		switch {
		case !mine || !slices.Contains(e.Calls, h.Call):
		case asked.Name == PermissionDenied:
			return h.stays(asked)
		default:
			return e.refused(h)
		}
	case Stop, StopFailure, UserPromptSubmit:
		if h.Agent == "" && e.Agent == "" {
			return h.over(asked, "its turn has ended in the terminal")
		}
	case SubagentStop:
		if h.Agent != "" && h.Agent == e.Agent {
			return h.over(asked, "its sub-agent has ended")
		}
	case SessionEnd:
		return h.over(asked, "its session has ended")
	case AnsweredThere, TakenBack:
		switch {
		case err != nil || e.Held == "" || e.Held != asked.Held:
		case e.Name == TakenBack:
			return h.over(asked, "it was dismissed in the terminal, or Claude Code has ended")
		case h.Reply == nil:
			return Ending{What: Answered, Why: "it was allowed in the terminal, and runs already"}
		}
	}
	return Ending{}
}

// over ends what is open. What was replied to has ended already, and whether Claude
// Code had the reply is not known, but that no call had the pass.
func (h Held) over(asked Event, why string) Ending {
	switch {
	case h.Reply == nil:
		return Ending{What: Over, Why: why}
	case h.unused(asked):
		return Ending{What: Late, Why: "the yes was not used: " + why}
	}
	return Ending{}
}

const (
	behavior = "hookSpecificOutput.decision.behavior"
	answers  = "hookSpecificOutput.decision.updatedInput.answers"
)

// ran takes it that the tool of an asking has run.
func (e Event) ran(h Held) Ending {
	given := e.given(h)
	switch {
	case h.Reply == nil:
		return Ending{What: Answered, Answers: given, Why: "it was answered in the terminal"}
	case gjson.GetBytes(h.Reply, behavior).Str == "deny":
		return Ending{What: Late, Why: "it was allowed in the terminal before"}
	case e.Tool == questionTool && e.Name == PostToolUse && !sameAnswers(gjson.GetBytes(h.Reply, answers), gjson.GetBytes(e.Input, "answers")):
		return Ending{What: Late, Answers: given, Why: "it was answered in the terminal before"}
	case e.Tool == planTool && e.Name == PostToolUse && !e.asReplied(h):
		return Ending{What: Late, Why: "the plan was approved in the terminal before, in another way"}
	}
	return Ending{What: Arrived}
}

// asReplied reports whether a plan was approved as the hook said, as far as the event tells:
// it has the plan if that was changed, and the mode in which Claude Code goes on. A yes
// that sets no mode may lead to any.
func (e Event) asReplied(h Held) bool {
	decision := gjson.GetBytes(h.Reply, "hookSpecificOutput.decision")
	asked, _ := Parse(h.Document) // it was read before
	plan := gjson.GetBytes(e.Input, "plan")
	if !plan.Exists() {
		plan = gjson.GetBytes(asked.Input, "plan")
	}
	if strings.TrimSpace(decision.Get("updatedInput.plan").Str) != strings.TrimSpace(plan.Str) {
		return false
	}
	accepts := decision.Get("updatedPermissions.0.mode").Str == "acceptEdits"
	return !accepts || e.Permits != "default" && e.Permits != "auto"
}

// refused takes it that the batch of an asking is over, and nothing told that its tool ran.
// That may be lost: whether a person said no in the terminal is not known.
func (e Event) refused(h Held) Ending {
	switch {
	case h.Reply == nil:
		return Ending{What: Over, Why: "Claude Code went on without it, as after a no in the terminal"}
	case gjson.GetBytes(h.Reply, behavior).Str == "deny":
		return Ending{What: Arrived}
	}
	return Ending{What: Late, Why: "Claude Code went on without it before, as after a no in the terminal"}
}

func sameAnswers(a, b gjson.Result) bool {
	return maps.EqualFunc(a.Map(), b.Map(), func(x, y gjson.Result) bool { return x.String() == y.String() })
}

// given are the answers that a question's tool has run with.
func (e Event) given(h Held) []convert.Answer {
	asked, err := Parse(h.Document)
	if err != nil || asked.Tool != questionTool || e.Tool != questionTool {
		return nil
	}
	call, err := convert.Parse(asked.Input, convert.Limits{})
	if err != nil {
		return nil
	}
	list, any := make([]convert.Answer, len(call.Questions)), false
	said := gjson.GetBytes(e.Input, "answers").Map()
	for i, q := range call.Questions {
		list[i] = ReadAnswer(q, said[q.Text].String())
		any = any || !list[i].Empty()
	}
	if !any {
		return nil
	}
	return list
}

// ReadAnswer takes a label for a pick, labels as a result writes them for several, and
// anything else for the user's own words.
func ReadAnswer(q convert.Question, text string) convert.Answer {
	parts := []string{text}
	if q.MultiSelect && !q.HasLabel(text) {
		parts = convert.Split(text)
	}
	switch {
	case strings.TrimSpace(text) == "":
		return convert.Answer{}
	case !slices.ContainsFunc(parts, func(p string) bool { return !q.HasLabel(p) }):
		return convert.Answer{Selected: parts}
	}
	return convert.Answer{Text: text}
}
