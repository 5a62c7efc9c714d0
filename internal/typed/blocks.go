package typed

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"
)

// Editors that send no name, and are known by their prompts.
const (
	Avante = "avante"
	Goose  = "goose"
)

// Editor is the editor that a prompt is of, if that can be told.
func Editor(content []acp.ContentBlock) string {
	if n := len(content); n > 1 && content[n-1].Text != nil && strings.HasPrefix(content[n-1].Text.Text, "<turn-context>\n<current-time>") {
		return Goose
	}
	if wrapped(content) != nil {
		return Avante
	}
	return ""
}

const openMessage, endMessage = "<previous_user_message>", "</previous_user_message>"

// wrapped finds what the user has typed, in this prompt and before, where an editor
// sends each message in a wrapping of its own, and nothing that is in none. It is
// nil for other prompts.
func wrapped(content []acp.ContentBlock) (messages []string) {
	for _, c := range content {
		if c.Text == nil {
			continue
		}
		text := strings.TrimSpace(c.Text.Text)
		if found := unwrap(text); found != nil {
			messages = append(messages, found...)
		} else if text != "" && !inTag(text) {
			return nil
		}
	}
	return messages
}

// unwrap takes the messages out of a text that is nothing else.
func unwrap(text string) (messages []string) {
	for rest := text; rest != ""; {
		inner, ok := strings.CutPrefix(rest, openMessage)
		if ok {
			inner, rest, ok = strings.Cut(inner, endMessage)
		}
		if !ok {
			return nil
		}
		messages = append(messages, strings.TrimSpace(inner))
		rest = strings.TrimSpace(rest)
	}
	return messages
}

// newest is the message that the prompt before did not have: in a conversation that
// was loaded, an old one may stand before it. In doubt it is a guess, and among is
// what it may be.
func newest(before, now []string) (typed string, among []string) {
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
	switch {
	case len(before) > 0 && len(added) == 1:
		return added[0], nil
	case len(now) == len(before) && slices.Equal(now[1:], before[:len(before)-1]):
		return now[0], nil // it has pushed the same words out at the end
	}
	if among = slices.Compact(slices.Sorted(slices.Values(now))); len(among) == 1 {
		return now[0], nil
	}
	return now[0], now
}

// tagged is a text in one tag, as an editor puts it beside what was typed.
var tagged = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^<([a-z]+[-_][a-z_-]*)>.*</([a-z]+[-_][a-z_-]*)>$`)
})

func inTag(text string) bool {
	if !strings.HasPrefix(text, "<") {
		return false // as nearly always: then the expression is never compiled
	}
	m := tagged().FindStringSubmatch(text)
	return m != nil && m[1] == m[2]
}

// beside reports whether a text is an editor's own: in a tag, while another is not.
func beside(content []acp.ContentBlock, text string) bool {
	return inTag(text) && slices.ContainsFunc(content, func(c acp.ContentBlock) bool {
		if c.Text == nil {
			return false
		}
		other := strings.TrimSpace(c.Text.Text)
		return other != "" && !inTag(other)
	})
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
	case err != nil || u.Path == "" || u.Scheme != "file" && u.Scheme != "zed":
		return "", false
	case u.Fragment != "":
		return u.Path + "#" + u.Fragment, true
	}
	return u.Path, true
}
