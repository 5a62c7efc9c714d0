package dialect

import (
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
)

// These read fields of calls that convert.Parse does not read. Of keys that
// occur twice the last counts, as it does there.

// listOf is a field that is an array, or not there.
func listOf(object gjson.Result, key string, question int) ([]gjson.Result, error) {
	v := read.Field(object, key)
	if !v.IsArray() && v.Type != gjson.Null {
		return nil, wrongType(question, key+" must be an array, got "+read.Kind(v))
	}
	return v.Array(), nil
}

// textOf is a field that is a string, or not there.
func textOf(object gjson.Result, key string, question int) (string, error) {
	v := read.Field(object, key)
	if v.Type != gjson.String && v.Type != gjson.Null {
		return "", wrongType(question, key+" must be a string, got "+read.Kind(v))
	}
	return v.Str, nil
}

// flagOf is a field that is true or false, also as a string, as models at times
// write it. Where it is not there, it is what it is by default.
func flagOf(object gjson.Result, key string, question int, byDefault bool) (bool, error) {
	v := read.Field(object, key)
	switch {
	case v.Type == gjson.Null:
		return byDefault, nil
	case v.Type == gjson.True || v.Str == "true":
		return true, nil
	case v.Type == gjson.False || v.Str == "false":
		return false, nil
	}
	return false, wrongType(question, key+" must be true or false, got "+read.Kind(v))
}

func wrongType(question int, detail string) error {
	return &convert.InputError{Question: question, Err: convert.ErrWrongType, Detail: detail}
}
