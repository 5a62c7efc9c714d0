package ndjson

import "slices"

// Members are members of a JSON object, by their paths: the raw value of a
// scalar, and "" for an object, an array or a value of more than some hundred
// bytes.
type Members map[string]string

// Has reports whether the object has a member, whatever its value.
func (m Members) Has(path string) bool {
	_, ok := m[path]
	return ok
}

// Skim picks members out of an object that need not be whole: it may be cut off,
// nested too deep, or not quite JSON. A path is a key of the outermost object, or
// two with a dot between them. Keys are compared as they are written. Of a key
// that comes twice the last counts.
func Skim(object []byte, paths ...string) Members {
	s := skimmer{paths: paths}
	s.feed(object)
	return s.found
}

// skimToken bounds what is kept of a key or value.
const skimToken = 256

// skimmer is fed an object in pieces.
type skimmer struct {
	paths []string
	found Members

	depth    int
	inString bool
	escaped  bool
	token    []byte    // the key or scalar that is being read
	keys     [2]string // of the outermost object, and of one in it
}

func (s *skimmer) feed(b []byte) {
	for _, c := range b {
		if s.inString {
			s.keep(c)
			switch {
			case s.escaped:
				s.escaped = false
			case c == '\\':
				s.escaped = true
			case c == '"':
				s.inString = false
			}
			continue
		}
		switch c {
		case '"':
			s.inString = true
			s.keep(c)
		case '{', '[':
			s.depth++
			s.token = s.token[:0]
			if s.inner() {
				s.keys[s.depth-1] = ""
			}
		case '}', ']':
			s.member()
			s.depth--
			s.token = s.token[:0]
		case ',':
			s.member()
		case ':':
			if s.inner() {
				s.keys[s.depth-1] = string(s.token)
				s.token = s.token[:0]
				s.set("")
			}
		case ' ', '\t', '\r', '\n':
		default:
			s.keep(c)
		}
	}
}

// inner reports whether members at this depth can be wanted.
func (s *skimmer) inner() bool { return s.depth == 1 || s.depth == 2 }

func (s *skimmer) keep(c byte) {
	if s.inner() && len(s.token) <= skimToken {
		s.token = append(s.token, c)
	}
}

// member ends a member: its value is the token.
func (s *skimmer) member() {
	if !s.inner() {
		return
	}
	if len(s.token) > 0 && len(s.token) <= skimToken {
		s.set(string(s.token))
	}
	s.keys[s.depth-1], s.token = "", s.token[:0]
}

func (s *skimmer) set(value string) {
	path := unquote(s.keys[0])
	if s.depth == 2 {
		path += "." + unquote(s.keys[1])
	}
	if slices.Contains(s.paths, path) {
		if s.found == nil {
			s.found = Members{}
		}
		s.found[path] = value
	}
}

func unquote(key string) string {
	if len(key) < 2 || key[0] != '"' || key[len(key)-1] != '"' {
		return ""
	}
	return key[1 : len(key)-1]
}
