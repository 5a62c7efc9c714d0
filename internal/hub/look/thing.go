package look

import (
	"encoding/json"
	"html/template"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
)

// Call is a tool call for which somebody is asked.
type Call struct {
	// Name is the tool's own and Server that of its MCP server, if they are known.
	// Title is the agent's or ours, and Detail the input as JSON.
	Name, Server, Title, Detail string
	// Dir is the folder of the conversation, which the paths of files in it leave out.
	Dir string
	about.Tool
}

// Thing is what a permission is for, drawn.
type Thing struct {
	// Verb goes on after who asks: "wants to run a command".
	Verb string
	// Mark names the way it is drawn: command, diff, plan, fetch, tool, json.
	Mark string
	// Plan is set for a plan: to agree to it is to approve.
	Plan   bool
	source string
	parts  []part
}

// part is a piece of a thing: rows that can be counted, or something drawn.
type part struct {
	label template.HTML
	class string
	rows  []row
	html  template.HTML
	words string // what html says
	lines int    // of html
}

type row struct {
	line
	sign byte // of a diff
	gap  bool // lines that stay as they are were left out here
}

// Draw draws a call.
func Draw(c Call) Thing {
	in, ok := readInput(c.Detail)
	if !ok && strings.TrimSpace(c.Detail) != "" {
		t := Thing{Verb: verbOf(c), Mark: "json"}
		t.add(part{class: "json", rows: rowsOf(c.Detail)})
		t.changes(c)
		return t.titled(c)
	}
	t := draw(c, &in)
	t.changes(c)
	t.table(&in)
	return t.titled(c)
}

// draw draws what is known of the input, and takes it from there.
func draw(c Call, in *input) Thing {
	switch {
	case c.Name == "ExitPlanMode" || c.Kind == "switch_mode" && (in.has("plan") || c.Text != ""):
		return drawPlan(c, in)
	case strings.HasPrefix(c.Name, "mcp__"), c.Server != "":
		return drawServer(c)
	case in.has("command"):
		return drawCommand(in)
	case edits(in):
		return drawEdits(c, in)
	case len(c.Changes) > 0:
		return Thing{Verb: "wants to edit " + counted(len(c.Changes), "a file", "files"), Mark: "diff"}
	case in.has("url") && (c.Name == "WebFetch" || c.Kind == "fetch"):
		t := Thing{Verb: "wants to fetch a page", Mark: "fetch"}
		address, _ := in.take("url")
		t.add(part{html: `<p class="address" dir="ltr">` + Address(address) + `</p>`, words: address, lines: 1 + len(address)/100})
		if prompt, ok := in.take("prompt"); ok {
			t.add(part{label: "To find out", class: "quote", rows: rowsOf(prompt)})
		}
		return t
	case c.Name == "Task" || c.Name == "Agent":
		t := Thing{Verb: "wants to start a sub-agent", Mark: "plan"}
		if s, ok := in.take("description"); ok {
			t.add(part{class: "line", rows: rowsOf(s)})
		}
		if s, ok := in.take("prompt"); ok {
			t.markdown(s)
		}
		return t
	}
	return Thing{Verb: verbOf(c), Mark: "tool"}
}

func drawPlan(c Call, in *input) Thing {
	t := Thing{Verb: "has a plan", Mark: "plan", Plan: true}
	in.drop("planFilePath") // where Claude Code keeps the same words
	var ok bool
	if t.source, ok = in.take("plan"); !ok {
		t.source = c.Text
	}
	switch {
	case !Blank(t.source):
		t.markdown(t.source)
	case !in.has("plan") && len(c.Changes) == 0:
		t.Verb = "wants to leave plan mode"
		t.add(part{class: "line", rows: rowsOf("The plan is empty: the agent has written nothing down.")})
	}
	return t
}

func drawServer(c Call) Thing {
	server, tool := c.Server, c.Name
	if rest, ok := strings.CutPrefix(c.Name, "mcp__"); ok {
		if s, name, ok := strings.Cut(rest, "__"); ok {
			server, tool = s, name
		}
	}
	t := Thing{Verb: "wants to use a tool", Mark: "tool"}
	tool, server = clean.Line(tool), clean.Line(server)
	html := `<p class="tool"><b>` + Text(tool) + `</b> of the MCP server <b>` + Text(server) + `</b></p>`
	t.add(part{html: html, words: tool + " of the MCP server " + server, lines: 1})
	return t
}

func drawCommand(in *input) (t Thing) {
	t = Thing{Verb: "wants to run a command", Mark: "command"}
	if description, ok := in.take("description"); ok && !Blank(description) {
		defer func() { t.add(part{label: "The agent says", class: "quote", rows: rowsOf(description)}) }()
	}
	if command, ok := in.take("command"); ok {
		t.add(part{class: "command", rows: rowsOf(command)})
		return t
	}
	var argv []string
	if json.Unmarshal(in.values["command"], &argv) == nil && len(argv) > 0 {
		in.drop("command")
		if len(argv) == 3 && strings.HasSuffix(argv[0], "sh") && (argv[1] == "-c" || argv[1] == "-lc") {
			t.add(part{label: Text(argv[0] + " " + argv[1]), class: "command", rows: rowsOf(argv[2])})
			return t
		}
		for i, a := range argv { // which words are one argument must be seen
			if a == "" || strings.ContainsAny(a, " \t\n\"'\\$`") {
				argv[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
			}
		}
		t.add(part{class: "command", rows: rowsOf(strings.Join(argv, " "))})
	}
	return t
}

// within is the path of a file as it is told beside the folder of its conversation.
func (c Call) within(path string) string {
	if rest, ok := strings.CutPrefix(path, strings.TrimRight(c.Dir, "/")+"/"); ok && c.Dir != "" && !strings.Contains("/"+rest, "/.") {
		return rest
	}
	return path
}

// edits reports whether an input has changes of a file in it.
func edits(in *input) bool {
	if !in.has("file_path") && !in.has("filePath") && !in.has("path") {
		return false
	}
	return in.has("old_string") && in.has("new_string") || in.has("oldString") && in.has("newString") || in.has("edits") || in.has("content")
}

func drawEdits(c Call, in *input) Thing {
	t := Thing{Mark: "diff"}
	path, _ := in.take("file_path", "filePath", "path")
	path = c.within(path)
	if content, ok := in.take("content"); ok {
		t.Verb = "wants to write a file"
		t.diff(path, nil, content)
		return t
	}
	t.Verb = "wants to edit a file"
	in.usual()
	old, isOld := in.take("old_string", "oldString")
	text, isNew := in.take("new_string", "newString")
	if isOld || isNew {
		t.diff(path, &old, text)
	}
	var list []json.RawMessage
	if json.Unmarshal(in.values["edits"], &list) != nil {
		if !isOld && !isNew {
			t.add(part{label: pathLabel(path), lines: 1})
		}
		return t
	}
	in.drop("edits")
	for _, e := range list {
		one, ok := readInput(string(e))
		one.usual()
		old, isOld := one.take("old_string", "oldString")
		text, isNew := one.take("new_string", "newString")
		if !ok || !isOld || !isNew {
			t.add(part{label: pathLabel(path), class: "json", rows: rowsOf(words(e))})
			continue
		}
		t.diff(path, &old, text)
		t.table(&one)
	}
	return t
}

// usual drops what an edit does anyhow.
func (in *input) usual() {
	for _, name := range []string{"replace_all", "replaceAll"} {
		if string(in.values[name]) == "false" {
			in.drop(name)
		}
	}
}

// table draws what is left of an input.
func (t *Thing) table(in *input) {
	names := in.left()
	if len(names) == 0 {
		return
	}
	var b, said strings.Builder
	rows := 0
	b.WriteString(`<table class="args"><tbody>`)
	for _, name := range names {
		value := words(in.values[name])
		said.WriteString(strings.ReplaceAll(name, "\n", "␊") + ": " + value + "\n")
		b.WriteString(`<tr><th scope="row" dir="auto">`)
		writeText(&b, strings.ReplaceAll(name, "\n", "␊"))
		b.WriteString(`</th><td dir="auto">`)
		b.WriteString(string(Text(value)))
		b.WriteString(`</td></tr>`)
		for _, l := range split(value) {
			rows += l.rows()
		}
		in.drop(name)
	}
	b.WriteString(`</tbody></table>`)
	t.add(part{html: template.HTML(b.String()), words: said.String(), lines: rows})
}

func (t *Thing) markdown(s string) { t.parts = append(t.parts, markdown(s, foldAt)...) }

// titled adds the title and the agent's text where they say something that is not
// drawn yet.
func (t Thing) titled(c Call) Thing {
	drawn := t.text()
	var first []part
	if !redundant(c, drawn) && !(t.Mark == "command" && c.Title == "Bash") {
		first = append(first, part{class: "line", rows: rowsOf(c.Title)})
	}
	t.parts = append(first, t.parts...)
	if c.Text != "" && squeeze(c.Text) != squeeze(t.source) && !strings.Contains(drawn, squeeze(request(c.Text))) && squeeze(c.Text) != squeeze(c.Title) {
		t.parts = append(t.parts, part{label: "The agent says", class: "md", html: Markdown(c.Text), words: c.Text, lines: lineCountOf(c.Text)})
	}
	return t
}

// text is all that is drawn, for comparing.
func (t *Thing) text() string {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(squeeze(plain(string(p.label))))
		for _, r := range p.rows {
			b.WriteString(squeeze(r.text))
		}
		b.WriteString(squeeze(plain(string(p.html))))
	}
	return b.String()
}

// plain is the text of HTML that was drawn here.
func plain(s string) string {
	var b strings.Builder
	for s != "" {
		before, after, _ := strings.Cut(s, "<")
		b.WriteString(unescape.Replace(before))
		_, s, _ = strings.Cut(after, ">")
	}
	return b.String()
}

var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&")

// squeeze leaves out white space, which titles change.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// request is what Kimi asks for: its text is that it asks, and the beginning of the input.
func request(text string) string {
	if rest, ok := strings.CutPrefix(text, "Requesting approval to "); ok {
		verb, what, _ := strings.Cut(rest, ": ")
		if what = strings.TrimRight(strings.TrimSpace(what), "…"); what != "" && slices.Contains([]string{"Running", "Writing", "Editing"}, verb) {
			return what
		}
	}
	return text
}

// redundant reports whether a title says nothing that is not drawn: our own titles
// are a verb and the beginning of the input.
func redundant(c Call, drawn string) bool {
	title := strings.TrimRight(strings.TrimSpace(c.Title), "….")
	switch {
	case title == "", title == c.Name, c.Name == "ExitPlanMode" && title == "Ready to code?":
		return true
	case strings.HasPrefix(c.Name, "mcp__"):
		_, name, _ := strings.Cut(title, ": ")
		return strings.HasSuffix(c.Name, "__"+name)
	}
	if verb, rest, ok := strings.Cut(title, " "); ok && strings.Contains(" Edit Write Fetch Read Search Find List Run ", " "+verb+" ") {
		if base := rest[strings.LastIndexByte(rest, '/')+1:]; strings.Contains(drawn, squeeze(strings.Trim(rest, "`\"'"))) || len(base) > 2 && strings.Contains(drawn, "/"+squeeze(base)) {
			return true
		}
	}
	if head, rest, ok := strings.Cut(title, " ("); ok && strings.Contains(drawn, squeeze(head)) && strings.Contains(drawn, squeeze(strings.TrimSuffix(rest, ")"))) {
		return true // a command, and what it is for
	}
	title = squeeze(strings.Trim(strings.TrimPrefix(title, "$ "), "`"))
	return len(title) > 0 && strings.Contains(drawn, title)
}

// verbOf says what an agent wants by the kind of its tool.
func verbOf(c Call) string {
	switch c.Kind {
	case "execute":
		return "wants to run something"
	case "edit":
		return "wants to edit a file"
	case "delete":
		return "wants to delete something"
	case "move":
		return "wants to move something"
	case "read":
		return "wants to read something"
	case "search":
		return "wants to search"
	case "fetch":
		return "wants to fetch something"
	case "switch_mode":
		return "wants to change its mode"
	}
	if c.Name != "" && len(c.Name) <= 40 && plainASCII(c.Name) {
		return "wants to use " + c.Name
	}
	return "needs permission"
}

func rowsOf(s string) (rows []row) {
	for _, l := range split(strings.TrimSuffix(s, "\n")) {
		rows = append(rows, row{line: l})
	}
	return rows
}

// Also adds words that are permitted with it, as they are.
func (t *Thing) Also(label, words string) {
	t.add(part{label: Text(label), class: "json", rows: rowsOf(words)})
}

func (t *Thing) add(p part) { t.parts = append(t.parts, p) }

func counted(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return number(n) + " " + many
}

func lineCount(n int) string { return counted(n, "1 line", "lines") }

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f })
}

// Line is a command that is all of what is permitted, and that any screen shows as it
// is: one short line of printable ASCII. What the agent says about it is not part of it.
func (t Thing) Line(most int) (command string, ok bool) {
	for _, p := range t.parts {
		switch {
		case p.class == "quote":
		case t.Mark != "command" || p.class != "command" || p.label != "" || len(p.rows) != 1 || command != "":
			return "", false
		default:
			command = p.rows[0].text
		}
	}
	ok = command != "" && len(command) <= most && printable(command) && !strings.Contains(command, "   ")
	return command, ok
}
