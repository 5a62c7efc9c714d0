package claudetest

import (
	"encoding/json"
	"fmt"
	"time"
)

// Script is what a stand-in does. Its zero value answers every prompt with a
// short text.
type Script struct {
	// Turns are used up in order, one a prompt, per session: a resumed session
	// goes on where it was.
	Turns []Turn

	// Start is done before anything is read: Sleep, Stderr, Die, Raw, Wait.
	Start []Step
	// Opened is done right behind the initialize reply.
	Opened []Step
	// Init replaces fields of the initialize reply; a null takes one away.
	Init map[string]any

	// Replies are what it says to other control requests, by their subtype; null is nothing.
	// All others are refused.
	Replies map[string]json.RawMessage

	// IgnoreInterrupt, IgnoreEOF and IgnoreTerm make a CLI that hangs on.
	IgnoreInterrupt, IgnoreEOF, IgnoreTerm bool
	// Old makes a CLI that does not say what becomes of a prompt.
	Old bool
	// SlowMode is the name of a release upon which it takes a mode; with NoMode it takes none.
	SlowMode string
	NoMode   bool
	// Refuse makes it refuse a prompt whose text contains that.
	Refuse string
	// StopReading makes it read nothing after that many lines.
	StopReading int
	// Grandchild starts a child process in the same group that holds input and
	// output open and never ends. An Escapee leaves the group; the test ends it.
	Grandchild, Escapee bool
}

// Turn is what happens on one prompt.
type Turn struct {
	// Match, if set, takes a prompt whose text contains it, whenever it comes.
	// Such a turn is not used up.
	Match string
	Steps []Step
	// Result replaces the result. Without it the turn ends well.
	Result *Result
	// After are steps of a turn that the CLI starts by itself afterwards.
	After []Step
}

// Step is one thing that the stand-in does. Make it with the functions below.
type Step struct {
	Do     string        `json:",omitempty"`
	Blocks []Block       `json:",omitempty"`
	Stop   string        `json:",omitempty"`
	For    time.Duration `json:",omitempty"`
	Code   int           `json:",omitempty"`
	Signal int           `json:",omitempty"`
	Lines  []string      `json:",omitempty"`
	Name   string        `json:",omitempty"`
	Bytes  int           `json:",omitempty"`
}

// Block is a content block of a message of the model.
type Block struct {
	Type   string   `json:",omitempty"` // text, thinking, tool_use
	Chunks []string `json:",omitempty"`
	// Repeat makes that many text deltas, "0 ", "1 ", …, with Pad behind each of
	// the numbers; Every is the time between them.
	Repeat int           `json:",omitempty"`
	Pad    string        `json:",omitempty"`
	Every  time.Duration `json:",omitempty"`

	ID    string          `json:",omitempty"`
	Name  string          `json:",omitempty"`
	Input json.RawMessage `json:",omitempty"`
	// Ask is the permission request for the tool; nil if it runs without one.
	Ask *Ask `json:",omitempty"`
	// Output is the tool's result, Failed if that is an error, Detail its
	// tool_use_result.
	Output string          `json:",omitempty"`
	Failed bool            `json:",omitempty"`
	Detail json.RawMessage `json:",omitempty"`
	// Inner is what a sub-agent does inside this call. Only its messages with
	// tool calls show, as with the real CLI, and no deltas.
	Inner []Step `json:",omitempty"`
	// While is what happens while the tool runs, before its result.
	While []Step `json:",omitempty"`
}

// Ask is the variable part of a can_use_tool request.
type Ask struct {
	Suggestions json.RawMessage `json:",omitempty"`
	Interaction bool            `json:",omitempty"` // requires_user_interaction
	Description string          `json:",omitempty"`
	// Input replaces the tool's own input in the request.
	Input json.RawMessage `json:",omitempty"`
	// Withdraw is the name of a release upon which the request is taken back and
	// the tool fails.
	Withdraw string `json:",omitempty"`
}

// Result is a turn's result message.
type Result struct {
	Subtype        string // success, error_during_execution, error_max_turns, …
	IsError        bool
	StopReason     string
	TerminalReason string
	Text           string
	Errors         []string
	APIErrorStatus int
	// Error is the kind of an API error, for example authentication_failed. The
	// text is then also shown as a synthetic message, without deltas.
	Error string
}

// Message is a message of the model: its blocks as deltas and whole, its tool
// calls asked for and answered.
func Message(blocks ...Block) Step { return Step{Do: "message", Blocks: blocks} }

// Text is a message of one text, a delta a chunk.
func Text(chunks ...string) Step { return Message(TextBlock(chunks...)) }

// TextBlock is a text block.
func TextBlock(chunks ...string) Block { return Block{Type: "text", Chunks: chunks} }

// ThinkingBlock is a thinking block.
func ThinkingBlock(chunks ...string) Block { return Block{Type: "thinking", Chunks: chunks} }

// Burst is a message of n text deltas "0 ", "1 ", … as fast as can be.
func Burst(n int) Step { return Message(Block{Type: "text", Repeat: n}) }

// Tool is a tool call that runs without being asked for.
func Tool(id, name string, input any, output string) Block {
	return Block{Type: "tool_use", ID: id, Name: name, Input: raw(input), Output: output}
}

// AskTool is a tool call that needs a permission. suggestions may be nil.
func AskTool(id, name string, input any, output string, suggestions any) Block {
	b := Tool(id, name, input, output)
	b.Ask = &Ask{}
	if suggestions != nil {
		b.Ask.Suggestions = raw(suggestions)
	}
	return b
}

// Question is an AskUserQuestion call.
func Question(id string, questions ...map[string]any) Block {
	b := Tool(id, "AskUserQuestion", map[string]any{"questions": questions}, "")
	b.Ask = &Ask{Interaction: true}
	return b
}

// Q is one question with options of that label and a description each.
func Q(text, header string, multi bool, labels ...string) map[string]any {
	var options []map[string]any
	for _, l := range labels {
		options = append(options, map[string]any{"label": l, "description": "about " + l})
	}
	return map[string]any{"question": text, "header": header, "options": options, "multiSelect": multi}
}

// Agent is a call of a sub-agent that does inner.
func Agent(id, description string, inner ...Step) Block {
	b := Tool(id, "Agent", map[string]any{"description": description, "prompt": description, "subagent_type": "general-purpose"}, "sub-agent done")
	b.Inner = inner
	return b
}

// Hang waits for an interrupt.
func Hang() Step { return Step{Do: "hang"} }

// Wait waits until the test calls Release with that name. An interrupt ends it.
func Wait(name string) Step { return Step{Do: "wait", Name: name} }

// Die ends the process with an exit status, after lines on stderr.
func Die(code int, stderr ...string) Step { return Step{Do: "die", Code: code, Lines: stderr} }

// CloseStdout closes the output; the process stays.
func CloseStdout() Step { return Step{Do: "close_stdout"} }

// Raw writes lines as they are: garbage, or messages of unknown types.
func Raw(lines ...string) Step { return Step{Do: "raw", Lines: lines} }

// BigLine writes one message of an unknown type and of n bytes and more.
func BigLine(n int) Step { return Step{Do: "big", Bytes: n} }

// Control sends a control request of that subtype and waits for the reply.
func Control(subtype string) Step { return Step{Do: "control", Name: subtype} }

func raw(v any) json.RawMessage {
	if r, ok := v.(json.RawMessage); ok {
		return r
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("claudetest: %v", err))
	}
	return data
}
