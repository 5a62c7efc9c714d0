package conn

import "github.com/tidwall/gjson"

// skim picks id and method out of a JSON object that is fed to it in pieces,
// wherever they stand in it, and keeps nothing else. It makes sense of broken
// JSON too, as far as that has any.
type skim struct {
	size     int
	depth    int
	inString bool
	escaped  bool
	token    []byte // the current key or scalar of the outermost object
	key      string

	id, method string // raw JSON values; "" when not seen
	response   bool   // a result or error member was seen
}

// skimToken bounds what is kept of a key or value; ids are shorter than this,
// and a longer one is not worth an answer.
const skimToken = 256

func (s *skim) feed(b []byte) {
	s.size += len(b)
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
			s.keep(c)
			s.depth++
		case '}', ']':
			if s.depth == 1 {
				s.member()
			}
			s.depth--
		case ',':
			if s.depth == 1 {
				s.member()
			}
		case ':':
			if s.depth == 1 {
				s.key, s.token = string(s.token), s.token[:0]
				s.response = s.response || s.key == `"result"` || s.key == `"error"`
			}
		case ' ', '\t', '\r':
		default:
			s.keep(c)
		}
	}
}

func (s *skim) keep(c byte) {
	if s.depth == 1 && len(s.token) <= skimToken {
		s.token = append(s.token, c)
	}
}

func (s *skim) member() {
	if len(s.token) <= skimToken {
		switch s.key {
		case `"id"`:
			s.id = string(s.token)
		case `"method"`:
			s.method = string(s.token)
		}
	}
	s.key, s.token = "", s.token[:0]
}

// requestID is the raw id of a request that can be answered, else "".
func (s *skim) requestID() string {
	if s.method == "" || !gjson.Valid(s.id) || !answerable(gjson.Parse(s.id)) {
		return ""
	}
	return s.id
}

// responseTo is the call that the message answers, if it is an answer.
func (s *skim) responseTo() (uint64, bool) {
	if s.method != "" || !s.response || !gjson.Valid(s.id) {
		return 0, false
	}
	return callID(gjson.Parse(s.id))
}
