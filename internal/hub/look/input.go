package look

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// input is the input of a tool call: its members in their order.
type input struct {
	names  []string
	values map[string]json.RawMessage
}

// readInput reads an object. ok is false for what is none, and for one in which a
// name stands twice, in whatever case: the tool may read the other one.
func readInput(detail string) (in input, ok bool) {
	d := json.NewDecoder(strings.NewReader(detail))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return in, false
	}
	in.values = map[string]json.RawMessage{}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		name, isName := t.(string)
		var value json.RawMessage
		if err != nil || !isName || d.Decode(&value) != nil || seen[strings.ToLower(name)] {
			return in, false
		}
		seen[strings.ToLower(name)] = true
		in.names = append(in.names, name)
		in.values[name] = value
	}
	if _, err := d.Token(); err != nil || d.More() {
		return in, false
	}
	return in, true
}

// take returns the first of these members that is a string, which is drawn then.
func (in *input) take(names ...string) (string, bool) {
	for _, name := range names {
		var s string
		if v, ok := in.values[name]; ok && string(v) != "null" && json.Unmarshal(v, &s) == nil {
			in.drop(name)
			return s, true
		}
	}
	return "", false
}

func (in *input) has(name string) bool { _, ok := in.values[name]; return ok }

func (in *input) drop(name string) { delete(in.values, name) }

// left are the members that were not taken.
func (in *input) left() (names []string) {
	for _, name := range in.names {
		if in.has(name) {
			names = append(names, name)
		}
	}
	return names
}

// words is a value for people: a string as it is, anything else as JSON.
func words(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil && string(v) != "null" {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, v) == nil && b.Len() <= maxInline {
		return b.String()
	}
	return clean.Indented(v)
}

// maxInline is how long a value may be that is shown in one line.
const maxInline = 40
