package convert

import (
	"cmp"
	"encoding/json"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Call is one question call of an agent: one or more questions that are
// answered together or not at all.
type Call struct {
	// Session is the ACP session the questions are shown in.
	Session string
	// ID is the agent's id of the call. It becomes the ACP toolCallId.
	ID string
	// Name is the tool's name as the agent spelled it; it may be empty.
	Name string
	// Title names the call where a question has no header; it may be empty.
	Title string
	// Server is the MCP server that asks; it is empty where the agent does.
	Server string
	// SubAgent is who asks; it is zero where the agent itself does.
	SubAgent SubAgent `json:",omitzero"`
	// Questions are in the order in which the agent gave them.
	Questions []Question
	// Input is the tool input as it was received, the source of every field
	// that this package does not know.
	Input json.RawMessage
}

// SubAgent is an agent that works for another one.
type SubAgent struct {
	// ID is the name that the agent's program has for it.
	ID string
	// Parent is the tool call in which it works; it may be empty.
	Parent string
	// Task says in a few words what it works on; it may be empty.
	Task string
	// Session is the id under which the editor has it as a session of its own;
	// empty if it shows it in the session of the call.
	Session string
}

// Question is one question of a call. Its strings are as the agent wrote
// them; whatever shows them cleans them first.
type Question struct {
	Text   string
	Header string
	// Options are the suggested answers. A question without any is answered
	// with free text.
	Options []Option
	// MultiSelect allows more than one option.
	MultiSelect bool
	// Closed takes none but the options, and no words beside them, see [Question.Fits].
	Closed bool `json:",omitempty"` // left out: pending questions are known by a hash of this
	// OwnWords is set where the answer is in the user's own words and the options
	// stand beside it: in a conversation they are named, not numbered, because
	// a number may be the answer.
	OwnWords bool `json:",omitempty"`
	// Format says of a form's field what words are if they are no plain text: integer, number,
	// or a format of JSON Schema, such as date, or password for what nobody else may see; and
	// of Yes and No that they are a boolean.
	Format string `json:",omitempty"`
}

// Option is one suggested answer.
type Option struct {
	Label       string
	Description string
	// Preview is something to show while the option is in focus: a mock-up, a
	// piece of code.
	Preview string
	// Effect says what picking the option does; the zero value makes it (part of)
	// the answer.
	Effect Effect `json:",omitempty"`
}

// Effect is what picking an option does beyond being the answer.
type Effect int

const (
	// EffectAlone ends the question: nothing else is picked beside the option.
	EffectAlone Effect = iota + 1
	// EffectSkip leaves the question without an answer.
	EffectSkip
	// EffectDecline declines the whole call.
	EffectDecline
)

// Answer is what the user said to one question. The zero Answer means that
// the question was left without one.
type Answer struct {
	// Selected holds the labels of the options picked, in option order.
	Selected []string
	// Text is an answer in the user's own words. For a multi-select question
	// it may stand beside picks.
	Text string
	// Note is a remark beside a pick.
	Note string
}

// Empty reports whether the answer says nothing at all: a text of which nothing can be seen does not.
func (a Answer) Empty() bool { return len(a.Items()) == 0 }

// Items lists the picks in option order, then the typed text, if there is one to be seen.
func (a Answer) Items() []string {
	items := append(make([]string, 0, len(a.Selected)+1), a.Selected...)
	if !clean.Blank(a.Text) {
		items = append(items, a.Text)
	}
	return items
}

// Status says how a call ended.
type Status int

const (
	// Answered means that the user gave at least one answer.
	Answered Status = iota + 1
	// Declined means that the user was asked and chose not to answer; the
	// agent goes on without.
	Declined
	// Cancelled means that the user dismissed the question, or cancelled the
	// turn while it was in front of them; the agent stops.
	Cancelled
	// Disconnected means that the client went away while the question was open.
	Disconnected
	// Failed means that the question could not be asked, or that no valid
	// reply came. It is never the user's choice.
	Failed
	// Withdrawn means that the question was taken away before anybody replied to it:
	// with its turn, its session, its process or another question. Nobody chose that,
	// and the agent stops.
	Withdrawn
)

// ByPerson reports whether a call ended by what a person did. Whatever else it ended
// by is never told as the user's choice.
func (s Status) ByPerson() bool { return s == Answered || s == Declined || s == Cancelled }

// String returns the status in lower case, "unknown" for anything else.
func (s Status) String() string {
	return cmp.Or(statuses[s], "unknown")
}

var statuses = map[Status]string{
	Answered: "answered", Declined: "declined", Cancelled: "cancelled",
	Disconnected: "disconnected", Failed: "failed", Withdrawn: "withdrawn",
}

// Outcome is how a call ended.
type Outcome struct {
	Status Status
	// Answers has one entry per question when Status is Answered, and is empty
	// otherwise: a call is answered as a whole or not at all.
	Answers []Answer
	// Reason says what happened, in words for the agent, when Status is
	// anything but Answered.
	Reason string
}

// Messages that an agent gets for a call that was not answered.
const (
	CancelMessage  = "User cancelled the question"
	DeclineMessage = "User declined to answer"
	GoneMessage    = "The client disconnected before the question was answered"
	failMessage    = "The question could not be shown to the user"
	goneMessage    = "The question was withdrawn"
)

// What stands before the reason of a failure when an agent asks through another
// one: the parent could not answer, or the user could not be asked.
const (
	ParentFailed = "Question failed: "
	UserFailed   = "User input request failed: "
)

// Message is what to tell the agent about a call that was not answered. The words for
// what a person did are theirs alone.
func (o Outcome) Message() string {
	switch {
	case o.Status == Declined:
		return DeclineMessage
	case o.Status == Cancelled:
		return CancelMessage
	case o.Reason != "":
		return o.Reason
	case o.Status == Disconnected:
		return GoneMessage
	case o.Status == Withdrawn:
		return goneMessage
	}
	return failMessage
}
