package display

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// part is a piece of a result: text, or a block to show as it is.
type part struct {
	text  string
	block *acp.ContentBlock
}

// parts reads the content of a tool_result. Texts that follow each other are
// one part, so that they share one fence.
func parts(raw json.RawMessage) []part {
	if !clean.ValidJSON(raw) {
		return nil
	}
	content := gjson.ParseBytes(raw)
	blocks := []gjson.Result{content}
	if content.IsArray() {
		blocks = content.Array()
	}
	var all []part
	var texts []string
	flush := func() {
		if text := joinLines(texts...); text != "" {
			all = append(all, part{text: text})
		}
		texts = nil
	}
	for _, b := range blocks {
		p := readBlock(b)
		if p.block == nil {
			texts = append(texts, p.text)
			continue
		}
		flush()
		all = append(all, p)
	}
	flush()
	return all
}

func readBlock(v gjson.Result) part {
	if v.Type == gjson.String {
		return part{text: v.Str}
	}
	b := object(v)
	switch kind := b.str("type"); kind {
	case "text":
		return part{text: b.str("text")}
	case "image":
		return readImage(b)
	case "document":
		return note(documentText(b))
	case "resource":
		res := object(b.Get("resource"))
		return part{text: cmp.Or(res.str("text"), res.str("uri"))}
	case "resource_link":
		return part{text: cmp.Or(b.str("title", "name"), b.str("uri"))}
	case "tool_reference":
		return part{text: b.str("tool_name")}
	case "web_search_result":
		return part{text: hit(b)}
	}
	if text, ok := b.lookup("text"); ok {
		return part{text: text}
	}
	return part{text: clean.Indented(b.Raw)}
}

// readImage takes the Messages API's image and MCP's.
func readImage(b input) part {
	source := object(b.Get("source"))
	data := cmp.Or(source.str("data"), b.str("data"))
	mime := cmp.Or(source.str("media_type"), b.str("mimeType"))
	if data != "" && strings.HasPrefix(mime, "image/") {
		block := acp.ImageBlock(data, mime)
		return part{block: &block}
	}
	return note("Image " + source.str("url"))
}

// note is a line of ours about something that cannot be shown. It stands
// outside any fence.
func note(line string) part {
	block := acp.TextBlock(clean.Line(line))
	return part{block: &block}
}

// documentText says what a document is. ACP has no block for it, and a PDF is
// too large for one anyway.
func documentText(b input) string {
	source := object(b.Get("source"))
	words := "Document"
	if name := b.str("title"); name != "" {
		words += " " + name
	}
	if url := source.str("url"); url != "" {
		return words + " " + url
	}
	size := len(source.str("data"))
	if source.str("type") == "base64" {
		size = size / 4 * 3
	}
	if mime := source.str("media_type"); mime != "" {
		words += fmt.Sprintf(" (%s, %s)", mime, bytesText(size))
	}
	return words
}

func bytesText(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1000_000)
}

// structuredText reports whether text is a JSON object or array.
func structuredText(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && (text[0] == '{' || text[0] == '[') && clean.ValidJSONText(text)
}

const reminderStart, reminderEnd = "<system-reminder>", "</system-reminder>"

// withoutReminders removes the notes to the model that start on a line of
// their own. The lines of a file have numbers in front, so that a file which
// is about such notes keeps its text.
func withoutReminders(text string) string {
	var b strings.Builder
	ownLine := true
	for {
		start := strings.Index(text, reminderStart)
		if start < 0 {
			break
		}
		if start > 0 {
			ownLine = text[start-1] == '\n'
		}
		end := start + len(reminderStart)
		if ownLine {
			length := strings.Index(text[start:], reminderEnd)
			if length < 0 {
				break
			}
			b.WriteString(text[:start])
			end = start + length + len(reminderEnd)
		} else {
			b.WriteString(text[:end])
		}
		text = text[end:]
	}
	b.WriteString(text)
	return b.String()
}

// withoutLastReminders removes only those that end the text: in the middle of
// a program's output they would be the program's own.
func withoutLastReminders(text string) string {
	for {
		trimmed := strings.TrimRight(text, " \t\r\n")
		if !strings.HasSuffix(trimmed, reminderEnd) {
			return text
		}
		start := strings.LastIndex(trimmed, reminderStart)
		if start < 0 {
			return text
		}
		text = text[:start]
	}
}
