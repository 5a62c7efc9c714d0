package proxy

import (
	"bytes"
	"encoding/json"
)

// message is what the proxy needs to know of a line: the outermost members of a
// JSON-RPC object, as they are written. Absent ones are nil.
type message struct {
	id, method, params, result, err []byte
	// twice is set if a member comes with two values, or an error beside a result:
	// decoders do not agree on which counts.
	twice bool
}

// isRequest reports whether the message waits for an answer.
func (m *message) isRequest() bool { return m.method != nil && m.id != nil }

// isResponse reports whether the message answers one.
func (m *message) isResponse() bool { return m.method == nil && m.id != nil }

// name is the method, "" if it is no string.
func (m *message) name() string {
	if len(m.method) < 2 || m.method[0] != '"' {
		return ""
	}
	if bytes.Equal(m.method, updateMethod) {
		return updateName
	}
	if bytes.IndexByte(m.method, '\\') < 0 {
		return string(m.method[1 : len(m.method)-1])
	}
	var name string // some encoders escape the slash
	_ = json.Unmarshal(m.method, &name)
	return name
}

// updateMethod is what nearly all lines have; they are not read to their end.
const updateName = "session/update"

var updateMethod = []byte(`"` + updateName + `"`)

// scan reads a line as far as needed to know where it belongs. It reports false
// for one that is no JSON object, or that has two meanings. It does not check what is inside the members:
// that is for whoever gets the line.
func scan(line []byte) (message, bool) { return scanTo(line, false) }

// scanTo is scan, and reads all of the line if it is told to.
func scanTo(line []byte, end bool) (m message, ok bool) {
	line = bytes.TrimRight(line, " \t\r\n")
	i := skipSpace(line, 0)
	if i >= len(line) || line[i] != '{' || line[len(line)-1] != '}' {
		return m, false
	}
	for i = skipSpace(line, i+1); i < len(line) && line[i] != '}'; {
		key, after := value(line, i)
		i = skipSpace(line, after)
		if len(key) < 2 || key[0] != '"' || i >= len(line) || line[i] != ':' {
			return m, false
		}
		v, after := value(line, skipSpace(line, i+1))
		if len(v) == 0 {
			return m, false
		}
		if m.set(key, v) && !end {
			return m, true
		}
		if i = skipSpace(line, after); i < len(line) && line[i] == ',' {
			i = skipSpace(line, i+1)
		}
	}
	m.twice = m.twice || given(m.result) && given(m.err)
	return m, i == len(line)-1 && !m.twice
}

// given reports whether a member is there and says something.
func given(member []byte) bool { return member != nil && string(member) != "null" }

// set keeps a member, and reports that no other is of interest.
func (m *message) set(key, v []byte) bool {
	var member *[]byte
	if bytes.IndexByte(key, '\\') >= 0 {
		var name string
		_ = json.Unmarshal(key, &name)
		key = []byte(`"` + name + `"`)
	}
	switch string(key) {
	case `"id"`:
		member = &m.id
	case `"method"`:
		member = &m.method
	case `"params"`:
		member = &m.params
	case `"result"`:
		member = &m.result
	case `"error"`:
		member = &m.err
	default:
		return false
	}
	m.twice = m.twice || *member != nil && !bytes.Equal(*member, v)
	*member = v
	return member == &m.method && m.id == nil && bytes.Equal(v, updateMethod)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// value returns the JSON value that begins at i, and what is behind it. It is
// empty if there is none, or if it does not end.
func value(b []byte, i int) (v []byte, after int) {
	if i >= len(b) {
		return nil, i
	}
	switch b[i] {
	case '"':
		after = stringEnd(b, i)
	case '{', '[':
		after = nestedEnd(b, i)
	case '}', ']', ',', ':':
		return nil, i
	default:
		after = i
		for after < len(b) && !bytes.ContainsRune([]byte(" \t\r\n,:{}[]\""), rune(b[after])) {
			after++
		}
	}
	if after > len(b) {
		return nil, len(b)
	}
	return b[i:after], after
}

// stringEnd is behind the string that begins at i; beyond the end of b if it
// does not end.
func stringEnd(b []byte, i int) int {
	for i++; ; {
		n := bytes.IndexByte(b[min(i, len(b)):], '"')
		if n < 0 {
			return len(b) + 1
		}
		end := i + n
		back := end
		for back > i && b[back-1] == '\\' {
			back--
		}
		i = end + 1
		if (end-back)%2 == 0 {
			return i
		}
	}
}

// nestedEnd is behind the object or array that begins at i.
func nestedEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(b) + 1
}
