package display

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

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

// members are those of an input, in their order.
type members []member

type member struct {
	name  string
	value gjson.Result
	taken bool // it has its place in what is shown
}

// membersOf reads an object. ok is false for what is none, and for one in which a name
// stands twice, in whatever case: the tool may read the other one.
func membersOf(raw json.RawMessage) (m members, ok bool) {
	in := readInput(raw)
	seen := map[string]bool{}
	ok = in.IsObject()
	in.ForEach(func(k, v gjson.Result) bool {
		name := strings.ToLower(k.Str)
		ok = ok && !seen[name]
		seen[name] = true
		m = append(m, member{name: k.Str, value: v})
		return ok
	})
	if !ok {
		return nil, false
	}
	return m, true
}

// find returns the first of these members that was not taken, or nil.
func (m members) find(names ...string) *member {
	for _, name := range names {
		for i := range m {
			if m[i].name == name && !m[i].taken {
				return &m[i]
			}
		}
	}
	return nil
}

func (m members) has(names ...string) bool { return m.find(names...) != nil }

func (m members) drop(name string) {
	if one := m.find(name); one != nil {
		one.taken = true
	}
}

// take returns the first of these members that is a string, which has its place then.
func (m members) take(names ...string) (string, bool) {
	for _, name := range names {
		if one := m.find(name); one.isText() {
			one.taken = true
			return one.value.Str, true
		}
	}
	return "", false
}

func (m *member) isText() bool { return m != nil && m.value.Type == gjson.String }

// strings are the elements of a list of nothing else.
func (m *member) strings() (all []string) {
	if m == nil || !m.value.IsArray() {
		return nil
	}
	for _, v := range m.value.Array() {
		if v.Type != gjson.String {
			return nil
		}
		all = append(all, v.Str)
	}
	return all
}
