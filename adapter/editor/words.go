package editor

import (
	"net/url"
	"strings"

	acp "github.com/coder/acp-go-sdk"
)

// words are a prompt as the answer to a question.
type words struct {
	all string // pictures and links are named
}

func promptWords(content []acp.ContentBlock) words {
	var parts []string
	for _, c := range content {
		switch {
		case c.Text != nil:
			parts = append(parts, c.Text.Text)
		case c.Image != nil:
			name := "image"
			if c.Image.Uri != nil && *c.Image.Uri != "" {
				name = *c.Image.Uri
			}
			parts = append(parts, "["+name+"]")
		case c.ResourceLink != nil:
			parts = append(parts, LinkText(c.ResourceLink.Name, c.ResourceLink.Uri))
		case c.Resource != nil && c.Resource.Resource.TextResourceContents != nil:
			parts = append(parts, LinkText("", c.Resource.Resource.TextResourceContents.Uri))
		case c.Resource != nil && c.Resource.Resource.BlobResourceContents != nil:
			parts = append(parts, LinkText("", c.Resource.Resource.BlobResourceContents.Uri))
		}
	}
	return words{strings.TrimSpace(strings.Join(parts, " "))}
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
