// Package typed finds what a person typed in a prompt: editors send files, what
// was said before and words of their own along.
//
//	editor   sends                                               typed is
//	avante   <previous_user_message> blocks, in any order        the one that the prompt before did not have
//	goose    the text, then <turn-context>                       the text that is no tag
//	others   texts, and links between them                       all of the texts
//
// Where that leaves a doubt, the prompt is no answer: see [Hearing].
package typed

import (
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
)

// Reader reads the prompts of one session, in the order in which they come. The
// zero value is that of a new session. It is not for several goroutines at once.
type Reader struct {
	before []string // the messages that the last prompt had
	links  []string // and its links, as words
}

// Words are a prompt as the answer to a question.
type Words struct {
	typed string // what the user wrote
	all   string // the same, with the pictures and links that came along
	texts []string
	lost  string // what came along and cannot be told in words
	// among are the messages of which one was typed, if it is not known which.
	among []string
}

// String is the prompt for people. In doubt it is a guess.
func (w Words) String() string { return w.all }

// Lost is what came along with an answer that says nothing of it.
func (w Words) Lost(answer string) string {
	if answer == w.all {
		return ""
	}
	return w.lost
}

// Read reads the next prompt.
func (r *Reader) Read(content []acp.ContentBlock) Words {
	if messages := wrapped(content); messages != nil {
		return r.readWrapped(content, messages)
	}
	var w Words
	var all, lost []string
	for _, c := range content {
		if c.Text != nil {
			if text := strings.TrimSpace(c.Text.Text); text != "" && !beside(content, text) {
				w.texts, all = append(w.texts, text), append(all, text)
			}
			continue
		}
		all, lost = attach(all, lost, c)
	}
	r.before, r.links = w.texts, nil
	w.lost = strings.Join(lost, " and ")
	w.typed, w.all = strings.Join(w.texts, " "), whole(all, w.lost)
	return w
}

// readWrapped reads a prompt of an editor that wraps messages. Its files come
// with each prompt: only one that is new belongs to what was typed.
func (r *Reader) readWrapped(content []acp.ContentBlock, messages []string) (w Words) {
	var links, lost []string
	for _, c := range content {
		links, lost = attach(links, lost, c)
	}
	w.typed, w.among = newest(r.before, messages)
	w.texts = []string{w.typed}
	added := slices.DeleteFunc(slices.Clone(links), func(l string) bool { return slices.Contains(r.links, l) })
	w.lost = strings.Join(lost, " and ")
	w.all = whole(append(w.texts, added...), w.lost)
	r.before, r.links = messages, links
	return w
}

// attach adds what stands beside the texts to the words, or to what cannot be told.
func attach(words, lost []string, c acp.ContentBlock) (_, _ []string) {
	switch text, what := attached(c); {
	case text != "":
		return append(words, text), lost
	case what != "":
		return words, append(lost, what)
	}
	return words, lost
}

// whole puts a space between words, however these end. What is lost is no answer
// alone: the question is asked again.
func whole(words []string, lost string) string {
	var kept []string
	for _, w := range words {
		if w = strings.TrimSpace(w); w != "" {
			kept = append(kept, w)
		}
	}
	all := strings.Join(kept, " ")
	if all != "" && lost != "" {
		all += " (with " + lost + " that cannot be passed on)"
	}
	return all
}
