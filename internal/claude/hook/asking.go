package hook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
)

// Dialect is the name of what hooks ask, where calls of many agents are kept.
const Dialect = "claude-hook"

// Tools that are not mere permissions.
const (
	questionTool = "AskUserQuestion"
	planTool     = "ExitPlanMode"
)

// ErrNotHere means that something is to be answered in the terminal alone.
var ErrNotHere = errors.New("it is for the terminal only")

// maxDetail is how much of a tool's input a person reads away from the terminal.
// What is longer is approved where it can be seen whole.
const maxDetail = 64 << 10

// Asking is what an event asks a person.
type Asking struct {
	// Kind is "question", "permission" or "form".
	Kind string
	// Detail is what a permission is for: the tool's input.
	Detail string
	// Picks are what the options of a permission do: ACP's kinds, and
	// allow_edited, whose note is the plan as the person wants it.
	Picks []string
	// Call is what is asked; its ID and Session are empty.
	Call convert.Call

	event   Event
	choices []Choice     // of a permission
	form    ask.FormCall // of a form
}

// Asking is what the event asks. The error is [ErrNotHere] for what cannot be asked
// elsewhere: a plan that nobody can see, a secret, more than a person reads, questions
// that Claude Code itself refuses.
func (e Event) Asking() (Asking, error) {
	a := Asking{Kind: "permission", event: e}
	switch {
	case e.Name == Elicitation:
		return a.ofForm()
	case !e.Asks() || e.Tool == "":
		return a, fmt.Errorf("%w: it asks nothing", ErrNotHere)
	case e.Name == PermissionDenied && (e.ToolUse == "" || e.Prompt == ""):
		return a, fmt.Errorf("%w: it does not say which call it was, in which turn", ErrNotHere)
	case e.Tool == questionTool && e.Name == PermissionRequest:
		call, err := convert.Parse(e.Input, convert.Limits{})
		if err != nil {
			return a, fmt.Errorf("%w: %w", ErrNotHere, err)
		}
		a.Kind, a.Call = "question", call
	default:
		if err := a.ofTool(); err != nil {
			return a, err
		}
	}
	a.Call.Name, a.Call.SubAgent = e.Tool, e.subAgent()
	return a, nil
}

func (e Event) subAgent() convert.SubAgent {
	return convert.SubAgent{ID: e.Agent, Task: clean.Line(e.AgentType)}
}

// ofTool asks for a permission, or what becomes of a plan.
func (a *Asking) ofTool() error {
	e := a.event
	if a.Detail = clean.Indented(e.Input); !clean.ValidJSON(e.Input) || len(a.Detail) > maxDetail {
		return fmt.Errorf("%w: it is longer than %d bytes", ErrNotHere, maxDetail)
	}
	q := convert.Question{Text: e.title(), Closed: true}
	switch {
	case e.Name == PermissionDenied:
		q.Text, a.choices = e.blocked(), Choices(nil)
		a.choices[1].About = "" // there is no place for a reason
	case e.Tool == planTool:
		plan := gjson.GetBytes(e.Input, "plan")
		if plan.Exists() && plan.Type != gjson.String || !plan.Exists() && gjson.GetBytes(e.Input, "planFilePath").Exists() {
			return fmt.Errorf("%w: there is no plan to see", ErrNotHere)
		}
		a.choices = planChoices(!clean.Blank(plan.Str))
	default:
		a.choices = Choices(e.Suggestions)
	}
	for _, c := range a.choices {
		q.Options = append(q.Options, convert.Option{Label: c.Label, Description: c.About})
		a.Picks = append(a.Picks, c.Kind)
	}
	a.Call = convert.Call{Questions: []convert.Question{q}}
	return nil
}

// planChoices are [PlanChoices] in a terminal: which modes there are is not told, and a yes
// without a mode asks before edits. A plan with a text can be edited.
func planChoices(text bool) []Choice {
	choices := PlanChoices(func(mode string) bool { return mode == "default" || mode == "acceptEdits" })
	choices[0].Updates = nil
	if text {
		edited := Choice{Label: "Yes, but with the plan in the note", About: "write the whole plan as you want it", Kind: about.Edited}
		choices = slices.Insert(choices, len(choices)-1, edited)
	}
	return choices
}

// ofForm asks what an MCP server wants to know.
func (a Asking) ofForm() (Asking, error) {
	e := a.event
	form, err := ask.ServerForm{Server: e.Server, Message: e.Message, Mode: e.Mode, Schema: e.Schema, URL: e.URL}.Call()
	switch {
	case err != nil:
		return a, fmt.Errorf("%w: %w", ErrNotHere, err)
	case form.Secret():
		return a, fmt.Errorf("%w: it asks for a secret", ErrNotHere)
	}
	a.Kind, a.form, a.Call = "form", form, form.Call
	a.Call.SubAgent = e.subAgent()
	return a, nil
}

// Reply is what the hook says when a person has ended the asking. The error is in
// words for that person: Claude Code has no place for the answer.
func (a Asking) Reply(o convert.Outcome) (json.RawMessage, error) {
	switch a.Kind {
	case "form":
		reply, err := a.form.Reply(o)
		if err != nil {
			return nil, err
		}
		return output(Elicitation, fmt.Sprintf(`"action":%s`, clean.JSON(gjson.GetBytes(reply, "action").Str)), `"content":`, gjson.GetBytes(reply, "content").Raw), nil
	case "question":
		if o.Status != convert.Answered {
			return denied(o.Message()), nil // to dismiss one question is not to stop all
		}
		return decided(dialect.ClaudeResult(a.Call, o)), nil
	}
	switch {
	case a.event.Name == PermissionDenied:
		return a.retries(o)
	case o.Status != convert.Answered:
		return denied("The user dismissed the permission request"), nil
	}
	return a.decide(o)
}

// decide is what becomes of a permission.
func (a Asking) decide(o convert.Outcome) (json.RawMessage, error) {
	i, words, err := a.picked(o)
	switch {
	case err != nil:
		return nil, err
	case a.choices[i].Denies():
		return denied(cmp.Or(words, a.choices[i].Message)), nil
	}
	return decided(a.allow(a.choices[i], words)), nil
}

func (a Asking) picked(o convert.Outcome) (int, string, error) {
	return about.Tool{Picks: a.Picks, NoReason: a.NoReason()}.Picked(a.Call.Questions[0].Options, o.Answers)
}

// NoReason reports whether there is no place for words beside a rejection.
func (a Asking) NoReason() bool { return a.event.Name == PermissionDenied }

// allow is a yes. Claude Code passes over one for a plan without its input.
func (a Asking) allow(c Choice, plan string) json.RawMessage {
	parts := []string{`"behavior":"allow"`}
	if a.event.Tool == planTool {
		input := string(a.event.Input)
		if c.Kind == about.Edited {
			input = replaced(a.event.Input, "plan", plan)
		}
		parts = append(parts, `"updatedInput":`+input)
	}
	if c.Updates != nil {
		parts = append(parts, `"updatedPermissions":`+string(c.Updates))
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}")
}

// replaced is an object with another text for a member.
func replaced(input json.RawMessage, name, text string) string {
	var parts []string
	gjson.ParseBytes(input).ForEach(func(k, v gjson.Result) bool {
		value := v.Raw
		if k.Str == name {
			value = string(clean.JSON(text))
		}
		parts = append(parts, k.Raw+":"+value)
		return true
	})
	return "{" + strings.Join(parts, ",") + "}"
}

func denied(message string) json.RawMessage {
	return decided(clean.JSON(struct {
		Behavior string `json:"behavior"`
		Message  string `json:"message"`
	}{"deny", message}))
}

func decided(decision json.RawMessage) json.RawMessage {
	return output(PermissionRequest, `"decision":`+string(decision), "", "")
}

// output is what a hook prints. Its last member is left out where it has no value.
func output(event, member, name, value string) json.RawMessage {
	if value != "" {
		member += "," + name + value
	}
	return json.RawMessage(`{"hookSpecificOutput":{"hookEventName":"` + event + `",` + member + `}}`)
}
