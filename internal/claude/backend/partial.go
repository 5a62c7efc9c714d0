package backend

import "encoding/json"

// partial is a tool input that is still being written. Its members that are
// complete can be shown before the rest is there.
type partial struct {
	buf      []byte
	depth    int
	inString bool
	escaped  bool
	members  int // where the last complete member ends
}

// maxPartial is how much of an input is looked at: what a title needs comes
// first, and a file's content may be large.
const maxPartial = 8 << 10

// feed takes the next piece and reports whether another member is complete.
func (p *partial) feed(piece string) bool {
	before := p.members
	for i := 0; i < len(piece) && len(p.buf) < maxPartial; i++ {
		c := piece[i]
		switch {
		case p.escaped:
			p.escaped = false
		case p.inString:
			p.escaped = c == '\\'
			p.inString = c != '"'
		case c == '"':
			p.inString = true
		case c == '{' || c == '[':
			p.depth++
		case c == '}' || c == ']':
			p.depth--
		case c == ',' && p.depth == 1:
			p.members = len(p.buf)
		}
		p.buf = append(p.buf, c)
	}
	return p.members > before
}

// input is an object of the members that are complete.
func (p *partial) input() json.RawMessage {
	raw := append([]byte(nil), p.buf[:p.members]...)
	return append(raw, '}')
}
