package cells

import "strings"

// reset ends all attributes.
const reset = "\x1b[m"

// Style draws with the terminal's own sixteen colours and attributes, so that
// it is readable on light and dark backgrounds without asking which it is. A
// colour is never all that tells two things apart. The zero value has colours.
type Style struct {
	// NoColor leaves the colours out, and keeps the attributes.
	NoColor bool
	// Off leaves text as it is.
	Off bool
}

// Strong is for what is read first.
func (s Style) Strong(t string) string { return s.draw("1", t) }

// Faint is for what can be left unread.
func (s Style) Faint(t string) string { return s.draw("2", t) }

// Code is for what a machine reads.
func (s Style) Code(t string) string {
	if s.NoColor {
		return t
	}
	return s.draw("36", t)
}

// Reverse is for the one of several that one is on.
func (s Style) Reverse(t string) string { return s.draw("7", t) }

// Accent marks the entry that one is on.
func (s Style) Accent(t string) string { return s.draw(s.colour("1", "36"), t) }

// Warn marks what needs an answer or went wrong.
func (s Style) Warn(t string) string { return s.draw(s.colour("1", "35"), t) }

// Signed draws a line of a diff: green for + and red for -, which the line
// itself says, too.
func (s Style) Signed(sign byte, t string) string {
	switch {
	case s.NoColor:
		return t
	case sign == '+':
		return s.draw("32", t)
	case sign == '-':
		return s.draw("31", t)
	}
	return t
}

func (s Style) colour(attribute, colour string) string {
	if s.NoColor {
		return attribute
	}
	return attribute + ";" + colour
}

func (s Style) draw(attributes, t string) string {
	if s.Off || t == "" {
		return t
	}
	on := "\x1b[" + attributes + "m"
	return on + strings.ReplaceAll(t, reset, reset+on) + reset
}

// Plain is s without attributes.
func Plain(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	var b strings.Builder
	for s != "" {
		if n := attribute(s); n > 0 {
			s = s[n:]
			continue
		}
		c, rest := First(s)
		b.WriteString(c)
		s = rest
	}
	return b.String()
}

// attribute is the length of the sequence of attributes that s begins with, 0
// if with none.
func attribute(s string) int {
	if len(s) < 3 || s[0] != 0x1b || s[1] != '[' {
		return 0
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case (c < '0' || c > '9') && c != ';':
			return 0
		}
	}
	return 0
}
