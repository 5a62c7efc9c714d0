package client

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

// wireWidth is how much of a message is shown where there is no width.
const wireWidth = 160

// wire shows the lines of a connection to people. It remembers requests, so
// that a reply can be named by what it replies to.
type wire struct {
	full bool
	open map[string]wireRequest // by who asked and the request's id
}

type wireRequest struct {
	method string
	secret bool // the reply holds what nobody else may see
}

// asksSecret reports whether the reply to a request must not be kept.
func asksSecret(method string, params gjson.Result) bool {
	r, err := parseRequest(method, json.RawMessage(params.Raw))
	return err == nil && slices.ContainsFunc(r.call.Questions, lineask.Secret)
}

// lines is a line of the connection as it is shown: in short, or with all that it
// holds below.
func (w *wire) lines(dir ndjson.Direction, raw string, width int) []string {
	short, secret := w.line(dir, raw, width)
	m := gjson.Parse(raw)
	if !w.full || !m.IsObject() || secret {
		return []string{short}
	}
	head, _, _ := strings.Cut(short, " {")
	list := []string{head}
	for _, part := range []string{"params", "result", "error"} {
		if v := m.Get(part); v.Exists() {
			for line := range strings.Lines(v.Get(`@pretty:{"indent":"  "}`).Raw) {
				deep := len(line) - len(strings.TrimLeft(line, " "))
				list = append(list, strings.Repeat(" ", 2+deep)+clean.Line(line))
			}
		}
	}
	return list
}

// line is a line of the connection in short: an arrow, → to the agent and ←
// from it, the request's id if it has one, the method, and as much of the rest
// as fits. Of a secret it shows nothing.
func (w *wire) line(dir ndjson.Direction, raw string, width int) (short string, secret bool) {
	arrow, other := "→", "←"
	if dir == ndjson.In {
		arrow, other = other, arrow
	}
	m := gjson.Parse(raw)
	id, method := m.Get("id").String(), m.Get("method").Str
	parts := []string{arrow}
	switch {
	case !m.IsObject():
		parts = append(parts, raw)
	case method != "" && m.Get("id").Exists():
		if w.open == nil {
			w.open = map[string]wireRequest{}
		}
		w.open[arrow+id] = wireRequest{method, asksSecret(method, m.Get("params"))}
		parts = append(parts, "#"+id, method, m.Get("params").Raw)
	case method == "session/update":
		parts = append(parts, method, m.Get("params.update").Raw)
	case method != "":
		parts = append(parts, method, m.Get("params").Raw)
	default:
		request := w.open[other+id]
		delete(w.open, other+id)
		parts, secret = append(parts, "#"+id, request.method), request.secret
		if e := m.Get("error"); e.Exists() {
			parts = append(parts, "error", e.Raw)
		} else if secret {
			parts = append(parts, "result", lineask.NotShown)
		} else {
			parts = append(parts, "result", m.Get("result").Raw)
		}
	}
	width = cmp.Or(max(width, 0), wireWidth)
	line := strings.Join(parts, " ")
	if most := 16 * width; len(line) > most { // the rest is not looked at
		line = line[:most]
	}
	// Escapes of JSON are text here: what they stand for never comes out.
	return cells.Cut(clean.Line(line), width), secret
}

// Trace adds lines of the wire between the others.
func (s *screen) Trace(lines []string) {
	for _, line := range lines {
		s.done = append(s.done, s.each(s.wrap(line), s.faint)...)
	}
}
