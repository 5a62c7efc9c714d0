package scripted

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

// DemoPrompt is what a person would say to begin with.
const DemoPrompt = "Set up a new service"

// input is the call as a model would write it.
const input = `{"questions":[
	{"question":"Which database should we use?","header":"Database","options":[
		{"label":"PostgreSQL","description":"Battle-tested relational DB"},
		{"label":"SQLite","description":"Lightweight, file-based"},
		{"label":"MongoDB","description":"Document store"}]},
	{"question":"Which features do you want?","header":"Features","multiSelect":true,"options":[
		{"label":"Auth","description":"Users and sessions"},
		{"label":"Logs","description":"Structured, with request ids"},
		{"label":"Metrics","description":"Counters and timings"},
		{"label":"Cache","description":"In memory"}]},
	{"question":"What should we name this service?","header":"Service name"}]}`

// limits let a question be without options, which Claude Code's own never are.
var limits = convert.Limits{FreeText: true}

// DemoCall returns the questions that the demo asks.
func DemoCall() convert.Call {
	c, err := convert.Parse([]byte(gjson.Get(input, "@ugly").Raw), limits)
	if err != nil {
		panic(err) // the script is wrong
	}
	c.Name = "AskUserQuestion"
	return c
}

const greeting = "Hello! I am a script: there is no model, no account and no network behind me. " +
	"But the questions are real: before I set anything up I have three of them.\n"

// play is one turn of the agent.
func play(out *editor.Session, id string) {
	say := func(text string) { out.Text(editor.MessageChunk, text) }
	for piece := range strings.SplitAfterSeq(greeting, ": ") { // as a model streams
		say(piece)
	}
	call := DemoCall()
	call.ID = id
	switch o := Ask(out, call); o.Status {
	case convert.Answered:
		say(received(call, o))
	case convert.Cancelled:
		say("You cancelled, so I have no answers.")
	case convert.Disconnected:
	default:
		say(fmt.Sprintf("I have no answers: %s.", strings.TrimSuffix(o.Message(), ".")))
	}
}

// received says what the agent got, for people and as it came.
func received(c convert.Call, o convert.Outcome) string {
	var b strings.Builder
	b.WriteString("Thank you. This is what I received:\n\n")
	for i, q := range c.Questions {
		answer := convert.WithNote(strings.Join(o.Answers[i].Items(), ", "), o.Answers[i].Note)
		if o.Answers[i].Empty() {
			answer = "(no answer)"
		}
		fmt.Fprintf(&b, "- %s: %s\n", q.Header, answer)
	}
	b.WriteString("\nClaude Code would get it as:\n\n")
	input := gjson.GetBytes(dialect.ClaudeResult(c, o), "updatedInput")
	b.WriteString(input.Get("answers").Raw + "\n")
	if notes := input.Get("annotations"); notes.Exists() {
		b.WriteString("\nwith the annotations\n\n" + notes.Raw + "\n")
	}
	return b.String()
}
