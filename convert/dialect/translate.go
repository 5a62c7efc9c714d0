package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// WriteCall writes a call in the dialect of that name. Lost says, in words,
// what the dialect has no place for. An error means that it cannot hold the
// call at all: it wraps [ErrUnknown], or is one of [convert.Call.Validate].
func WriteCall(name string, c convert.Call) (document []byte, lost []string, err error) {
	d := find(name)
	if d == nil {
		return nil, nil, unknown(name)
	}
	h := d.holds()
	c.Questions = slices.Clone(c.Questions)
	if h.limits.RequireHeader {
		addHeaders(c.Questions)
	}
	if err := h.check(c); err != nil {
		return nil, nil, fmt.Errorf("%s cannot hold the call: %w", name, err)
	}
	return clean.JSON(d.write(c)), h.lost(name, c), nil
}

// ReadResult reads the result of a request, which is what [Encode] writes. An
// error means that it is none, or that its answers do not fit the questions: it
// wraps [convert.ErrProtocol] or [convert.ErrFailed].
func ReadResult(r Request, result []byte) (convert.Outcome, error) {
	d := find(r.Dialect)
	if d == nil {
		return convert.Outcome{}, unknown(r.Dialect)
	}
	g, o, err := readGiven(result)
	if err != nil {
		return convert.Outcome{}, err
	}
	if o.Status == 0 {
		if o, err = d.read(r.document, r.Call, g); err != nil {
			return convert.Outcome{}, err
		}
	}
	if err := CheckOutcome(r, o); err != nil {
		return convert.Outcome{}, err
	}
	return o.InOrder(r.Call), nil
}

// CheckOutcome reports answers that do not fit the questions of a request, own
// words where it takes none included. The error matches [convert.ErrFailed].
func CheckOutcome(r Request, o convert.Outcome) error {
	if err := o.Check(r.Call); err != nil {
		return err
	}
	for i, a := range o.Answers {
		if r.Call.Questions[i].Closed && a.Text != "" {
			return fmt.Errorf("%w: question %d accepts only its options, got %q", convert.ErrFailed, i+1, a.Text)
		}
	}
	return nil
}

func unknown(name string) error {
	return fmt.Errorf("%w %q: expected one of %s", ErrUnknown, name, strings.Join(IDs(), ", "))
}

// addHeaders gives every question a header, for agents that ask for one.
func addHeaders(questions []convert.Question) {
	for i := range questions {
		if clean.Line(questions[i].Header) == "" {
			questions[i].Header = fmt.Sprintf("Question %d", i+1)
		}
	}
}

// holds is what a call of a dialect can carry beyond question texts and labels.
type holds struct {
	limits convert.Limits
	// header, description, preview and multi are places for these.
	header, description, preview, multi bool
	// open means that a question with options may take own words, closed that
	// it may say that it does not.
	open, closed bool
	// only, if not nil, are the labels that every question has.
	only []string
}

// check reports what the dialect cannot hold at all.
func (h holds) check(c convert.Call) error {
	if err := c.Validate(h.limits); err != nil || h.only == nil {
		return err
	}
	for i, q := range c.Questions {
		if !slices.Equal(labelsOf(q), h.only) {
			return wrongType(i+1, "its options must be "+strings.Join(h.only, ", "))
		}
	}
	return nil
}

// lost lists what a call has and the dialect has no place for.
func (h holds) lost(name string, c convert.Call) (lost []string) {
	for i, q := range c.Questions {
		say := func(bad bool, format string) {
			if bad {
				lost = append(lost, fmt.Sprintf("question %d: "+format, i+1, name))
			}
		}
		some := func(has func(convert.Option) bool) bool { return slices.ContainsFunc(q.Options, has) }
		say(q.Header != "" && !h.header, "%s has no place for its header")
		say(q.MultiSelect && !h.multi, "%s takes one answer, the question takes several")
		say(len(q.Options) > 0 && q.Closed && !h.closed, "%s accepts own words, the question only its options")
		say(len(q.Options) > 0 && !q.Closed && !h.open, "%s accepts only the options, the question also own words")
		say(!h.description && some(func(o convert.Option) bool { return o.Description != "" }), "%s has no place for the descriptions of its options")
		say(!h.preview && some(func(o convert.Option) bool { return o.Preview != "" }), "%s has no place for the previews of its options")
	}
	return lost
}

// given is a result that came in: text, and JSON if it is that.
type given struct {
	text string
	json gjson.Result
	rpc  bool // it came in a JSON-RPC response
}

// readGiven takes a result out of its JSON-RPC response. An error response is
// an outcome by itself. Nothing at all is no result: it says nothing about what
// the user wants.
func readGiven(data []byte) (given, convert.Outcome, error) {
	data = bytes.ToValidUTF8(bytes.TrimSpace(data), []byte("\uFFFD"))
	g := given{text: string(data)}
	if len(data) == 0 {
		return g, convert.Outcome{}, notThe("the result of the call, got nothing")
	}
	if !json.Valid(data) {
		return g, convert.Outcome{}, nil
	}
	g.json = gjson.ParseBytes(data)
	if !g.json.Get("jsonrpc").Exists() {
		return g, convert.Outcome{}, nil
	}
	if e := g.json.Get("error"); e.IsObject() {
		message := e.Get("message").String()
		if e.Get("code").Int() == codeCancelled {
			return g, notAnswered(convert.Cancelled), nil
		}
		return g, failure(message), nil // -32000 is what servers use for anything: the words count
	}
	result := g.json.Get("result")
	if !result.Exists() {
		return g, convert.Outcome{}, notThe("a result or an error in the JSON-RPC response")
	}
	return given{result.Raw, result, true}, convert.Outcome{}, nil
}

// notThe is the error for a result of another shape.
func notThe(expected string) error {
	return fmt.Errorf("%w: expected %s", convert.ErrProtocol, expected)
}

// answered is the outcome of these answers, one a question.
func answered(answers []convert.Answer) (convert.Outcome, error) {
	return convert.Outcome{Status: convert.Answered, Answers: answers}, nil
}

func notAnswered(s convert.Status) convert.Outcome {
	o := convert.Outcome{Status: s}
	o.Reason = o.Message()
	return o
}

// failure is the outcome behind a message that an agent got.
func failure(message string) convert.Outcome {
	switch message {
	case convert.CancelMessage:
		return notAnswered(convert.Cancelled)
	case convert.DeclineMessage:
		return notAnswered(convert.Declined)
	case convert.GoneMessage:
		return notAnswered(convert.Disconnected)
	}
	return convert.Outcome{Status: convert.Failed, Reason: message}
}

// toolUse is a call of a tool, as agents write it.
type toolUse struct {
	ID    string `json:"id,omitempty"`
	Name  string `json:"name"`
	Input any    `json:"input"`
}

// rpcRequest is a call as a JSON-RPC request.
type rpcRequest struct {
	JSONRPC string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

func rpcCall(method string, params any) rpcRequest { return rpcRequest{"2.0", 1, method, params} }

// questionList is the input of tools that take questions as Claude's does.
type questionList struct {
	Questions json.RawMessage `json:"questions"`
}
