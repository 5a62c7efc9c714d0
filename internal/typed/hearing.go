package typed

import (
	"strconv"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Hearing takes the prompts that may answer one question in the conversation.
type Hearing struct {
	// Means reports whether a text is more to the question than own words: an
	// option, a number, `cancel`. What an editor attached is no part of such a text.
	Means func(string) bool

	understood string // the last prompt seemed to say so
}

// Takes returns the answer that a prompt is. If that is in doubt, it returns what
// is said before the question is asked again.
func (h *Hearing) Takes(w Words) (answer, doubt string) {
	before := h.understood
	h.understood = ""
	switch {
	case len(w.among) > 0:
		return "", "Your editor sent several of your messages, and it is not clear which one is your answer: " +
			quoted(w.among) + ". Please answer again; if you have said the same before, in other words."
	case w.typed != "" && h.means(w.typed):
		return w.typed, ""
	}
	for _, text := range w.texts {
		if len(w.texts) == 1 || !h.means(text) {
			continue
		}
		if text == before {
			return text, ""
		}
		h.understood = text
		return "", "Your editor sent more than one text: " + quoted(w.texts) + ". Understood as your answer: " +
			quoted([]string{text}) + ". Send the same again to confirm that, or answer in other words."
	}
	return w.all, ""
}

func (h *Hearing) means(text string) bool { return h.Means != nil && h.Means(text) }

// quoted shows texts, each on one line and not too long.
func quoted(texts []string) string {
	var all []string
	for _, t := range texts[:min(len(texts), maxTexts)] {
		all = append(all, strconv.Quote(clean.Truncate(clean.Line(t), maxQuoted)))
	}
	if len(texts) > maxTexts {
		all = append(all, "…")
	}
	return strings.Join(all, ", ")
}

const maxTexts, maxQuoted = 5, 60
