package pipe

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

const (
	piRequest   = "ask_user_request"
	piResponse  = "ask_user_response"
	opalRequest = "client/ask_user"
)

// problem is a line that is no request that can be asked: either there is an
// error response to it, or a text for the log.
type problem struct {
	response []byte
	text     string
}

// request is a call that can be asked, and what tells its response from others.
type request struct {
	dialect.Request
	id string // with the dialect in front
	// refuse is the error response to it.
	refuse func(message string) *problem
}

func unanswerable(format string, args ...any) *problem {
	return &problem{text: fmt.Sprintf(format, args...)}
}

// isRequest reports whether a line is meant as a request, if only as a bad one.
func isRequest(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' || !clean.ValidJSON(line) {
		return false
	}
	root := gjson.ParseBytes(line)
	return root.Get("method").Str == opalRequest || root.Get("type").Str == piRequest
}

// decode reads a line. An empty one is neither a request nor a problem.
func (c *session) decode(line []byte) (request, *problem) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return request{}, nil
	}
	root := gjson.ParseBytes(line)
	if !clean.ValidJSON(line) || !root.IsObject() {
		return request{}, unanswerable("expected a JSON object")
	}
	switch {
	case root.Get("method").Exists() || root.Get("jsonrpc").Exists():
		return c.decodeOpal(line, root)
	case root.Get("type").Exists() || root.Get("requestId").Exists():
		return c.decodePi(line, root)
	}
	return request{}, unanswerable("expected an %s or a %s request", piRequest, opalRequest)
}

func (c *session) decodeOpal(line []byte, root gjson.Result) (req request, _ *problem) {
	id, method := root.Get("id"), root.Get("method")
	bad := func(code int, format string, args ...any) (request, *problem) {
		return request{}, opalError(id, code, fmt.Sprintf(format, args...))
	}
	switch {
	case id.Type != gjson.String && id.Type != gjson.Number:
		return req, unanswerable("a JSON-RPC message without an id that could be answered")
	case !method.Exists() && (root.Get("result").Exists() || root.Get("error").Exists()):
		return req, unanswerable("a response, but nothing was asked")
	case method.Type != gjson.String:
		return bad(ndjson.InvalidRequest, "method must be %s", opalRequest)
	case method.Str != opalRequest || c.Dialect == "pi":
		return bad(ndjson.NoMethod, "unknown method %q", method.Str)
	}
	call, err := dialect.Decode(line, "opal")
	if err != nil {
		return bad(ndjson.InvalidParams, "%v", err)
	}
	refuse := func(message string) *problem { return opalError(id, ndjson.InvalidRequest, message) }
	return request{call, "opal " + id.Raw, refuse}, nil
}

func (c *session) decodePi(line []byte, root gjson.Result) (req request, _ *problem) {
	id, kind := root.Get("requestId"), root.Get("type")
	bad := func(format string, args ...any) (request, *problem) {
		return request{}, piError(id, fmt.Sprintf(format, args...))
	}
	switch {
	case id.Type != gjson.String && id.Type != gjson.Number || id.Raw == `""`:
		return req, unanswerable("a message without a requestId")
	case kind.Str == piResponse:
		return req, unanswerable("a response, but nothing was asked")
	case kind.Str != piRequest || c.Dialect == "opal":
		return bad("type must be %s", c.expected())
	}
	call, err := dialect.Decode(line, "pi")
	if err != nil {
		return bad("%v", err)
	}
	refuse := func(message string) *problem { return piError(id, message) }
	return request{call, "pi " + id.String(), refuse}, nil
}

func (c *session) expected() string {
	if c.Dialect == "opal" {
		return "none: only " + opalRequest + " requests are taken"
	}
	return piRequest
}

func opalError(id gjson.Result, code int, message string) *problem {
	return &problem{response: clean.JSON(map[string]any{
		"jsonrpc": "2.0", "id": json.RawMessage(id.Raw),
		"error": map[string]any{"code": code, "message": message},
	})}
}

func piError(id gjson.Result, message string) *problem {
	return &problem{response: dialect.PiError(json.RawMessage(id.Raw), message)}
}
