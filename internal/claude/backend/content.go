package backend

import (
	"fmt"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/typed"
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
				return nil, conn.Invalid("prompt block %d: %s", i+1, err)
			}
			blocks = append(blocks, b)
		case c.ResourceLink != nil:
			blocks = append(blocks, text(typed.LinkText(c.ResourceLink.Name, c.ResourceLink.Uri)))
		case c.Resource != nil:
			ref, body, err := resourceBlocks(c.Resource.Resource)
			if err != nil {
				return nil, conn.Invalid("prompt block %d: %s", i+1, err)
			}
			blocks = append(blocks, ref)
			embedded = append(embedded, body...)
		case c.Audio != nil:
			return nil, conn.Invalid("prompt block %d: Claude Code takes no audio; send text or images", i+1)
		default:
			return nil, conn.Invalid("prompt block %d: expected text, an image, a resource link or a resource", i+1)
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

func resourceBlocks(r acp.EmbeddedResourceResource) (ref block, body []block, err error) {
	switch {
	case r.TextResourceContents != nil:
		t := r.TextResourceContents
		context := fmt.Sprintf("\n<context ref=%q>\n%s\n</context>", t.Uri, t.Text)
		return text(typed.LinkText(t.Uri, t.Uri)), []block{text(context)}, nil
	case r.BlobResourceContents != nil:
		b := r.BlobResourceContents
		ref = text(typed.LinkText(b.Uri, b.Uri))
		if b.MimeType != nil && strings.HasPrefix(*b.MimeType, "image/") {
			body = []block{{Type: "image", Source: &source{Type: "base64", MediaType: *b.MimeType, Data: b.Blob}}}
		}
		return ref, body, nil
	}
	return ref, nil, fmt.Errorf("a resource needs text or a blob")
}
