package scripted

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// step is one thing to ask. It says what to do, does it, and returns what came of
// it in words; fine means that it is what was asked for.
type step struct {
	what, todo string
	run        func(c *check, id string) (got string, fine bool)
}

// result is what came of a step.
type result struct {
	step
	rungs    []string // by which it was asked, in order
	got      string
	fine     bool
	problems []string // seen on the wire
}

var (
	database = convert.Question{Text: "Which database should we use?", Header: "Database", Options: []convert.Option{
		{Label: "PostgreSQL", Description: "Battle-tested relational DB"}, {Label: "SQLite", Description: "Lightweight, file-based"}, {Label: "MongoDB", Description: "Document store"}}}
	features = convert.Question{Text: "Which features do you want?", Header: "Features", MultiSelect: true, Options: []convert.Option{
		{Label: "Auth", Description: "Users and sessions"}, {Label: "Logs", Description: "Structured"}, {Label: "Metrics", Description: "Counters and timings"}}}
	licence = convert.Question{Text: "Which licence?", Header: "Licence", Options: []convert.Option{{Label: "MIT"}, {Label: "Apache 2.0"}}}
)

// word is what the user is asked to type: nothing that could be picked.
const word = "bridge"

// steps are the check, in order. The last one ends a turn.
func steps() []step {
	return []step{
		{"one pick", "Pick **SQLite**, the second option.", questions([]convert.Question{database}, answered("SQLite"))},
		{"several picks", "Pick **Auth** and **Logs**, two options of one question, and then Done if there is such an option.",
			questions([]convert.Question{features}, answered("Auth, Logs"))},
		{"own words", "Pick none of these: choose **Other**, or its text field, and type the word **" + word + "**.",
			questions([]convert.Question{database}, answered(word))},
		{"three questions", "Pick the **first option of each** of three questions.",
			questions([]convert.Question{database, features, licence}, answered("PostgreSQL", "Auth", "MIT"))},
		{"a form of a server", "Answer **orders** and **8080**, and accept.", serverForm},
		{"a permission", "This is no question, but a tool that wants to run: **reject** it.", permission},
		{"dismiss", "Do not answer: **dismiss** this question, with Esc, a Cancel button, the stop button, or the word cancel where it stands in the conversation.",
			questions([]convert.Question{licence}, dismissed)},
	}
}

// play goes on with the check until it ends or a step ends the turn.
func (c *check) play() {
	all := steps()
	if c.next >= len(all) { // a new run
		c.next, c.results = 0, nil
	}
	if c.next == 0 {
		c.say(fmt.Sprintf("This checks how this client shows questions and what it sends back: %d steps, each says what to do. Please do just that.\n", len(all)))
	}
	for c.next < len(all) {
		s := all[c.next]
		c.next++
		c.say(fmt.Sprintf("\n**Step %d of %d: %s.** %s\n\n", c.next, len(all), s.what, s.todo))
		r := result{step: s}
		c.wire.begin()
		r.got, r.fine = s.run(c, "check_"+strconv.Itoa(c.next))
		seen := c.wire.seen()
		r.rungs, r.problems = seen.rungs, seen.problems
		c.results = append(c.results, r)
		if r.got == gone {
			return
		}
		c.say("\n" + r.line() + "\n")
		if strings.HasPrefix(r.got, stopped) && c.next < len(all) {
			c.say("\nSend any message to go on with the next step.\n")
			return
		}
	}
	c.say("\n" + c.report())
}

// What can come of a step in words.
const (
	stopped = "dismissed"
	gone    = "gone"
)

// questions is a step that asks a call; good judges its outcome.
func questions(list []convert.Question, good func(convert.Call, convert.Outcome) bool) func(*check, string) (string, bool) {
	return func(c *check, id string) (string, bool) {
		call := convert.Call{ID: id, Name: "AskUserQuestion", Questions: list}
		call.Input, _ = json.Marshal(map[string]any{"questions": list})
		o := Ask(c.out, call)
		return describe(o), good(call, o)
	}
}

func describe(o convert.Outcome) string {
	switch o.Status {
	case convert.Answered:
		var list []string
		for _, a := range o.Answers {
			list = append(list, convert.WithNote(convert.Join(a.Items()), a.Note))
		}
		return strings.Join(list, " | ")
	case convert.Cancelled:
		return stopped
	case convert.Declined:
		return stopped + " (declined)"
	case convert.Disconnected:
		return gone
	}
	return "no answer: " + o.Message()
}

func answered(want ...string) func(convert.Call, convert.Outcome) bool {
	return func(_ convert.Call, o convert.Outcome) bool {
		return o.Status == convert.Answered && describe(o) == strings.Join(want, " | ")
	}
}

func dismissed(_ convert.Call, o convert.Outcome) bool {
	return o.Status == convert.Cancelled || o.Status == convert.Declined
}

// serverForm is what an MCP server asks.
func serverForm(c *check, id string) (string, bool) {
	form := ask.ServerForm{
		Server: "check-client", Message: "Where does the service run?", Mode: "form",
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","title":"Name"},"port":{"type":"integer","title":"Port","minimum":1,"maximum":65535}},"required":["name","port"]}`),
	}
	call, err := form.Call()
	if err != nil {
		return err.Error(), false
	}
	call.ID = id
	var raw json.RawMessage
	ended := make(chan convert.Outcome, 1)
	c.out.AskForm(id, call, func(r json.RawMessage, o convert.Outcome) bool { raw = r; ended <- o; return true })
	if o := <-ended; o.Status == convert.Disconnected {
		return gone, false
	}
	var got struct {
		Action  string
		Content struct {
			Name string
			Port int
		}
	}
	err = json.Unmarshal(raw, &got)
	fine := err == nil && got.Action == "accept" && got.Content.Name == "orders" && got.Content.Port == 8080
	if got.Action == "cancel" {
		return stopped, false
	}
	return string(raw), fine
}

// permission is a tool call that needs one.
func permission(c *check, id string) (string, bool) {
	call := acp.ToolCallId(id)
	c.out.Update(acp.StartToolCall(call, "rm -r build", acp.WithStartKind(acp.ToolKindExecute), acp.WithStartStatus(acp.ToolCallStatusPending)))
	var given acp.RequestPermissionResponse
	failed := make(chan error, 1)
	c.out.AskPermission(id, false, convert.SubAgent{}, acp.RequestPermissionRequest{
		ToolCall: acp.ToolCallUpdate{ToolCallId: call, Title: acp.Ptr("rm -r build"), Kind: acp.Ptr(acp.ToolKindExecute), RawInput: map[string]any{"command": "rm -r build"}},
		Options: []acp.PermissionOption{
			{OptionId: "allow", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce},
			{OptionId: "reject", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce},
		},
	}, func(r acp.RequestPermissionResponse, err error) bool { given = r; failed <- err; return true })
	err := <-failed
	c.out.Update(acp.UpdateToolCall(call, acp.WithUpdateStatus(acp.ToolCallStatusFailed)))
	switch {
	case c.out.Context().Err() != nil:
		return gone, false
	case err != nil:
		return "an error: " + err.Error(), false
	case given.Outcome.Selected == nil:
		return stopped, false
	}
	return string(given.Outcome.Selected.OptionId), given.Outcome.Selected.OptionId == "reject"
}
