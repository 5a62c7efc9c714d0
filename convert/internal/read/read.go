// Package read takes values out of JSON in the way that all of convert does.
package read

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Field returns the last value of a key, without gjson's path syntax.
func Field(object gjson.Result, key string) (found gjson.Result) {
	object.ForEach(func(k, v gjson.Result) bool {
		if k.Str == key {
			found = v
		}
		return true
	})
	return found
}

// Embedded returns the value that a JSON string holds as JSON, and any other
// value as it is. It reports false for a string that holds none.
func Embedded(v gjson.Result) (gjson.Result, bool) {
	if v.Type != gjson.String {
		return v, true
	}
	text := strings.TrimSpace(v.Str)
	if !clean.ValidJSONText(text) {
		return v, false
	}
	return gjson.Parse(text), true
}

// Kind names the JSON type of a value for an error.
func Kind(v gjson.Result) string {
	switch {
	case v.IsObject():
		return "an object"
	case v.IsArray():
		return "an array"
	case v.Type == gjson.String:
		return "a string"
	case v.Type == gjson.Number:
		return "a number"
	case v.IsBool():
		return "a boolean"
	case v.Type == gjson.Null && v.Exists():
		return "null"
	}
	return "nothing"
}
