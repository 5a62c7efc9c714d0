package display

import (
	"cmp"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// writeInfo shows a write as a new file: whether there was one is only known
// from the result.
func writeInfo(t Tool, in input, cwd string) Info {
	info := onPath("Write", acp.ToolKindEdit, "file_path", "path")(t, in, cwd)
	if text, ok := writtenText(in); ok && info.Locations != nil {
		info.Content = []acp.ToolCallContent{acp.ToolDiffContent(info.Locations[0].Path, text)}
	}
	return info
}

func writtenText(in input) (string, bool) {
	return in.lookup("content", "file_text", "file_content")
}

// editInfo shows one edit, or the list of them that the input has.
func editInfo(t Tool, in input, cwd string) Info {
	info := onPath("Edit", acp.ToolKindEdit, "file_path", "path")(t, in, cwd)
	edits := []gjson.Result{in.Result}
	if t.Name == "MultiEdit" {
		edits, _ = in.list("edits")
	}
	for _, e := range edits {
		before, ok := object(e).lookup("old_string", "old_str")
		after, ok2 := object(e).lookup("new_string", "new_str")
		// Half of an edit, as it is while its input streams in, would look like
		// a deletion.
		if ok && ok2 && info.Locations != nil {
			info.Content = append(info.Content, diff(info.Locations[0].Path, before, after))
		}
	}
	return info
}

// diff shows a replacement. Replacing nothing creates the file.
func diff(file, before, after string) acp.ToolCallContent {
	if before == "" {
		return acp.ToolDiffContent(file, after)
	}
	return acp.ToolDiffContent(file, after, before)
}

func notebookEditInfo(_ Tool, in input, cwd string) Info {
	file := in.str("notebook_path", "file_path", "path")
	verb := cmp.Or(map[string]string{"insert": "Insert", "delete": "Delete"}[in.str("edit_mode")], "Edit")
	info := Info{
		Title:     title("", verb, "notebook"),
		Kind:      acp.ToolKindEdit,
		Locations: at(file, cwd, 0),
	}
	if name := shown(file, cwd); name != "" {
		cell := clean.Truncate(clean.Line(in.str("cell_id")), 20)
		info.Title = title("", verb, "cell", cell, "in", name)
	} else if verb != "Edit" {
		info.Title = verb + " cell"
	}
	if verb != "Delete" {
		// No diff: the file holds JSON, of which the cell's text is no part.
		lang := ""
		if in.str("cell_type") == "markdown" {
			lang = "markdown"
		}
		info.Content = fenced(lang, in.str("new_source"))
	}
	return info
}

// writeResult corrects what writeInfo could not know. The diff is made of the
// two texts and not of the patch beside them, in which the CLI has turned tabs
// into spaces.
func writeResult(c ended) Update {
	u := Update{Locations: c.changed()}
	text, ok := writtenText(c.structured)
	file := c.file()
	if !ok || file == "" {
		return u
	}
	before, existed := c.structured.lookup("originalFile")
	given, _ := writtenText(c.in)
	switch {
	case existed:
		u.Content = []acp.ToolCallContent{acp.ToolDiffContent(file, text, before)}
	case c.structured.str("type") == "update":
		u.Content = prose("Overwrote " + clean.Span(shown(file, c.cwd)) + ". What it held before was too large to compare.")
	case text != given:
		u.Content = []acp.ToolCallContent{acp.ToolDiffContent(file, text)}
	}
	return u
}

// editResult adds the lines where the change landed. The diff that is already
// shown stays, unless a person changed the edit while allowing it.
func editResult(c ended) Update {
	u := Update{Locations: c.changed()}
	before, ok := c.structured.lookup("oldString")
	after, ok2 := c.structured.lookup("newString")
	file := c.file()
	if ok && ok2 && file != "" && (before != c.in.str("old_string", "old_str") || after != c.in.str("new_string", "new_str")) {
		u.Content = []acp.ToolCallContent{diff(file, before, after)}
	}
	return u
}

// file is the path that was changed.
func (c ended) file() string {
	if file := c.structured.str("filePath"); file != "" {
		return absolute(file, c.cwd)
	}
	return absolute(c.in.str("file_path", "path"), c.cwd)
}

// changed returns one location for each hunk of the result's patch, at its
// first line that is not context.
func (c ended) changed() []acp.ToolCallLocation {
	file := c.file()
	var places []acp.ToolCallLocation
	hunks, _ := c.structured.list("structuredPatch")
	for _, h := range hunks {
		line, ok := object(h).num("newStart")
		if !ok {
			continue
		}
		lines, _ := object(h).list("lines")
		for _, l := range lines {
			if l.Type != gjson.String || l.Str == "" || l.Str[0] != ' ' {
				break
			}
			line++
		}
		places = append(places, at(file, c.cwd, max(line, 1))...)
	}
	return places
}

func notebookEditResult(c ended) Update {
	if text := c.structured.str("error"); text != "" {
		return Update{Status: acp.ToolCallStatusFailed, Content: fenced("", text)}
	}
	return Update{}
}
