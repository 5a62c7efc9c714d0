package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tidwall/gjson"

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
	redacted = "[redacted]"
	// leastSecret is how long a value has to be to be looked for wherever it may
	// turn up. A shorter one would take words out of everything; it is hidden in
	// its own place alone.
	leastSecret = 6
)

// secrets are the values that must not be written anywhere. More are learned
// while the bridge runs. The zero value has none.
type secrets struct {
	mu   sync.Mutex
	list atomic.Pointer[[]string] // the longest first: one may hold another
}

// findSecrets takes them from an environment.
func findSecrets(environ []string) *secrets {
	s := &secrets{}
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); secretName(name) {
			s.add(value)
		}
	}
	return s
}

func (s *secrets) all() []string {
	if list := s.list.Load(); list != nil {
		return *list
	}
	return nil
}

// add learns a value. Of one with a scheme before it ("Bearer …") it learns the
// rest, too.
func (s *secrets) add(value string) {
	value = strings.ToValidUTF8(value, "\uFFFD")
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.all()
	_, rest, _ := strings.Cut(value, " ")
	for _, v := range []string{value, strings.TrimSpace(rest)} {
		if len(v) >= leastSecret && !slices.Contains(list, v) {
			list = append(slices.Clone(list), v)
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return len(b) - len(a) })
	s.list.Store(&list)
}

// hide takes the secrets out of a text.
func (s *secrets) hide(text string) string {
	for _, v := range s.all() {
		text = strings.ReplaceAll(text, v, redacted)
	}
	// A text that was cut off may end within one.
	if rest, cut := strings.CutSuffix(text, "…"); cut {
		for _, v := range s.all() {
			for n := len(v) - 1; n >= leastSecret; n-- {
				if strings.HasSuffix(rest, v[:n]) {
					return rest[:len(rest)-n] + redacted
				}
			}
		}
	}
	return text
}

// holds reports whether what is to be written holds a secret, in any form in which
// our encoders write one.
func (s *secrets) holds(b []byte) bool {
	return slices.ContainsFunc(s.all(), func(v string) bool {
		quoted := clean.JSON(v)
		return bytes.Contains(b, []byte(v)) || bytes.Contains(b, quoted[1:len(quoted)-1])
	})
}

// learn takes secrets out of a line of the editor: environments and headers, what
// is named like a secret, and what stands in the addresses and arguments of MCP
// servers. A prompt is not searched: what a user writes has no names.
func (s *secrets) learn(line []byte) {
	if mayTeach(line) && gjson.GetBytes(line, "method").Str != "session/prompt" && clean.ValidJSON(line) {
		s.read(line)
	}
}

func (s *secrets) read(line []byte) {
	_ = walk(line, func(at place, value string) string {
		switch {
		case at.hidden() || secretName(at.key):
			s.add(value)
		case strings.EqualFold(at.key, "url"):
			s.addURL(value)
		case strings.EqualFold(at.key, "args"):
			if name, v, ok := strings.Cut(value, "="); ok && secretName(name) {
				s.add(v)
			} else if strings.HasPrefix(at.before, "-") && !strings.Contains(at.before, "=") && secretName(at.before) {
				s.add(value)
			}
		}
		return value
	})
}

// teaching are the words of which each line that learn takes something from has
// one: those of secretWords, and the names of what else is searched.
var teaching = [...]string{
	"key", "token", "secret", "passw", "passphrase", "authorization", "headers", "cookie", "credential", "env", "url", "args",
}

// beginnings has the first two letters of each teaching word, whatever their case.
var beginnings = func() (t [1 << 10]bool) {
	for _, word := range teaching {
		t[pair(word[0], word[1])] = true
	}
	return t
}()

func pair(a, b byte) int { return int(a&31)<<5 | int(b&31) }

// mayTeach reports whether a line is worth reading for its secrets. Most are not,
// and each answer of the user comes in such a line. A name that is not written
// letter by letter, in ASCII, may be any.
func mayTeach(line []byte) bool {
	for i := range len(line) - 1 {
		a, b := line[i], line[i+1]
		if a|b >= 0x80 || a == '\\' && b == 'u' {
			return true
		}
		if !beginnings[pair(a, b)] {
			continue
		}
		for _, word := range teaching {
			if len(line)-i >= len(word) && strings.EqualFold(string(line[i:i+len(word)]), word) {
				return true
			}
		}
	}
	return false
}

func (s *secrets) addURL(value string) {
	u, err := url.Parse(value)
	if err != nil {
		return
	}
	if password, ok := u.User.Password(); ok {
		s.add(password)
	}
	for _, values := range u.Query() {
		for _, v := range values {
			s.add(v)
			s.add(url.QueryEscape(v))
		}
	}
}

var errUnreadable = errors.New("the line is not JSON")

// hideLine takes the secrets out of a line of JSON, and the values of
// environments and headers, known or not. What cannot be read is an error: what
// is in it is not known.
func (s *secrets) hideLine(line []byte) ([]byte, error) {
	if !json.Valid(line) {
		return nil, errUnreadable
	}
	changed := false
	out := walk(line, func(at place, value string) string {
		hidden := s.hide(value)
		if at.hidden() || at.text && secretName(at.key) {
			hidden = redacted
		}
		changed = changed || hidden != value
		return hidden
	})
	if !changed {
		out = line
	}
	if out == nil || s.holds(out) {
		return nil, errUnreadable
	}
	return out, nil
}

// place is where a value stands in a line.
type place struct {
	key    string // of the value, or of the list that it is in
	before string // the text before it in a list
	text   bool   // it is a string
	name   bool   // it is a name
	inside bool   // it is below an environment or headers
}

// hidden reports whether it is a value of an environment or a header.
func (p place) hidden() bool { return p.inside && !p.name }

// level is an object or a list that is being walked.
type level struct {
	list   bool
	inside bool
	named  bool   // a list of objects with a name and a value is above
	key    string // the key that comes now, or the list's own
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
			next := level{list: d == '[', inside: top.inside || holds, key: top.key, wants: d == '{'}
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
	at := place{key: l.key, before: l.before, inside: l.inside}
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

// hideAttr is for a log: it takes the secrets out of what is logged before that
// is quoted.
func (s *secrets) hideAttr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString, slog.KindAny:
		if text := v.String(); s.hide(text) != text {
			a.Value = slog.StringValue(s.hide(text))
		}
	}
	return a
}

// hidingWriter is the net below hideAttr: what still holds a secret is not
// written.
type hidingWriter struct {
	w       io.Writer
	secrets *secrets
}

func (h *hidingWriter) Write(b []byte) (int, error) {
	out := b
	if h.secrets.holds(b) {
		out = []byte("level=WARN msg=\"a line of the log was left out: it held a secret\"\n")
	}
	if _, err := h.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}
