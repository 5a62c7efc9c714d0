package dialect

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Codes of JSON-RPC errors for a question that has no answer.
const (
	codeCancelled = -32800
	codeDeclined  = -32000
	codeFailed    = -32603
)

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type rpcResponse struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// isRPC reports whether the document is a JSON-RPC request.
func (d document) isRPC() bool { return d.root.Get("method").Type == gjson.String }

// isMethod reports whether the document is a JSON-RPC request of this method.
func (d document) isMethod(method string) bool { return d.root.Get("method").Str == method }

// params are the parameters of a JSON-RPC request; of any other document they
// are its input.
func (d document) params() gjson.Result {
	if d.isRPC() {
		return d.root.Get("params")
	}
	return d.input
}

// respond answers a JSON-RPC request with a result. Where the document is none,
// it is the result alone.
func (d document) respond(result any) Result {
	if !d.isRPC() {
		return Result{Body: clean.JSON(result)}
	}
	return Result{Body: clean.JSON(rpcResponse{JSONRPC: "2.0", ID: raw(d.root.Get("id")), Result: result})}
}

// refuse answers a JSON-RPC request with an error: what happened is not the
// user's choice, or the agent has no other word for it.
func (d document) refuse(o convert.Outcome) Result {
	if !d.isRPC() {
		return Result{Body: clean.JSON(map[string]string{"error": o.Message()}), IsError: true}
	}
	code := codeFailed
	switch o.Status {
	case convert.Cancelled:
		code = codeCancelled
	case convert.Declined:
		code = codeDeclined
	}
	return Result{Body: clean.JSON(rpcResponse{
		JSONRPC: "2.0", ID: raw(d.root.Get("id")), Error: &rpcError{code, o.Message()},
	}), IsError: true}
}

// inSession sets where the call of an ACP request belongs.
func inSession(c convert.Call, params gjson.Result) convert.Call {
	c.Session, c.ID = params.Get("sessionId").String(), params.Get("toolCallId").String()
	c.Input = raw(params)
	return c
}

// anyCount allows what an agent has let its model ask: it has checked it.
var anyCount = convert.Limits{MaxQuestions: -1, MinOptions: -1, MaxOptions: -1, FreeText: true}

// labels makes names of options that can be told apart, in their order: a name
// that comes again gets its id behind it, or a number.
type labels struct {
	ids   map[string]string // by label
	names map[string]string // by id, as they came
	list  []convert.Option
	bad   string // what is wrong with an id, for people
}

// labelsOf are those of an object's options, by what their name and id are called.
func labelsOf(object gjson.Result, name, id string) (l labels) {
	for _, o := range read.Field(object, "options").Array() {
		l.add(o.Get(name).String(), o.Get(id).String())
	}
	return l
}

func (l *labels) add(name, id string) {
	if l.ids == nil {
		l.ids, l.names = map[string]string{}, map[string]string{}
	}
	switch before, again := l.names[id]; {
	case l.bad != "":
	case id == "":
		l.bad = fmt.Sprintf("option %d must have an id", len(l.list)+1)
	case again && before != name: // the same option twice is one
		l.bad = fmt.Sprintf("the ids of options must be unique, got %q again", clean.Truncate(id, 60))
	}
	l.names[id] = name
	if clean.Blank(name) {
		name = id
	}
	if _, taken := l.ids[name]; taken {
		name += " (" + id + ")"
	}
	if _, taken := l.ids[name]; taken { // the number of the option is nobody else's
		name += " " + strconv.Itoa(len(l.list)+1)
	}
	l.ids[name] = id
	l.list = append(l.list, convert.Option{Label: name})
}

// check reports ids that do not tell what was picked.
func (l *labels) check(question int) error {
	if l.bad == "" {
		return nil
	}
	return wrongType(question, l.bad)
}

// of are the ids of the labels picked.
func (l *labels) of(picked []string) []string {
	ids := []string{}
	for _, label := range picked {
		if id, ok := l.ids[label]; ok {
			ids = append(ids, id)
		}
	}
	return ids
}
