package conn

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// Editors show an error's message and often nothing else: it says what is
// wrong in words.

// Invalid is the answer to parameters that cannot be used.
func Invalid(format string, args ...any) *acp.RequestError {
	return &acp.RequestError{Code: ndjson.InvalidParams, Message: clean.Block(fmt.Sprintf(format, args...))}
}

// NotFound is the answer to a name of something that is not there.
func NotFound(format string, args ...any) *acp.RequestError {
	return &acp.RequestError{Code: ndjson.NotFound, Message: clean.Block(fmt.Sprintf(format, args...))}
}

// Internal is the answer when something went wrong that is not the editor's
// doing.
func Internal(message string) *acp.RequestError {
	return &acp.RequestError{Code: ndjson.Internal, Message: clean.Block(message)}
}

// NoSession is the answer to a session that is not open.
func NoSession(id string) *acp.RequestError {
	return NotFound("there is no session %q: it was never opened here, or is closed", id)
}

// Decode reads a request's parameters. The error is one for the editor.
func Decode[T any](params json.RawMessage) (request T, err error) {
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	if err := json.Unmarshal(params, &request); err != nil {
		return request, unreadable(err)
	}
	return request, nil
}

// unreadable is the answer to parameters that do not decode.
func unreadable(err error) *acp.RequestError {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return Invalid("the parameters cannot be read: %s", err)
	}
	return Invalid("%s: expected %s, got %s", cmp.Or(wrong.Field, "params"), jsonType(wrong.Type), wrong.Value)
}

// jsonType is what a Go type is in JSON.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return jsonType(t.Elem())
	}
	return "a number"
}
