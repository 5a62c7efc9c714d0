package agent

import (
	"fmt"
	"net/url"
	"strings"

	acp "github.com/coder/acp-go-sdk"
)

// block is a content block of the Messages API.
type block struct {
	Type   string  `json:"type"`
	Text   string  `json:"text,omitempty"`
	Source *source `json:"source,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

func text(s string) block { return block{Type: "text", Text: s} }

// promptBlocks turns an ACP prompt into what Claude Code reads. Links become
// references, embedded texts follow at the end, each marked with its origin.
func promptBlocks(content []acp.ContentBlock) ([]block, error) {
	var blocks, embedded []block
	for i, c := range content {
		switch {
		case c.Text != nil:
			blocks = append(blocks, text(c.Text.Text))
		case c.Image != nil:
			b, err := imageBlock(c.Image)
			if err != nil {
				return nil, invalid("prompt block %d: %s", i+1, err)
			}
			blocks = append(blocks, b)
		case c.ResourceLink != nil:
			blocks = append(blocks, text(linkText(c.ResourceLink.Name, c.ResourceLink.Uri)))
		case c.Resource != nil:
			ref, body, err := resourceBlocks(c.Resource.Resource)
			if err != nil {
				return nil, invalid("prompt block %d: %s", i+1, err)
			}
			blocks = append(blocks, ref)
			embedded = append(embedded, body...)
		case c.Audio != nil:
			return nil, invalid("prompt block %d: Claude Code takes no audio; send text or images", i+1)
		default:
			return nil, invalid("prompt block %d: expected text, an image, a resource link or a resource", i+1)
		}
	}
	return append(blocks, embedded...), nil
}

func imageBlock(c *acp.ContentBlockImage) (block, error) {
	if c.Data != "" {
		return block{Type: "image", Source: &source{Type: "base64", MediaType: c.MimeType, Data: c.Data}}, nil
	}
	if c.Uri != nil && (strings.HasPrefix(*c.Uri, "https://") || strings.HasPrefix(*c.Uri, "http://")) {
		return block{Type: "image", Source: &source{Type: "url", URL: *c.Uri}}, nil
	}
	return block{}, fmt.Errorf("an image needs data or a web address")
}

// linkText is a link as a person would mention it: a file as @path, which
// Claude Code reads, anything else as a Markdown link.
func linkText(name, uri string) string {
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

func resourceBlocks(r acp.EmbeddedResourceResource) (ref block, body []block, err error) {
	switch {
	case r.TextResourceContents != nil:
		t := r.TextResourceContents
		context := fmt.Sprintf("\n<context ref=%q>\n%s\n</context>", t.Uri, t.Text)
		return text(linkText(t.Uri, t.Uri)), []block{text(context)}, nil
	case r.BlobResourceContents != nil:
		b := r.BlobResourceContents
		ref = text(linkText(b.Uri, b.Uri))
		if b.MimeType != nil && strings.HasPrefix(*b.MimeType, "image/") {
			body = []block{{Type: "image", Source: &source{Type: "base64", MediaType: *b.MimeType, Data: b.Blob}}}
		}
		return ref, body, nil
	}
	return ref, nil, fmt.Errorf("a resource needs text or a blob")
}

// promptText is a prompt as words alone, for a prompt that answers a question:
// pictures and links are named.
func promptText(content []acp.ContentBlock) string {
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
			parts = append(parts, linkText(c.ResourceLink.Name, c.ResourceLink.Uri))
		case c.Resource != nil && c.Resource.Resource.TextResourceContents != nil:
			parts = append(parts, linkText("", c.Resource.Resource.TextResourceContents.Uri))
		case c.Resource != nil && c.Resource.Resource.BlobResourceContents != nil:
			parts = append(parts, linkText("", c.Resource.Resource.BlobResourceContents.Uri))
		}
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}
