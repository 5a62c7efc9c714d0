package tty

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Key is a key that was pressed.
type Key struct {
	// Name is the key with its modifiers: "a", "G", "space", "up", "ctrl+c",
	// "alt+enter", "shift+tab". The modifiers come in that order.
	Name string
	// Text is what the key types. It is empty for keys that type nothing.
	Text string
	// At is when the key was read. It was typed then, or before, but not before Since.
	At, Since time.Time
	// Burst says that it came closer to others than fingers press keys: all of them
	// were pasted, or have waited to be read.
	Burst bool
}

// Paste is text that was pasted. It holds no control characters but line
// breaks and tabs.
type Paste struct {
	Text  string
	Since time.Time // as that of a [Key]
}

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"

	// maxPaste bounds what is kept of one paste.
	maxPaste = 4 << 20
	// maxSequence bounds an escape sequence that does not end.
	maxSequence = 4 << 10
	// escapeTime is how long the rest of an escape sequence may take. After it
	// an escape is the key Esc.
	escapeTime = 50 * time.Millisecond
)

// decoder makes keys of the bytes that a terminal sends. What it does not know
// it leaves out as a whole: no part of a sequence is ever taken for text.
type decoder struct {
	held    []byte // read, not yet decoded
	pasting bool
	now     func() time.Time
	since   time.Time // of what is fed
}

// feed decodes what was read.
func (d *decoder) feed(chunk []byte) (events []any) {
	if d.pasting && len(chunk) == 1 && chunk[0] == 0x03 {
		// A Ctrl+C on its own is the user's, who sees a paste that never ends.
		d.held, d.pasting = nil, false
	}
	d.held = append(d.held, chunk...)
	for len(d.held) > 0 {
		if d.pasting {
			text, ok := d.paste()
			if !ok {
				break
			}
			events = append(events, Paste{text, d.since})
			continue
		}
		k, n := decode(d.held)
		if n == 0 {
			break
		}
		d.pasting = string(d.held[:n]) == pasteStart
		d.held = d.held[n:]
		events = d.add(events, k)
	}
	return events
}

// waiting reports whether there are bytes that may be a key of their own or
// the beginning of one.
func (d *decoder) waiting() bool { return len(d.held) > 0 && !d.pasting }

// flush decodes what is held although nothing has come after it.
func (d *decoder) flush() (events []any) {
	if d.pasting {
		return nil
	}
	b := d.held
	d.held = nil
	switch {
	case len(b) == 1 && b[0] == esc, len(b) == 2 && b[0] == esc && b[1] == esc:
		return d.add(nil, Key{Name: "esc"})
	case len(b) == 2 && b[0] == esc && b[1] < utf8.RuneSelf: // Alt and a key that begins a sequence too
		return d.add(nil, Key{Name: "alt+" + string(b[1])})
	}
	return nil
}

func (d *decoder) add(events []any, k Key) []any {
	if k.Name == "" {
		return events
	}
	k.At, k.Since = d.now(), d.since
	return append(events, k)
}

// paste takes a paste that is complete.
func (d *decoder) paste() (text string, ok bool) {
	i := bytes.Index(d.held, []byte(pasteEnd))
	if i < 0 {
		if over := len(d.held) - maxPaste; over > 0 {
			// The end may be half read: it stays.
			keep := d.held[len(d.held)-len(pasteEnd):]
			d.held = append(d.held[:maxPaste-len(pasteEnd)], keep...)
		}
		return "", false
	}
	text = harmless(d.held[:i])
	d.held, d.pasting = d.held[i+len(pasteEnd):], false
	return text, true
}

// harmless is pasted text without control characters but line breaks and tabs.
func harmless(b []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), "\ufffd"))
}

const esc = 0x1b

// decode takes the first key of b and the number of its bytes: 0 if more are
// needed. What is no key has no name.
func decode(b []byte) (Key, int) {
	if b[0] != esc {
		return decodeRune(b)
	}
	if len(b) == 1 {
		return Key{}, 0
	}
	switch b[1] {
	case '[':
		return decodeCSI(b)
	case 'O':
		if len(b) == 2 {
			return Key{}, 0
		}
		return Key{Name: letters[b[2]]}, 3
	case ']', 'P', '_', '^', 'X': // what terminals reply to questions that nobody asked
		return Key{}, stringEnd(b)
	case esc:
		if len(b) == 2 {
			return Key{}, 0
		}
		if b[2] != '[' && b[2] != 'O' {
			return Key{Name: "esc"}, 1
		}
	}
	k, n := decode(b[1:])
	if n == 0 || k.Name == "" {
		if n > 0 {
			n++
		}
		return Key{}, n
	}
	return Key{Name: withAlt(k.Name)}, n + 1
}

func withAlt(name string) string {
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return "ctrl+alt+" + rest
	}
	return "alt+" + name
}

// stringEnd is the length of a sequence that holds text, 0 if its end has not
// come.
func stringEnd(b []byte) int {
	for i := 2; i < len(b); i++ {
		switch {
		case b[i] == 0x07:
			return i + 1
		case b[i] == esc && i+1 < len(b) && b[i+1] == '\\':
			return i + 2
		}
	}
	if len(b) > maxSequence {
		return len(b)
	}
	return 0
}

// controls are the control characters with names of their own.
var controls = map[byte]string{
	0x00: "ctrl+space", '\t': "tab", '\r': "enter", 0x1c: `ctrl+\`, 0x1d: "ctrl+]", 0x1e: "ctrl+^", 0x1f: "ctrl+_", 0x7f: "backspace",
}

// decodeRune decodes a key that is not a sequence.
func decodeRune(b []byte) (Key, int) {
	if name, ok := controls[b[0]]; ok {
		return Key{Name: name}, 1
	}
	if b[0] < ' ' {
		return Key{Name: "ctrl+" + string(rune(b[0]-1+'a'))}, 1
	}
	if !utf8.FullRune(b) {
		return Key{}, 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		return Key{}, 1
	}
	return typed(r), n
}

// typed is the key that types a character.
func typed(r rune) Key {
	switch {
	case r == ' ':
		return Key{Name: "space", Text: " "}
	case unicode.IsControl(r):
		return Key{}
	}
	return Key{Name: string(r), Text: string(r)}
}

// letters name keys by the letter that ends their sequence, numbers by their
// first parameter.
var (
	letters = map[byte]string{'A': "up", 'B': "down", 'C': "right", 'D': "left", 'H': "home", 'F': "end",
		'a': "shift+up", 'b': "shift+down", 'c': "shift+right", 'd': "shift+left", 'M': "enter"}
	numbers = map[int]string{1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pgup", 6: "pgdown", 7: "home", 8: "end"}
)

// decodeCSI decodes a sequence that begins with an escape and a bracket.
func decodeCSI(b []byte) (Key, int) {
	i := 2
	if i < len(b) && b[i] == '[' { // a function key of the Linux console
		if i++; i == len(b) {
			return Key{}, 0
		}
		return Key{}, i + 1
	}
	for i < len(b) && b[i] >= 0x20 && b[i] < 0x40 {
		i++
	}
	switch {
	case i == len(b) && i < maxSequence:
		return Key{}, 0
	case i == len(b) || b[i] < 0x40 || b[i] > 0x7e: // broken off
		return Key{}, i
	}
	return csiKey(string(b[2:i]), b[i]), i + 1
}

// csiKey is the key of a complete sequence.
func csiKey(params string, final byte) Key {
	p := parameters(params)
	code, mods := p[0], p[1]
	switch final {
	case 'Z':
		return Key{Name: "shift+tab"}
	case '~', '^': // ^ is rxvt's ~ with Ctrl
		if final == '^' {
			mods = 5
		}
		if code == 27 {
			return coded(p[2], mods)
		}
		return modified(numbers[code], mods)
	case 'u':
		return coded(code, mods)
	case 'M': // a report of the mouse
		return Key{}
	}
	if code < 0 || code > 1 {
		return Key{}
	}
	return modified(letters[final], mods)
}

// parameters reads up to three numbers. What else there is makes the sequence
// none of a key: the first number is then negative.
func parameters(s string) (p [3]int) {
	for i, part := range strings.SplitN(s, ";", len(p)+1) {
		if i == len(p) {
			break
		}
		part, sub, _ := strings.Cut(part, ":")
		if i == 1 && sub == "3" { // a key that was let go
			return [3]int{-1, 0, 0}
		}
		if part == "" {
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			return [3]int{-1, 0, 0}
		}
		p[i] = n
	}
	return p
}

// coded is a key that is named by its character.
func coded(code, mods int) Key {
	switch code {
	case '\t', '\r', 0x7f:
		return modified(controls[byte(code)], mods)
	case esc:
		return modified("esc", mods)
	}
	if code < ' ' || code > unicode.MaxRune || code >= 0xe000 && code < 0xf900 { // keys without a character
		return Key{}
	}
	k := typed(rune(code))
	if mods = max(0, mods-1) & (shift | alt | ctrl); mods&(alt|ctrl) != 0 {
		return modified(k.Name, mods+1)
	}
	if mods&shift != 0 && k.Name != "space" {
		return typed(unicode.ToUpper(rune(code)))
	}
	return k
}

// Modifiers in the second parameter of a sequence, less one.
const (
	shift = 1 << iota
	alt
	ctrl
)

// modified is the key of that name with modifiers; without a name it is none.
func modified(name string, mods int) Key {
	if name == "" {
		return Key{}
	}
	mods = max(0, mods-1)
	if mods&shift != 0 && !strings.HasPrefix(name, "shift+") {
		name = "shift+" + name
	}
	if mods&alt != 0 {
		name = "alt+" + name
	}
	if mods&ctrl != 0 {
		name = "ctrl+" + name
	}
	return Key{Name: name}
}
