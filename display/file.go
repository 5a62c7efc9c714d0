package display

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

func readInfo(_ Tool, in input, cwd string) Info {
	file := in.str("file_path", "path")
	offset, _ := in.num("offset")
	first := max(offset, 1)
	part := ""
	if limit, _ := in.num("limit"); limit > 0 {
		part = fmt.Sprintf("(%d - %d)", first, first+limit-1)
	} else if offset > 0 {
		part = fmt.Sprintf("(from line %d)", offset)
	} else if pages := in.str("pages"); pages != "" {
		part = "(pages " + pages + ")"
	}
	name := shown(file, cwd)
	if name == "" {
		part = ""
	}
	return Info{
		Title:     title("", "Read", name, part),
		Kind:      acp.ToolKindRead,
		Locations: at(file, cwd, first),
	}
}

// readResult shows the text of a file without the line numbers and reminders
// that the model gets with it.
func readResult(c ended) Update {
	file := object(c.structured.Get("file"))
	switch text := file.str("content"); {
	case c.structured.str("type") == "file_unchanged":
		return Update{Content: prose("Unchanged since it was last read.")}
	case c.structured.str("type") == "text" && text != "":
		content := fenced(c.language(), text)
		if file.on("truncatedByTokenCap") {
			content = append(content, prose(partOf(file))...)
		}
		return Update{Content: content}
	}
	return Update{Content: c.show(func(text string) []acp.ToolCallContent {
		return fenced(c.language(), withoutNumbers(withoutReminders(text)))
	})}
}

func partOf(file input) string {
	lines, ok := file.num("numLines")
	total, ok2 := file.num("totalLines")
	if !ok || !ok2 {
		return "Only a part of the file was read."
	}
	return fmt.Sprintf("%d of %d lines were read.", lines, total)
}

// language is the file's extension, which highlighters take for a language.
func (c ended) language() string {
	file := strings.ReplaceAll(c.in.str("file_path", "path"), `\`, "/")
	ext := strings.TrimPrefix(path.Ext(path.Base(file)), ".")
	if len(ext) > 12 {
		return ""
	}
	return ext
}

// withoutNumbers removes the numbers in front of the lines of a file, if every
// line has the one that is due.
func withoutNumbers(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	next := 0
	for i, line := range lines {
		number, rest, ok := strings.Cut(line, "→")
		if n, r, tab := strings.Cut(line, "\t"); tab && (!ok || len(n) < len(number)) {
			number, rest, ok = n, r, true
		}
		n, err := strconv.Atoi(strings.TrimLeft(number, " "))
		if !ok || err != nil || i > 0 && n != next {
			return text
		}
		next = n + 1
		lines[i] = rest
	}
	return strings.Join(lines, "\n")
}

// fencedResult shows lists of files and lines that match as they are.
func fencedResult(c ended) Update {
	return Update{Content: c.show(func(text string) []acp.ToolCallContent {
		return fenced("", withoutLastReminders(text))
	})}
}

func globInfo(_ Tool, in input, cwd string) Info {
	dir := in.str("path")
	start := title("", "Find", clean.Span(shown(dir, cwd)))
	pattern := clean.Line(clean.Visible(in.str("pattern")))
	// The pattern is cut before it gets its backticks, or the last would go.
	marks := len(clean.Span(pattern)) - len(pattern)
	room := maxTitle - count(start) - len(" ") - marks
	return Info{
		Title:     title("", start, clean.Span(clean.Truncate(pattern, room))),
		Kind:      acp.ToolKindSearch,
		Locations: at(dir, cwd, 0),
	}
}
