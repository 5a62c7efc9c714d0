// Package dialect reads question calls as different agents write them and
// writes the results that those agents expect.
//
//	req, err := dialect.Decode(line, "")         // "" recognises the dialect
//	outcome, _ := resolver.Ask(ctx, req.Call)
//	result := dialect.Encode(req, dialect.Reply{Outcome: outcome})
//	fmt.Println(string(result.Body))
//
// Each dialect is a file of this package, or two. It owns what is particular to its
// agent, its RPC envelope included.
//
// Calls are read, results are written. [ClaudeCall] is the one call that is written.
package dialect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// ErrUnknown means that a document is no question call of any dialect, or
// that a dialect was named that does not exist.
var ErrUnknown = errors.New("unknown dialect")

// dialect is one agent's way to write question calls and read results.
type dialect interface {
	// recognises reports whether a document is a call of this dialect. No two
	// dialects recognise the same document.
	recognises(document) bool
	// decode reads and validates the call.
	decode(document) (convert.Call, error)
	// encode writes the result for whoever sent the document.
	encode(document, convert.Call, Reply) Result
}

// document is what came in, its envelope read as far as dialects share it: a
// bare tool input, a tool use `{"id","name","input"}`, or a can_use_tool
// control request.
type document struct {
	root gjson.Result // all of it
	// tool and call are the tool's name and the call's id, empty if not given.
	tool, call string
	input      gjson.Result // the tool's input; all of the document when it is bare
}

// Request is a decoded call together with what its result needs.
type Request struct {
	Call convert.Call
	// Dialect is the name of the dialect that the call is written in.
	Dialect  string
	document document
}

// Reply is how a call ended, with what some dialects record beside it.
type Reply struct {
	Outcome convert.Outcome
	// AnsweredAt is left out of the result when zero.
	AnsweredAt time.Time
	// Mode is "interactive", "print" or "rpc"; empty leaves it out.
	Mode string
	// PendingFile is where the questions wait for an answer.
	PendingFile string
}

// Result is what the agent gets.
type Result struct {
	// Body is one JSON value, or text where the dialect's result is text.
	Body []byte
	// IsError says that the agent should take the body for an error.
	IsError bool
}

// dialects are all there are, by the short names that flags use.
var dialects = map[string]dialect{
	"choice": choice{}, "claude": claude{}, "codex": codex{}, "copilot": copilot{}, "cursor": cursor{}, "gemini": gemini{},
	"go": goText{}, "grok": grok{}, "grok-plan": grokPlan{}, "kimi": kimi{}, "mcp": mcp{}, "opal": opal{},
	"opencode": openCode{}, "phoenix": phoenix{}, "pi": pi{}, "qwen": qwen{},
}

// IDs lists the dialects by name.
func IDs() []string { return slices.Sorted(maps.Keys(dialects)) }

// Recognise returns the name of the dialect that a document is written in.
func Recognise(raw []byte) (string, error) {
	doc, err := open(raw)
	if err != nil {
		return "", err
	}
	var found []string
	for _, id := range IDs() {
		if dialects[id].recognises(doc) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", unrecognised(doc)
	}
	return "", fmt.Errorf("%w: the document could be any of %s", ErrUnknown, strings.Join(found, ", "))
}

// Decode reads a question call. The dialect is the one named, or, with an
// empty name, the one that recognises the document. Errors wrap [ErrUnknown]
// or are those of [convert.Parse].
func Decode(raw []byte, name string) (Request, error) {
	doc, err := open(raw)
	if err != nil {
		return Request{}, err
	}
	if name == "" {
		if name, err = Recognise(raw); err != nil {
			return Request{}, err
		}
	}
	d, known := dialects[name]
	if !known {
		return Request{}, unknown(name)
	}
	call, err := d.decode(doc)
	if err != nil {
		return Request{}, err
	}
	call.ID = cmp.Or(call.ID, doc.call)
	call.Name = cmp.Or(call.Name, doc.tool)
	return Request{Call: call, Dialect: name, document: doc}, nil
}

// Encode writes the result of a request in its dialect.
func Encode(r Request, reply Reply) Result {
	return dialects[r.Dialect].encode(r.document, r.Call, reply)
}

// Fits reports answers for which the result of the request has no place, such as a
// form's required field that was left out: the agent would get an error in place of
// them. The error is in words for whoever gave them.
func (r Request) Fits(answers []convert.Answer) error {
	o := convert.Outcome{Status: convert.Answered, Answers: answers}
	d := dialects[r.Dialect]
	if f, ok := d.(interface {
		fits(document, convert.Outcome) error
	}); ok {
		return f.fits(r.document, o)
	}
	if d.encode(r.document, r.Call, Reply{Outcome: o}).IsError {
		return errors.New("the agent has no place for this answer")
	}
	return nil
}

func unknown(name string) error {
	return fmt.Errorf("%w %q: expected one of %s", ErrUnknown, name, strings.Join(IDs(), ", "))
}

func unrecognised(doc document) error {
	if doc.tool != "" {
		return fmt.Errorf("%w: %q is not a question tool (expected AskUserQuestion, ask_user_question or ask_user)", ErrUnknown, doc.tool)
	}
	return fmt.Errorf("%w: expected a tool input, a tool use {\"id\",\"name\",\"input\"}, a can_use_tool request or an RPC request", ErrUnknown)
}

// open reads the envelope that dialects share.
func open(raw []byte) (document, error) {
	if !json.Valid(raw) {
		return document{}, &convert.InputError{Err: convert.ErrInvalidJSON, Detail: "expected one question call"}
	}
	if read.TooDeep(raw) {
		return document{}, &convert.InputError{Err: convert.ErrTooDeep, Detail: read.DepthLimit}
	}
	root := gjson.ParseBytes(raw)
	if !root.IsObject() {
		return document{}, &convert.InputError{Err: convert.ErrWrongType, Detail: "a question call must be an object"}
	}
	doc := document{root: root, input: root}
	use := root
	if request := root.Get("request"); root.Get("type").Str == "control_request" && request.IsObject() {
		use = request
	}
	switch {
	case use.Get("subtype").Str == "can_use_tool":
		doc.tool, doc.call, doc.input = use.Get("tool_name").Str, use.Get("tool_use_id").Str, read.Field(use, "input")
	case root.Get("name").Type == gjson.String && root.Get("input").Exists():
		doc.tool, doc.call, doc.input = root.Get("name").Str, root.Get("id").String(), read.Field(root, "input")
	}
	return doc, nil
}

// bare reports whether the document is a tool input without any envelope, and
// none that only one agent writes.
func (d document) bare() bool {
	return d.tool == "" && !hasAny(d.root, "method", "type", "requestedSchema", "url", "sessionID", "questions.0.prompt")
}

// freeText reports whether some question has no options.
func (d document) freeText() bool {
	list := d.input.Get("questions")
	if list.Type == gjson.String {
		list = gjson.Parse(list.Str)
	}
	found := false
	list.ForEach(func(_, q gjson.Result) bool {
		found = q.IsObject() && len(q.Get("options").Array()) == 0
		return !found
	})
	return found
}

// questions is the list of questions of the input, out of its string if it is
// in one.
func (d document) questions() []gjson.Result {
	list, _ := read.Embedded(read.Field(d.input, "questions"))
	if !list.IsArray() {
		return nil
	}
	return list.Array()
}

// typed reports whether the questions say of what type they are.
func (d document) typed() bool {
	return slices.ContainsFunc(d.questions(), func(q gjson.Result) bool { return q.Get("type").Exists() })
}

// answerMap maps question texts to answers, in the order of the questions.
func answerMap(c convert.Call, answers []convert.Answer) json.RawMessage {
	var said object
	for i, a := range answers {
		if i < len(c.Questions) && !a.Empty() {
			said = append(said, member{string(clean.JSON(c.Questions[i].Text)), clean.JSON(answerText(c.Questions[i], a))})
		}
	}
	return said.json()
}
