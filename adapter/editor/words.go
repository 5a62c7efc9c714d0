package editor

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
)

// words are a prompt as the answer to a question.
type words struct {
	typed string // what the user wrote
	all   string // the same, with the pictures and links that came along
}

// answer is what the user says to a question. What the editor attached is part of
// the user's own words and of nothing else.
func (w words) answer(means func(string) bool) string {
	if w.typed != "" && means != nil && means(w.typed) {
		return w.typed
	}
	return w.all
}

// PromptWords are a prompt as the answer to a question, for whoever stands in for
// the front: means tells whether what was typed is one as it is, see
// [adapter.Message].
func PromptWords(content []acp.ContentBlock, means func(string) bool) string {
	return promptWords(content, nil).answer(means)
}

// promptWords reads a prompt. Before is what the prompt before it had of messages
// that are wrapped, see [wrapped].
func promptWords(content []acp.ContentBlock, before []string) words {
	var typed, all, lost []string
	messages := wrapped(content)
	for _, c := range content {
		if c.Text != nil {
			if messages == nil && !beside(content, c.Text.Text) {
				typed, all = append(typed, c.Text.Text), append(all, c.Text.Text)
			}
			continue
		}
		if text, what := attached(c); text != "" {
			all = append(all, text)
		} else if what != "" {
			lost = append(lost, what)
		}
	}
	if messages != nil {
		own := newest(before, messages)
		typed, all = []string{own}, append([]string{own}, all...)
	}
	w := words{spaced(typed), spaced(all)}
	if w.all != "" && len(lost) > 0 { // alone it is no answer: the question is asked again
		w.all += " (with " + strings.Join(lost, " and ") + " that cannot be passed on)"
	}
	return w
}

// attached is what stands beside what was typed, as words: a link, or the text of
// what can be found nowhere else, as text that was pasted. Without words it is
// what cannot be told.
func attached(c acp.ContentBlock) (text, what string) {
	switch {
	case c.ResourceLink != nil:
		return LinkText(c.ResourceLink.Name, c.ResourceLink.Uri), ""
	case c.Image != nil:
		return fileText(c.Image.Uri), "a picture"
	case c.Audio != nil:
		return "", "a recording"
	case c.Resource == nil:
		return "", ""
	case c.Resource.Resource.TextResourceContents != nil:
		r := c.Resource.Resource.TextResourceContents
		if elsewhere(r.Uri) {
			return LinkText("", r.Uri), ""
		}
		return r.Text, ""
	case c.Resource.Resource.BlobResourceContents != nil:
		return fileText(&c.Resource.Resource.BlobResourceContents.Uri), "a file"
	}
	return "", ""
}

// fileText mentions what is a file or on the web; it is empty for all else.
func fileText(uri *string) string {
	if uri == nil || !elsewhere(*uri) {
		return ""
	}
	return LinkText("", *uri)
}

// elsewhere reports whether the agent can find what an address names.
func elsewhere(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && (u.Scheme == "file" || u.Scheme == "http" || u.Scheme == "https") && u.Host+u.Path != ""
}

// spaced puts a space between texts, however these end.
func spaced(texts []string) string {
	all := ""
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" && all != "" {
			all += " "
		}
		all += t
	}
	return all
}

// wrapped finds what the user has typed, in this prompt and before, where an editor
// (avante.nvim) sends each message in a wrapping of its own. It is nil for other
// prompts. Where anything else stands behind the first, it is the user who wrote so.
func wrapped(content []acp.ContentBlock) (messages []string) {
	const open, end = "<previous_user_message>", "</previous_user_message>"
	for _, c := range content {
		if c.Text == nil {
			continue
		}
		rest := strings.TrimSpace(c.Text.Text)
		for rest != "" {
			text, ok := strings.CutPrefix(rest, open)
			if ok {
				text, rest, ok = strings.Cut(text, end)
				rest = strings.TrimSpace(rest)
			}
			if !ok || len(messages) == 0 && rest != "" && !strings.HasPrefix(rest, open) {
				break
			}
			messages = append(messages, text)
		}
		if len(messages) == 0 {
			return nil
		}
	}
	return messages
}

// newest is the message that the prompt before did not have: in a conversation that
// was loaded, an old one may stand before it. In doubt it is the first.
func newest(before, now []string) string {
	had := map[string]int{}
	for _, m := range before {
		had[m]++
	}
	var added []string
	for _, m := range now {
		if had[m]--; had[m] < 0 {
			added = append(added, m)
		}
	}
	if len(before) > 0 && len(added) == 1 {
		return added[0]
	}
	return now[0]
}

// turnContext is a text in one tag, which an editor (goose) puts behind what was typed.
var turnContext = regexp.MustCompile(`(?s)^\s*<([a-z]+[-_][a-z_-]*)>.*</([a-z]+[-_][a-z_-]*)>\s*$`)

// beside reports whether a text is an editor's own, beside what was typed.
func beside(content []acp.ContentBlock, text string) bool {
	isContext := func(s string) bool {
		m := turnContext.FindStringSubmatch(s)
		return m != nil && m[1] == m[2]
	}
	return isContext(text) && slices.ContainsFunc(content, func(c acp.ContentBlock) bool {
		return c.Text != nil && strings.TrimSpace(c.Text.Text) != "" && !isContext(c.Text.Text)
	})
}

// LinkText is a link as a person would mention it: a file as @path, anything else
// as a Markdown link.
func LinkText(name, uri string) string {
	if path, ok := filePath(uri); ok {
		return "@" + path
	}
	if name == "" {
		return uri
	}
	return "[@" + name + "](" + uri + ")"
}

// filePath returns the path of a file URI, with the lines it points to.
func filePath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	switch {
	case err != nil || u.Scheme != "file" && u.Scheme != "zed":
		return "", false
	case u.Path == "":
		return "", false
	case u.Fragment != "":
		return u.Path + "#" + u.Fragment, true
	}
	return u.Path, true
}
