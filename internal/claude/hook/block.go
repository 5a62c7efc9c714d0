package hook

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Auto mode denies what its check flags, and asks nobody. A yes does not undo that: it is a
// pass for one call like it, which the model has to make again.

const (
	// Unchecked is the reason where nothing could check a call.
	Unchecked = "Classifier unavailable"
	maxReason = 300
	maxTitle  = 100
)

// NoSay is what a hook replies that has no say.
var NoSay = json.RawMessage(`{}`)

// Retry is what the hook of a blocked call says: that it may be made again.
var Retry = output(PermissionDenied, `"retry":true`, "", "")

// Ask is said before a call that a person shall be asked about.
func Ask(why string) json.RawMessage {
	return output(PreToolUse, `"permissionDecision":"ask"`, `"permissionDecisionReason":`, string(clean.JSON(why)))
}

// title is what is called, in a line.
func (e Event) title() string {
	if title := (display.Tool{Name: e.Tool, Input: e.Input}).Info(e.Dir).Title; !clean.Blank(title) {
		return title
	}
	return e.Tool
}

// blocked asks about a call that auto mode has denied.
func (e Event) blocked() string {
	call := "`" + clean.Truncate(clean.Line(e.title()), maxTitle) + "`"
	if e.Words == Unchecked {
		return "Auto mode could not check " + call + ", and blocked it. Allow this once?"
	}
	return "Auto mode blocked " + call + ": " + clean.Truncate(clean.Line(e.Words), maxReason) + ". Allow this once?"
}

// retries is what the hook of a blocked call says after a person's answer.
func (a Asking) retries(o convert.Outcome) (json.RawMessage, error) {
	if o.Status != convert.Answered {
		return NoSay, nil
	}
	if i, _, err := a.picked(o); err != nil || a.choices[i].Denies() {
		return NoSay, err
	}
	return Retry, nil
}

// Retries reports whether a reply lets a blocked call be made again.
func Retries(reply []byte) bool { return gjson.GetBytes(reply, "hookSpecificOutput.retry").Bool() }

// Again is what the model is told of a blocked call, behind its batch, when a person has
// allowed it, and behind what it is told of others.
func (e Event) Again(others json.RawMessage) json.RawMessage {
	text := gjson.GetBytes(others, "hookSpecificOutput.additionalContext").Str + "The user was asked about the call of " + e.Tool + " that auto mode blocked (" + clean.Truncate(clean.Line(e.title()), maxReason) +
		"), and allowed exactly this call, once. Make it again now, with the same input. Nothing else is allowed by that.\n"
	return output(PostToolBatch, `"additionalContext":`+string(clean.JSON(text)), "", "")
}

// Pass is what is said before a call that has a pass of somebody. While Claude Code plans
// that a hook allows it counts for nothing: there it is asked again.
func Pass(by, mode string) json.RawMessage {
	if mode == "plan" {
		return Ask("Allowed once by " + by + ", to be confirmed while planning")
	}
	return output(PreToolUse, `"permissionDecision":"allow"`, `"permissionDecisionReason":`, string(clean.JSON("Allowed once by "+by)))
}

// unused reports whether a blocked call was allowed, and not made again.
func (h Held) unused(asked Event) bool {
	return asked.Name == PermissionDenied && h.Call == asked.ToolUse && Retries(h.Reply)
}

// stays takes it that the batch of a blocked call is over, or that of the one that had its
// pass.
func (h Held) stays(asked Event) Ending {
	switch {
	case h.Reply == nil:
		return Ending{What: Over, Why: "it stays blocked"}
	case h.unused(asked):
		return Ending{}
	case Retries(h.Reply):
		return Ending{What: Late, Why: "it was made again, and nothing says that it ran"}
	}
	return Ending{What: Arrived}
}
