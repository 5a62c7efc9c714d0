// Package read takes values out of JSON in the way that all of convert does.
package read

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Field returns the last value of a key, without gjson's path syntax. What is no
// object has none.
func Field(object gjson.Result, key string) (found gjson.Result) {
	if !object.IsObject() {
		return found
	}
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

// Once returns the value of a key. It reports false for a key that is there
// twice with different values: readers do not agree on which of them counts.
func Once(object gjson.Result, key string) (found gjson.Result, ok bool) {
	if !object.IsObject() {
		return found, true
	}
	ok = true
	object.ForEach(func(k, v gjson.Result) bool {
		if k.Str == key {
			ok = ok && (!found.Exists() || Same(found, v))
			found = v
		}
		return true
	})
	return found, ok
}

// Same reports whether two values are written alike, or are the same string.
func Same(a, b gjson.Result) bool {
	return a.Raw == b.Raw || a.Type == gjson.String && b.Type == gjson.String && a.Str == b.Str
}
