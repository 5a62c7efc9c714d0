package clean

import (
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// ellipsis ends a text that was cut.
const ellipsis = "…"

// clusterBytes bounds what one grapheme may weigh on average. The largest
// emoji in use have some 40 bytes; a letter under a thousand accents is an
// attack on whoever draws it.
const clusterBytes = 64

// Truncate returns s if it has at most max graphemes, and otherwise its
// beginning with an ellipsis, max graphemes together. It never cuts a
// character as a person sees it, such as a flag or an accented letter, in two.
func Truncate(s string, max int) string {
	switch {
	case max <= 0:
		return ""
	case len(s) <= max:
		return s
	}
	it, end := graphemes.FromString(s), 0
	for n := 1; it.Next(); n++ {
		if n > max || it.End() > max*clusterBytes {
			return strings.TrimRight(s[:end], " ") + ellipsis
		}
		if n < max {
			end = it.End()
		}
	}
	return s
}

// First returns at most max graphemes of the beginning of s, without an
// ellipsis.
func First(s string, max int) string {
	it, end := graphemes.FromString(s), 0
	for n := 0; n < max && it.Next() && it.End() <= max*clusterBytes; n++ {
		end = it.End()
	}
	return s[:end]
}

// Fence returns body as a fenced code block of Markdown, its fence longer than
// any run of backticks inside. lang is the word behind the opening fence; it
// is dropped when it is not a plain word.
func Fence(lang, body string) string {
	fence := strings.Repeat("`", max(3, backticks(body)+1))
	if strings.ContainsFunc(lang, func(r rune) bool { return !plain(r) }) {
		lang = ""
	}
	end := "\n"
	if body == "" || strings.HasSuffix(body, "\n") {
		end = ""
	}
	return fence + lang + "\n" + body + end + fence
}

// Unfence returns a text without its fences, if it is one block of code and nothing else.
func Unfence(text string) string {
	text = strings.Trim(text, "\n")
	first, rest, ok := strings.Cut(text, "\n")
	fence := first[:len(first)-len(strings.TrimLeft(first, "`"))]
	if !ok || len(fence) < 3 {
		return text
	}
	body, found := strings.CutSuffix(rest, fence)
	if !found || body != "" && !strings.HasSuffix(body, "\n") || strings.Contains("\n"+body, "\n"+fence) {
		return text
	}
	return strings.TrimSuffix(body, "\n")
}

// Span returns s, one line, as an inline code span of Markdown that holds
// whatever backticks s has.
func Span(s string) string {
	if s == "" {
		return ""
	}
	mark := strings.Repeat("`", backticks(s)+1)
	if mark == "`" && strings.Trim(s, " ") == s {
		return mark + s + mark
	}
	return mark + " " + s + " " + mark
}

// backticks returns the length of the longest run of backticks in s.
func backticks(s string) int {
	longest, run := 0, 0
	for i := 0; i < len(s); i++ {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// plain reports the characters of a language name: c++, f#, objective-c.
func plain(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	return strings.ContainsRune("+-#._", r)
}
