// Package redact keeps secrets out of logs and traces: those of the environment,
// and those that pass on the wires.
package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// secretWords are in the names of variables, headers and fields that hold
// secrets.
var secretWords = [...]string{
	"key", "token", "secret", "password", "passwd", "passphrase", "authorization", "headers", "cookie", "credential",
}

// secretName reports whether something with that name holds a secret. Letters
// that are written alike in upper case are the same.
func secretName(name string) bool {
	name = strings.ToLower(strings.ToUpper(name))
	return slices.ContainsFunc(secretWords[:], func(word string) bool { return strings.Contains(name, word) })
}

const (
	// Mark stands where a secret was.
	Mark = "[redacted]"
	// leastSecret is how long a value has to be to be looked for wherever it may
	// turn up. A shorter one would take words out of everything; it is hidden in
	// its own place alone.
	leastSecret = 6
	// leastLine is the same for a line of a value that has several: such a value
	// may be a text with words that are in others, too.
	leastLine = 16
)

// Secrets are the values that must not be written anywhere. More are learned
// while the bridge runs. The zero value has none.
type Secrets struct {
	mu   sync.Mutex
	list atomic.Pointer[[]string] // the longest first: one may hold another
	// fields are the keys of forms' fields that take a secret.
	fields atomic.Pointer[[]string]
	last   atomic.Pointer[[]gjson.Result] // the form that was read last
}

// Find takes them from an environment.
func Find(environ []string) *Secrets {
	s := &Secrets{}
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); secretName(name) {
			s.Add(value)
		}
	}
	return s
}

func (s *Secrets) all() []string {
	if list := s.list.Load(); list != nil {
		return *list
	}
	return nil
}

// Add learns a value.
func (s *Secrets) Add(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.all()
	for _, v := range recognisable(value) {
		if !slices.Contains(list, v) {
			list = append(slices.Clone(list), v)
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return len(b) - len(a) })
	s.list.Store(&list)
}

// recognisable are the texts by which a value is recognised: the whole without
// the white space around it, what is behind a scheme ("Bearer …"), what is in
// quotes, each long line of several, and what is named like a secret in JSON.
func recognisable(value string) (texts []string) {
	keep := func(text string, least int) {
		if text = strings.TrimSpace(text); len(text) >= least && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	value = strings.TrimSpace(strings.ToValidUTF8(value, "\uFFFD"))
	keep(value, leastSecret)
	keep(strings.Trim(value, `"'`), leastSecret)
	_, rest, _ := strings.Cut(value, " ")
	keep(rest, leastSecret)
	for l := range layers(value) {
		lines := strings.FieldsFunc(l.text, func(r rune) bool { return r == '\n' || r == '\r' })
		for _, line := range lines {
			if len(lines) > 1 && !strings.HasPrefix(line, "-----") { // that is said in every PEM file
				keep(line, leastLine)
			}
		}
	}
	for _, v := range namedSecrets(value) {
		keep(v, leastSecret)
	}
	return texts
}

// namedSecrets are what is in the text of a JSON object under names of secrets.
func namedSecrets(text string) (found []string) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") || !clean.ValidJSON([]byte(text)) {
		return nil
	}
	_ = walk([]byte(text), func(at place, v string) string {
		if (at.hidden() || at.text && secretName(at.key)) && v != "" {
			found = append(found, v)
		}
		return v
	})
	return found
}

// Hide takes the secrets out of a text, and more of them, however often they are
// quoted there.
func (s *Secrets) Hide(text string, more ...string) string {
	list := append(more, s.all()...)
	if len(list) == 0 {
		return text
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	var found []span
	for l := range layers(text) {
		for _, v := range list {
			found = l.find(found, v)
		}
	}
	return redact(text, found)
}

// Holds reports whether what is to be written holds a secret.
func (s *Secrets) Holds(b []byte) bool {
	list := s.all()
	if len(list) == 0 {
		return false
	}
	for l := range layers(string(b)) {
		if slices.ContainsFunc(list, func(v string) bool { return strings.Contains(l.text, v) }) {
			return true
		}
	}
	return false
}

// Learn takes secrets out of a line of the editor, or of one that configures MCP
// servers: environments and headers, what is named like a secret, and what stands
// in the addresses, commands and arguments of the servers. A prompt is not searched: what a user writes has no names.
func (s *Secrets) Learn(line []byte) {
	if (teaching.mayBeIn(line) || s.fields.Load() != nil) && gjson.GetBytes(line, "method").Str != "session/prompt" && clean.ValidJSON(line) {
		s.read(line)
	}
}

func (s *Secrets) read(line []byte) {
	_ = walk(line, func(at place, value string) string {
		var found []string
		switch {
		case at.hidden() || secretName(at.key) || s.answers(at):
			found = []string{value}
		case at.server:
			found = serverSecrets(at, value)
		case strings.EqualFold(at.key, "url"):
			found = addressSecrets(value)
		case strings.EqualFold(at.key, "args"):
			found = argumentSecrets(at.before, value)
		case strings.EqualFold(at.key, "settings"): // they may be given as the text of a JSON object
			found = namedSecrets(value)
		}
		for _, v := range found {
			s.Add(v)
		}
		return value
	})
}

// LearnForm remembers which fields of a form take a secret.
func (s *Secrets) LearnForm(line []byte) {
	if bytes.HasPrefix(line, []byte(`{"type":"`)) && !bytes.HasPrefix(line, []byte(`{"type":"control_request"`)) ||
		bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","method":"session/update",`)) {
		return // as nearly all lines
	}
	if !bytes.Contains(line, []byte("chema")) {
		return
	}
	var keys []string
	form := gjson.GetManyBytes(line, "params.requestedSchema", "params.message", "request.requested_schema", "request.message")
	if last := s.last.Swap(&form); last != nil && slices.EqualFunc(*last, form, func(a, b gjson.Result) bool { return a.Raw == b.Raw }) {
		return // what an agent asks goes on to the editor
	}
	for i := 0; i < len(form); i += 2 {
		keys = append(keys, ask.SecretFields(form[i+1].String(), json.RawMessage(form[i].Raw))...)
	}
	if len(keys) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.fields.Load(); known != nil {
		keys = append(keys, *known...)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	s.fields.Store(&keys)
}

// answers reports whether a value is the answer to a field that takes a secret.
func (s *Secrets) answers(at place) bool {
	keys := s.fields.Load()
	return keys != nil && at.of == "content" && !at.name && slices.Contains(*keys, at.key)
}

var errUnreadable = errors.New("the line is not JSON")

// HideLine takes the secrets out of a line of JSON, and the values of
// environments and headers, known or not. What cannot be read is an error: what
// is in it is not known.
func (s *Secrets) HideLine(line []byte) ([]byte, error) {
	if !json.Valid(line) {
		return nil, errUnreadable
	}
	changed := false
	out := walk(line, func(at place, value string) string {
		var here []string // also what is too short to be looked for elsewhere
		if strings.EqualFold(at.key, "args") {
			here = argumentSecrets(at.before, value)
		} else if strings.EqualFold(at.key, "settings") {
			here = namedSecrets(value)
		}
		shown := value
		if at.server && !at.name {
			shown = serverPart(at, value)
		}
		hidden := s.Hide(shown, here...)
		if at.hidden() || at.text && secretName(at.key) || s.answers(at) {
			hidden = Mark
		}
		changed = changed || hidden != value
		return hidden
	})
	if !changed {
		out = line
	}
	if out == nil || s.Holds(out) {
		return nil, errUnreadable
	}
	return out, nil
}

// HideAttr is for a log: it takes the secrets out of what is logged before that
// is quoted.
func (s *Secrets) HideAttr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString, slog.KindAny:
		if text := v.String(); s.Hide(text) != text {
			a.Value = slog.StringValue(s.Hide(text))
		}
	}
	return a
}

// Writer is the net below HideAttr: what still holds a secret is not
// written.
type Writer struct {
	W       io.Writer
	Secrets *Secrets
}

func (h *Writer) Write(b []byte) (int, error) {
	out := b
	if h.Secrets.Holds(b) {
		out = []byte("level=WARN msg=\"a line of the log was left out: it held a secret\"\n")
	}
	if _, err := h.W.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}
