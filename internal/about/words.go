package about

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	// maxPrompt and maxSaid are how much is told of what was said, in bytes: of a
	// prompt its beginning, of an agent's words their end.
	maxPrompt = 600
	maxSaid   = 1200
	// maxTitle is in letters: of some writings one takes four bytes.
	maxTitle = 80
)

// Words keeps what was said last in a conversation. The zero value is ready.
type Words struct {
	title, prompt string
	said          []byte
	first         string
}

// Name gives the conversation a title.
func (w *Words) Name(title string) { w.title = cutEnd(title, 4*maxTitle) }

// Prompt notes what the user wrote. What the agent said was before it.
func (w *Words) Prompt(text string) {
	w.prompt, w.said = cutEnd(strings.TrimSpace(text), 2*maxPrompt), w.said[:0]
	w.first = cmp.Or(w.first, w.prompt)
}

// Say notes a piece of what the agent says.
func (w *Words) Say(text string) {
	w.said = append(w.said, text...)
	if len(w.said) > 8*maxSaid {
		w.said = append(w.said[:0], w.said[len(w.said)-4*maxSaid:]...)
	}
}

// Tell notes what was said, for [About.Told].
func (w *Words) Tell(a *About) {
	if w.title != "" || w.first != "" || len(w.said) > 0 {
		a.said = &said{w.title, w.first, w.prompt, string(w.said)}
	}
}

// titleOf is a conversation's title: its own, or the first line that the user wrote.
func titleOf(title, first string) string {
	if title == "" {
		title, _, _ = strings.Cut(strings.TrimSpace(first), "\n")
	}
	title = Redact(title)
	if letters := []rune(title); len(letters) > maxTitle {
		title = string(letters[:maxTitle]) + "…"
	}
	return title
}

// cutEnd returns the beginning of s, in at most n bytes and a mark.
func cutEnd(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// cutStart returns the end of s, from the beginning of a line or a word if there is
// one.
func cutStart(s string, n int) string {
	if len(s) <= n {
		return s
	}
	at := len(s) - n
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	if i := strings.IndexAny(s[at:], " \n"); i >= 0 && i < n/4 {
		at += i + 1
	}
	return "…" + s[at:]
}

// Redacted stands for what looked like a secret.
const Redacted = "•••"

// secrets are what keys, tokens and passwords look like. The words before one stay.
var secrets = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?s)()-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`),
		regexp.MustCompile(`()\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}`),
		regexp.MustCompile(`()\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|npm_|hf_|dop_v1_|AIza|ya29\.)[A-Za-z0-9_.-]{10,}`),
		regexp.MustCompile(`()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`),
		regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`),
		regexp.MustCompile(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{12,}`),
		regexp.MustCompile(`(?i)([a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+@`),
		regexp.MustCompile(`(?i)((?:pass(?:word|wd|phrase)?|secret|token|api[-_ ]?key|access[-_ ]?key|credential)[a-z0-9_]*["']?\s*(?:[:=]|\bis\b)\s*["']?)[^\s"',;]{4,}`),
		regexp.MustCompile(`()\b[A-Fa-f0-9]{40,}\b`),
		regexp.MustCompile(`()\b[A-Za-z0-9+/_-]*[0-9][A-Za-z0-9+/_-]{47,}={0,2}`),
	}
})

// Redact takes out what looks like a secret. It is a net with holes: what must not
// be told must not be said.
func Redact(s string) string {
	for _, re := range secrets() {
		s = re.ReplaceAllString(s, "${1}"+Redacted)
	}
	return s
}
