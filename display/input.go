package display

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// input reads an object whose fields may be missing or of any type. What is
// not there reads as the zero value.
type input struct{ gjson.Result }

// readInput returns an empty input for anything that is not a JSON object.
func readInput(raw json.RawMessage) input {
	// gjson does not check what it reads: on broken JSON it may find anything.
	if !clean.ValidJSON(raw) {
		return input{}
	}
	return object(gjson.ParseBytes(raw))
}

// object reads a part of an input. gjson would look for keys also inside a
// string that happens to hold a brace.
func object(v gjson.Result) input {
	if !v.IsObject() {
		return input{}
	}
	return input{v}
}

// str returns the first of the keys that holds a string. A tool has several
// keys where the CLI takes more than one spelling.
func (in input) str(keys ...string) string {
	s, _ := in.lookup(keys...)
	return s
}

// lookup is str that tells an empty string from none.
func (in input) lookup(keys ...string) (string, bool) {
	for _, k := range keys {
		if v := in.Get(k); v.Type == gjson.String {
			return v.Str, true
		}
	}
	return "", false
}

// num returns a whole number from 0, which may also be spelt as a string.
func (in input) num(key string) (int, bool) {
	v := in.Get(key)
	f := v.Num
	switch v.Type {
	case gjson.Number:
	case gjson.String:
		n, err := strconv.ParseUint(v.Str, 10, 31)
		if err != nil {
			return 0, false
		}
		f = float64(n)
	default:
		return 0, false
	}
	if f != math.Trunc(f) || f < 0 || f > math.MaxInt32 {
		return 0, false
	}
	return int(f), true
}

// on reports whether a flag is set, which may also be spelt as a string.
func (in input) on(key string) bool {
	v := in.Get(key)
	return v.Type == gjson.True || v.Type == gjson.String && v.Str == "true"
}

// list returns the elements of an array, which may also be spelt as a string
// of JSON: models do that. ok is false if there is no array.
func (in input) list(key string) (elements []gjson.Result, ok bool) {
	v := in.Get(key)
	if v.Type == gjson.String && clean.ValidJSONText(v.Str) {
		v = gjson.Parse(v.Str)
	}
	if !v.IsArray() {
		return nil, false
	}
	return v.Array(), true
}
