package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/claude"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Codes of JSON-RPC and ACP.
const (
	codeInvalidParams = -32602
	codeInternal      = -32603
	codeAuthRequired  = -32000
	codeNotFound      = -32002
)

// Editors show an error's message and often nothing else: it says what is
// wrong in words.

func invalid(format string, args ...any) *acp.RequestError {
	return &acp.RequestError{Code: codeInvalidParams, Message: clean.Block(fmt.Sprintf(format, args...))}
}

// unreadable is the answer to parameters that do not decode.
func unreadable(err error) *acp.RequestError {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return invalid("the parameters cannot be read: %s", err)
	}
	where := wrong.Field
	if where == "" {
		where = "params"
	}
	return invalid("%s: expected %s, got %s", where, jsonType(wrong.Type), wrong.Value)
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

func notFound(format string, args ...any) *acp.RequestError {
	return &acp.RequestError{Code: codeNotFound, Message: clean.Block(fmt.Sprintf(format, args...))}
}

func internal(message string) *acp.RequestError {
	return &acp.RequestError{Code: codeInternal, Message: clean.Block(message)}
}

func authRequired(message string) *acp.RequestError {
	return &acp.RequestError{Code: codeAuthRequired, Message: clean.Block(message)}
}

// loginHelp says what to do about a missing login.
const loginHelp = "Claude Code is not logged in: run `acp-bridge login` or `claude /login` in a terminal, or set ANTHROPIC_API_KEY for the editor"

// processError turns an error of the CLI's process into one for the editor.
func processError(err error) *acp.RequestError {
	var re *acp.RequestError
	if errors.As(err, &re) {
		return re
	}
	var exit *claude.ExitError
	if errors.As(err, &exit) {
		return internal(exit.Error())
	}
	return internal(err.Error())
}
