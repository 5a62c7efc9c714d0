package editor

import (
	"net/url"
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
	return promptWords(content).answer(means)
}

func promptWords(content []acp.ContentBlock) words {
	var typed, all []string
	own, wrapped := ownWords(content)
	for _, c := range content {
		switch {
		case c.Text != nil && wrapped:
		case c.Text != nil:
			typed = append(typed, c.Text.Text)
			all = append(all, c.Text.Text)
		case c.Image != nil:
			name := "image"
			if c.Image.Uri != nil && *c.Image.Uri != "" {
				name = *c.Image.Uri
			}
			all = append(all, "["+name+"]")
		case c.ResourceLink != nil:
			all = append(all, LinkText(c.ResourceLink.Name, c.ResourceLink.Uri))
		case c.Resource != nil && c.Resource.Resource.TextResourceContents != nil:
			all = append(all, LinkText("", c.Resource.Resource.TextResourceContents.Uri))
		case c.Resource != nil && c.Resource.Resource.BlobResourceContents != nil:
			all = append(all, LinkText("", c.Resource.Resource.BlobResourceContents.Uri))
		}
	}
	if wrapped {
		typed, all = []string{own}, append([]string{own}, all...)
	}
	return words{spaced(typed), spaced(all)}
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

// ownWords finds what the user typed where an editor (avante.nvim) sends each
// message in a wrapping of its own, the newest first, with others behind it. Where
// anything else stands behind it, it is the user who wrote so.
func ownWords(content []acp.ContentBlock) (string, bool) {
	const open, end = "<previous_user_message>", "</previous_user_message>"
	for _, c := range content {
		if c.Text == nil {
			continue
		}
		text, ok := strings.CutPrefix(strings.TrimSpace(c.Text.Text), open)
		if !ok {
			return "", false
		}
		text, rest, ok := strings.Cut(text, end)
		rest = strings.TrimSpace(rest)
		return text, ok && (rest == "" || strings.HasPrefix(rest, open))
	}
	return "", false
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
