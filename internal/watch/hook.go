package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// ErrNothing means that an event is for the terminal alone.
var ErrNothing = errors.New("nothing that can be asked elsewhere")

// maxDetail is how much of a tool's input a person reads away from the terminal. What is
// longer is approved where it can be seen whole.
const maxDetail = 64 << 10

// Hook is what an event of an agent's hook asks.
type Hook struct {
	Item desk.Item
	// reply is what the hook prints when a person has ended it.
	reply func(convert.Outcome) (said, error)
	// record is what the agent writes down of it.
	record *record
}

// hooks are how one agent's hooks say things.
type hooks struct {
	// question is the name of the tool that asks, and permits the name of the event that
	// asks for any other; empty where a hook cannot allow anything.
	question, permits string
	// tool, input and session are where these are in an event, and name where the name of
	// the event is, if it has one.
	tool, input, session, name string
	// allow and refuse are what a hook prints; asked says whether it is for a question.
	allow  func() json.RawMessage
	refuse func(words string, asked bool) json.RawMessage
	// record is where a session is written down, and fate what a line of it says of a call.
	record kept
	fate   func(tool string, input gjson.Result) func(gjson.Result, *said) fate
}

// refused and allowed are what is printed, with what it says.
func (g hooks) refused(words string, asked bool) said {
	return said{words: words, prints: g.refuse(words, asked)}
}

func (g hooks) allowed() said { return said{allows: true, prints: g.allow()} }

var (
	qwen = hooks{
		question: "ask_user_question", permits: "PermissionRequest",
		tool: "tool_name", input: "tool_input", session: "session_id", name: "hook_event_name",
		allow: func() json.RawMessage { return qwenDecision(map[string]string{"behavior": "allow"}) },
		refuse: func(words string, _ bool) json.RawMessage {
			return qwenDecision(map[string]string{"behavior": "deny", "message": words})
		},
		record: kept{"QWEN_HOME", ".qwen", "projects/*/chats/%s.jsonl"}, fate: qwenFate,
	}
	gemini = hooks{
		question: "ask_user",
		tool:     "tool_name", input: "tool_input", session: "session_id", name: "hook_event_name",
		refuse: func(words string, _ bool) json.RawMessage {
			return clean.JSON(map[string]string{"decision": "deny", "reason": words})
		},
		record: kept{"", ".gemini", "tmp/*/chats/session-*-%.8s.jsonl"}, fate: geminiFate,
	}
	copilot = hooks{
		question: copilotQuestion, permits: "permissionRequest",
		tool: "toolName", input: "toolInput", session: "sessionId", name: "hookName",
		allow: func() json.RawMessage { return clean.JSON(map[string]string{"behavior": "allow"}) },
		refuse: func(words string, asked bool) json.RawMessage {
			if asked {
				return clean.JSON(map[string]string{"permissionDecision": "deny", "permissionDecisionReason": words})
			}
			return clean.JSON(map[string]string{"behavior": "deny", "message": words})
		},
		record: kept{"COPILOT_HOME", ".copilot", "session-state/%s/events.jsonl"}, fate: copilotFate,
	}
)

func qwenDecision(decision map[string]string) json.RawMessage {
	return clean.JSON(map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "PermissionRequest", "decision": decision}})
}

// ReadHook is what an event of an agent asks; [ErrNothing] if that is for the terminal alone.
func ReadHook(name string, event []byte) (Hook, error) {
	of, _ := FindAgent(name)
	e := gjson.ParseBytes(event)
	if of.hooks == nil || !clean.ValidJSON(event) || !e.IsObject() {
		return Hook{}, ErrNothing
	}
	g := *of.hooks
	tool, input := e.Get(g.tool).Str, inputOf(e, g)
	a := Hook{Item: desk.Item{Agent: of.Title, Dir: e.Get("cwd").Str}}
	var err error
	switch {
	case tool == "" || !input.IsObject() || e.Get(g.session).Str == "":
		err = ErrNothing
	case tool == g.question:
		err = a.ofQuestion(name, g, input)
	case g.permits != "" && e.Get(g.name).Str == g.permits:
		err = a.ofTool(g, tool, input)
	default:
		err = ErrNothing
	}
	a.Item.Name, a.Item.Call.Name, a.Item.Call.Session = life.Mint(), tool, e.Get(g.session).Str
	a.Item.Call.ID = a.Item.Name // hooks are told of no other
	if err == nil {
		a.record = begin(g.record.file(a.Item.Call.Session), g.fate(tool, input))
	}
	return a, err
}

// inputOf is the input of the tool. Copilot writes it as text in one of its events.
func inputOf(e gjson.Result, g hooks) gjson.Result {
	v := e.Get(g.input)
	if !v.Exists() {
		v = e.Get("toolArgs")
	}
	if v.Type == gjson.String && clean.ValidJSON([]byte(v.Str)) {
		v = gjson.Parse(v.Str)
	}
	return v
}

// ofQuestion asks what a question tool asks.
func (a *Hook) ofQuestion(name string, g hooks, input gjson.Result) error {
	call := clean.JSON(map[string]any{"name": g.question, "input": json.RawMessage(input.Raw)})
	req, err := dialect.Decode(call, name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNothing, err)
	}
	a.Item.Kind, a.Item.Call = desk.Question, req.Call
	a.reply = func(o convert.Outcome) (said, error) {
		text, _ := convert.TextResult(req.Call, o)
		if o.Status == convert.Answered {
			text = answered + text
		}
		return g.refused(text, true), nil
	}
	return nil
}

// answered stands before an answer in words: the agent tells its model that the tool was
// refused.
const answered = "This is no error: the user has answered from another device.\n\n"

// What a person can say to a permission.
const (
	allowOnce = "Allow once"
	reject    = "Reject"
)

// ofTool asks for a permission.
func (a *Hook) ofTool(g hooks, tool string, input gjson.Result) error {
	if len(input.Raw) > maxDetail {
		return fmt.Errorf("%w: it is longer than %d bytes", ErrNothing, maxDetail)
	}
	a.Item.Kind = desk.Permission
	a.Item.About = about.About{Tool: about.Tool{Kind: kinds[tool], Picks: []string{"allow_once", "reject_once"}}}
	a.Item.Call = convert.Call{Input: json.RawMessage(input.Raw), Questions: []convert.Question{{
		Text: titleOf(tool, input), Closed: true,
		Options: []convert.Option{{Label: allowOnce}, {Label: reject, Description: "a note says why"}},
	}}}
	options := a.Item.Call.Questions[0].Options
	a.Item.Check = a.Item.About.Check(options)
	a.reply = func(o convert.Outcome) (said, error) {
		if o.Status != convert.Answered {
			return g.refused("The user dismissed the permission request", false), nil
		}
		pick, note, err := a.Item.About.Picked(options, o.Answers)
		switch {
		case err != nil:
			return said{}, err
		case !about.Rejects(a.Item.About.Picks[pick]):
			return g.allowed(), nil
		}
		return g.refused(cmp.Or(note, "The user rejected this tool use"), false), nil
	}
	return nil
}

// kinds are ACP's, by the names of tools.
var kinds = map[string]string{
	"run_shell_command": "execute", "bash": "execute", "shell": "execute",
	"edit": "edit", "create": "edit", "write_file": "edit", "replace": "edit",
	"web_fetch": "fetch", "fetch": "fetch",
}

// titleOf says what a permission is for, in a line.
func titleOf(tool string, input gjson.Result) string {
	if kinds[tool] == "execute" {
		return display.Tool{Name: "Bash", Input: json.RawMessage(input.Raw)}.Info("").Title
	}
	for _, member := range []string{"file_path", "path", "url"} {
		if v := input.Get(member); v.Type == gjson.String {
			return clean.Truncate(clean.Line(tool+" "+v.Str), 300)
		}
	}
	return clean.Truncate(clean.Line(tool), 300)
}

// lookTime is how often Hold looks whether somebody is back, and knownTime how long it
// looks for what became of an answer: a command that was allowed may run that long.
const (
	lookTime  = time.Second
	knownTime = 10 * time.Minute
)

// unknown is told of an answer until the agent's record says more.
const unknown = Unsure("the hook has it, and the agent has not said that it went on with it")

// Hold asks at the hub, and prints what a person said there. It prints nothing when
// somebody is back, when the agent takes it back (ctx ends, or its record says so), or when
// nobody can say whether anybody is away: then the agent shows its dialog. The caller has
// seen that somebody is away. It returns when it is known what became of an answer, or will
// not be; ctx may end before that.
func (a Hook) Hold(ctx context.Context, w *Watch, away func(context.Context) bool, out io.Writer) {
	answers, over := make(chan answer), make(chan struct{})
	defer close(over)
	w.Ask(Dialog{Item: a.Item, Answer: func(_ context.Context, o convert.Outcome) error {
		given := answer{o, make(chan error, 1)}
		select {
		case answers <- given:
			return <-given.became
		case <-over:
			return errTakenBack
		}
	}})
	end := func(why string) { w.End(a.Item.Call.Session, a.Item.Call.ID, Over(why), "") }
	tick, lines := time.NewTicker(lookTime), time.NewTicker(lineTime)
	defer tick.Stop()
	defer lines.Stop()
	for {
		select {
		case given := <-answers:
			given.became <- a.give(ctx, w, given.outcome, out)
			return
		case <-ctx.Done():
			end("the agent has taken it back: it was dismissed in the terminal, or the agent has ended")
			return
		case <-lines.C:
			if a.record.look(nil) == stopped {
				end(errStopped.Error())
				return
			}
		case <-tick.C:
			if !away(ctx) && ctx.Err() == nil {
				end("it is asked in the terminal now; acp-bridge away says that nobody is there")
				return
			}
		}
	}
}

// answer is what a person said, and what became of it.
type answer struct {
	outcome convert.Outcome
	became  chan error
}

var errTakenBack = errors.New("the agent had taken it back")

// give prints what a person said, and waits for what the agent makes of it.
func (a Hook) give(ctx context.Context, w *Watch, o convert.Outcome, out io.Writer) error {
	s, err := a.reply(o)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return errTakenBack
	case a.record.look(nil) == stopped:
		return errStopped
	}
	w.Unsure(a.Item.Name, unknown) // whatever happens from here on
	if _, err := out.Write(append(s.prints, '\n')); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), knownTime)
	defer cancel()
	switch a.record.await(ctx, s) {
	case used:
		return nil
	case stopped:
		return errStopped
	}
	return unknown
}
