package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// place is where a value stands in a line.
type place struct {
	key    string // of the value, or of the list that it is in
	of     string // the key of the object that it is in
	before string // the text before it in a list
	text   bool   // it is a string
	name   bool   // it is a name
	inside bool   // it is below an environment or headers
	server bool   // it is in the configuration of an MCP server
}

// hidden reports whether it is a value of an environment or a header.
func (p place) hidden() bool { return p.inside && !p.name }

// level is an object or a list that is being walked.
type level struct {
	list   bool
	inside bool
	server bool
	named  bool   // a list of objects with a name and a value is above
	key    string // the key that comes now, or the list's own
	of     string // its own key
	wants  bool   // a key comes next
	before string
	some   bool
}

// walk writes line anew, with each key, string, number and literal replaced by
// what f makes of it. Strings are decoded for f. It is nil for what cannot be
// decoded.
func walk(line []byte, f func(at place, value string) string) []byte {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var out []byte
	stack := []level{{list: true}}
	for {
		token, err := dec.Token()
		if err == io.EOF && len(stack) == 1 {
			return out
		}
		if err != nil {
			return nil
		}
		top := &stack[len(stack)-1]
		if d, ok := token.(json.Delim); ok && (d == '}' || d == ']') {
			out = append(out, byte(d))
			stack = stack[:len(stack)-1]
			stack[len(stack)-1].wants = !stack[len(stack)-1].list
			continue
		}
		switch {
		case top.some && (top.list || top.wants):
			out = append(out, ',')
		case !top.list && !top.wants:
			out = append(out, ':')
		}
		top.some = true
		if d, ok := token.(json.Delim); ok {
			out = append(out, byte(d))
			holds := strings.EqualFold(top.key, "env") || strings.EqualFold(top.key, "headers")
			next := level{list: d == '[', inside: top.inside || holds, key: top.key, of: top.key, wants: d == '{'}
			next.server = top.server || isServers(top.key)
			next.named = d == '[' && holds && !top.list || top.list && top.named
			stack = append(stack, next)
			continue
		}
		out = top.value(out, token, f)
	}
}

// value writes a key or a value that is no object and no list.
func (l *level) value(out []byte, token json.Token, f func(place, string) string) []byte {
	if key, ok := token.(string); ok && l.wants {
		l.wants, l.key = false, key
		return clean.AppendJSON(out, f(place{name: true}, key))
	}
	at := place{key: l.key, of: l.of, before: l.before, inside: l.inside, server: l.server || isServers(l.key)}
	if !l.list {
		l.wants = true
		holds := strings.EqualFold(l.key, "env") || strings.EqualFold(l.key, "headers")
		at.inside = at.inside || holds
		at.name = l.named && l.key == "name"
	}
	switch v := token.(type) {
	case string:
		at.text = true
		l.before = v
		return clean.AppendJSON(out, f(at, v))
	case json.Number:
		if hidden := f(at, v.String()); hidden != v.String() {
			return clean.AppendJSON(out, hidden)
		}
		return append(out, v...)
	}
	literal := string(clean.JSON(token)) // null, true or false
	if hidden := f(at, literal); hidden != literal && token != nil {
		return clean.AppendJSON(out, hidden)
	}
	return append(out, literal...)
}
