package proxy

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// damaged deals with a line that is left out because it is broken or far too
// long. Whoever waits because of it is told: nobody may hang, and no answer is
// made up from pieces. It returns the line that takes its place, nil for none. It
// was meant for the peer at to.
func (p *proxy) damaged(m ndjson.Members, to *outlet) []byte {
	id := m["id"]
	if !json.Valid([]byte(id)) {
		return nil // nothing to go by
	}
	if !m.Has("method") {
		return append(errorLine(id, ndjson.Internal, "The answer cannot be read"), '\n')
	}
	from := p.editor
	if to == p.editor {
		from = p.agent
	}
	from.post(errorLine(id, ndjson.Parse, "This request cannot be read"))
	return nil
}

// passed are the requests of the agent that the editor has to answer. An answer
// to anything else was not asked for, and goes nowhere: it could be taken for
// that of a question that is answered here.
type passed map[string]int

// add notes a request. An agent may use an id twice; that is its business.
func (p passed) add(id []byte) { p[idKey(id)]++ }

// take reports whether a request waits for this answer.
func (p passed) take(id []byte) bool {
	key := idKey(id)
	n := p[key]
	if p[key]--; n <= 1 {
		delete(p, key)
	}
	return n > 0
}

// idKey is the same for ids that mean the same, however they are written: 1 and
// 1.0, or a string with escapes.
func idKey(id []byte) string {
	if len(id) > 0 && id[0] == '"' && !strings.Contains(string(id), `\`) || isPlainNumber(id) {
		return string(id)
	}
	var v any
	if json.Unmarshal(id, &v) != nil {
		return string(id)
	}
	out, _ := json.Marshal(v) // what was read can be written
	return string(out)
}

// isPlainNumber reports whether an id is an integer without further signs. It
// stays as it is, however large: nobody's id is rounded.
func isPlainNumber(id []byte) bool {
	digits := bytes.TrimPrefix(id, []byte("-"))
	return len(digits) > 0 && len(bytes.Trim(digits, "0123456789")) == 0
}
