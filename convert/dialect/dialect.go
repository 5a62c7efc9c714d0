// Package dialect reads question calls as different agents write them and
// writes the results that those agents expect.
//
//	req, err := dialect.Decode(line, "")         // "" recognises the dialect
//	outcome, _ := resolver.Ask(ctx, req.Call)
//	result := dialect.Encode(req, dialect.Reply{Outcome: outcome})
//	fmt.Println(string(result.Body))
//
// Each dialect is one file of this package. It owns what is particular to its
// agent, its RPC envelope included.
package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// Dialect is one agent's way to write question calls and read results.
type Dialect interface {
	// ID is the short name used in flags.
	ID() string
	// Recognises reports whether a document is a call of this dialect. No two
	// dialects recognise the same document.
	Recognises(Document) bool
	// Decode reads and validates the call.
	Decode(Document) (convert.Call, error)
	// Encode writes the result for whoever sent the document.
	Encode(Document, convert.Call, Reply) Result
}

// Document is what came in, its envelope read as far as dialects share it: a
// bare tool input, a tool use `{"id","name","input"}`, or a can_use_tool
// control request.
type Document struct {
	// Root is the whole document.
	Root gjson.Result
	// Tool and ID are the tool's name and the call's id, empty if not given.
	Tool, ID string
	// Input is the tool's input; the whole document when it is bare.
	Input gjson.Result
}

// Request is a decoded call together with what its result needs.
type Request struct {
	Call     convert.Call
	Dialect  Dialect
	document Document
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

// dialects are all there are, in the order of their names.
var dialects = []Dialect{
	choice{}, claude{}, cursor{}, goText{}, grok{}, grokPlan{}, opal{}, phoenix{}, pi{}, qwen{},
}

// find returns the dialect of that name, nil if there is none.
func find(id string) Dialect {
	for _, d := range dialects {
		if d.ID() == id {
			return d
		}
	}
	return nil
}

// IDs lists the dialects by name.
func IDs() []string {
	ids := make([]string, len(dialects))
	for i, d := range dialects {
		ids[i] = d.ID()
	}
	return ids
}

// Recognise returns the name of the dialect that a document is written in.
func Recognise(raw []byte) (string, error) {
	doc, err := open(raw)
	if err != nil {
		return "", err
	}
	var found []string
	for _, d := range dialects {
		if d.Recognises(doc) {
			found = append(found, d.ID())
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
	d := find(name)
	if d == nil {
		return Request{}, fmt.Errorf("%w %q: expected one of %s", ErrUnknown, name, strings.Join(IDs(), ", "))
	}
	call, err := d.Decode(doc)
	if err != nil {
		return Request{}, err
	}
	if call.ID == "" {
		call.ID = doc.ID
	}
	if call.Name == "" {
		call.Name = doc.Tool
	}
	return Request{Call: call, Dialect: d, document: doc}, nil
}

// Encode writes the result of a request in its dialect.
func Encode(r Request, reply Reply) Result {
	return r.Dialect.Encode(r.document, r.Call, reply)
}

func unrecognised(doc Document) error {
	if doc.Tool != "" {
		return fmt.Errorf("%w: %q is not a question tool (expected AskUserQuestion, ask_user_question or ask_user)", ErrUnknown, doc.Tool)
	}
	return fmt.Errorf("%w: expected a tool input, a tool use {\"id\",\"name\",\"input\"}, a can_use_tool request or an RPC request", ErrUnknown)
}

// open reads the envelope that dialects share.
func open(raw []byte) (Document, error) {
	if !json.Valid(raw) {
		return Document{}, &convert.InputError{Err: convert.ErrInvalidJSON, Detail: "expected one question call"}
	}
	if read.TooDeep(raw) {
		return Document{}, &convert.InputError{Err: convert.ErrTooDeep, Detail: read.DepthLimit}
	}
	root := gjson.ParseBytes(raw)
	if !root.IsObject() {
		return Document{}, &convert.InputError{Err: convert.ErrWrongType, Detail: "a question call must be an object"}
	}
	doc := Document{Root: root, Input: root}
	use := root
	if request := root.Get("request"); root.Get("type").Str == "control_request" && request.IsObject() {
		use = request
	}
	switch {
	case use.Get("subtype").Str == "can_use_tool":
		doc.Tool, doc.ID, doc.Input = use.Get("tool_name").Str, use.Get("tool_use_id").Str, use.Get("input")
	case root.Get("name").Type == gjson.String && root.Get("input").Exists():
		doc.Tool, doc.ID, doc.Input = root.Get("name").Str, root.Get("id").String(), root.Get("input")
	}
	return doc, nil
}

// bare reports whether the document is a tool input without any envelope.
func (d Document) bare() bool {
	return d.Tool == "" && !d.Root.Get("method").Exists() && !d.Root.Get("type").Exists()
}

// freeText reports whether some question has no options.
func (d Document) freeText() bool {
	list := d.Input.Get("questions")
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

// answerMap maps question texts to answers, in the order of the questions.
func answerMap(c convert.Call, answers []convert.Answer) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, a := range answers {
		if i >= len(c.Questions) || a.Empty() {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(clean.JSON(c.Questions[i].Text))
		b.WriteByte(':')
		b.Write(clean.JSON(convert.WithNote(convert.AnswerText(c.Questions[i], a), a.Note)))
	}
	b.WriteByte('}')
	return b.Bytes()
}
