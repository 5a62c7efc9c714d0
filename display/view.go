package display

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// View is what a tool call means to a person who may permit it, as data that each surface
// draws in its way.
//
// Nothing of what is permitted is left out. A member of the input that has no other place
// is a part of its own, and an input that could be read in two ways is shown as it is
// written.
type View struct {
	// Verb goes on after who asks: "wants to run a command".
	Verb string
	// Mark names the way it is drawn: command, diff, plan, fetch, tool, json.
	Mark string
	// Plan is set for a plan: to agree to it is to approve. Source is how it is written.
	Plan   bool
	Source string
	// Parts are all of it, the title among them if it says more than the others.
	Parts []Part
}

// Part is a piece of a view.
type Part struct {
	// Kind is the way it is drawn:
	//
	//	title, line, quote   words
	//	markdown             words with marks
	//	command              for a shell
	//	json                 as it is written
	//	diff                 a change of the file Label
	//	member               of the input: its name is Label
	//	address              of a page
	//	server               the MCP server of the tool Label
	Kind, Label, Text string
	// Stat says how many lines a change has.
	Stat string

	lines []Line // of a change
}

// Lines are those of the text or the change, with one for each long run of blank ones.
func (p Part) Lines() []Line {
	if p.lines != nil || p.Kind == "diff" {
		return p.lines
	}
	var all []Line
	for text := range strings.SplitSeq(strings.ReplaceAll(p.Text, "\r\n", "\n"), "\n") {
		all = append(all, Line{N: len(all) + 1, Text: text})
	}
	return folded(all)
}

// View says what the call means. Paths are those beside dir.
func (t Tool) View(dir string) View {
	v := View{Verb: t.verb(), Mark: "json"}
	m, ok := membersOf(t.Input)
	if ok || len(bytes.TrimSpace(t.Input)) == 0 {
		v.Mark = "tool"
		v.read(t, m, dir)
	} else {
		v.add("json", "", string(t.Input))
	}
	for _, c := range t.Changes {
		v.Parts = append(v.Parts, c.Part(dir))
	}
	v.members(m)
	drawn := v.squeezed()
	if !redundant(t, drawn) && !(v.Mark == "command" && t.Title == "Bash") {
		v.Parts = slices.Insert(v.Parts, 0, Part{Kind: "title", Text: t.Title})
	}
	if text := squeeze(t.Text); t.Text != "" && text != squeeze(v.Source) && text != squeeze(t.Title) && !strings.Contains(drawn, squeeze(request(t.Text))) {
		v.Parts = append(v.Parts, Part{Kind: "markdown", Label: "The agent says", Text: t.Text})
	}
	return v
}

func (v *View) add(kind, label, text string) {
	v.Parts = append(v.Parts, Part{Kind: kind, Label: label, Text: strings.TrimSuffix(text, "\n")})
}

// read takes what it knows from the members of an input.
func (v *View) read(t Tool, m members, dir string) {
	switch {
	case t.Name == "ExitPlanMode" || t.Kind == "switch_mode" && (m.has("plan") || t.Text != ""):
		v.plan(t, m)
	case strings.HasPrefix(t.Name, "mcp__"), t.Server != "":
		server, tool := t.Server, t.Name
		if s, name, ok := strings.Cut(strings.TrimPrefix(t.Name, "mcp__"), "__"); ok && strings.HasPrefix(t.Name, "mcp__") {
			server, tool = s, name
		}
		v.Verb = "wants to use a tool"
		v.add("server", clean.Line(tool), clean.Line(server))
	case m.has("command"):
		v.Verb, v.Mark = "wants to run a command", "command"
		v.command(m)
	case m.has("file_path", "filePath", "path") && (m.has("old_string") && m.has("new_string") || m.has("oldString") && m.has("newString") || m.has("edits") || m.has("content")):
		v.Mark = "diff"
		v.edits(m, dir)
	case len(t.Changes) > 0:
		v.Verb, v.Mark = "wants to edit "+counted(len(t.Changes), "a file", "files"), "diff"
	case m.has("url") && (t.Name == "WebFetch" || t.Kind == "fetch"):
		v.Verb, v.Mark = "wants to fetch a page", "fetch"
		v.take(m, "address", "", "url")
		v.take(m, "quote", "To find out", "prompt")
	case t.Name == "Task" || t.Name == "Agent":
		v.Verb, v.Mark = "wants to start a sub-agent", "plan"
		v.take(m, "line", "", "description")
		v.take(m, "markdown", "", "prompt")
	}
}

// take makes a part of a member that is text.
func (v *View) take(m members, kind, label, name string) {
	if text, ok := m.take(name); ok {
		v.add(kind, label, text)
	}
}

func (v *View) plan(t Tool, m members) {
	v.Verb, v.Mark, v.Plan = "has a plan", "plan", true
	m.drop("planFilePath") // where Claude Code keeps the same words
	var ok bool
	if v.Source, ok = m.take("plan"); !ok {
		v.Source = t.Text
	}
	switch {
	case !blank(v.Source):
		v.add("markdown", "", v.Source)
	case !m.has("plan") && len(t.Changes) == 0:
		v.Verb = "wants to leave plan mode"
		v.add("line", "", "The plan is empty: the agent has written nothing down.")
	}
}

func (v *View) command(m members) {
	description, _ := m.take("description")
	if command, ok := m.take("command"); ok {
		v.add("command", "", command)
	} else if argv := m.find("command").strings(); len(argv) == 3 && strings.HasSuffix(argv[0], "sh") && (argv[1] == "-c" || argv[1] == "-lc") {
		m.drop("command")
		v.add("command", argv[0]+" "+argv[1], argv[2])
	} else if len(argv) > 0 {
		m.drop("command")
		for i, a := range argv { // which words are one argument must be seen
			if a == "" || strings.ContainsAny(a, " \t\n\"'\\$`") {
				argv[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
			}
		}
		v.add("command", "", strings.Join(argv, " "))
	}
	if !blank(description) {
		v.add("quote", "The agent says", description)
	}
}

func (v *View) edits(m members, dir string) {
	file, _ := m.take("file_path", "filePath", "path")
	if content, ok := m.take("content"); ok {
		v.Verb = "wants to write a file"
		v.Parts = append(v.Parts, Change{Path: file, New: content}.Part(dir))
		return
	}
	v.Verb = "wants to edit a file"
	whole := v.edit(m, file, dir)
	list := m.find("edits")
	if list == nil || !list.value.IsArray() {
		if !whole {
			v.Parts = append(v.Parts, Part{Kind: "diff", Label: Change{Path: file}.Part(dir).Label})
		}
		return
	}
	m.drop("edits")
	for _, e := range list.value.Array() {
		one, ok := membersOf(json.RawMessage(e.Raw))
		if old, text := one.find("old_string", "oldString"), one.find("new_string", "newString"); !ok || !old.isText() || !text.isText() {
			v.add("json", Change{Path: file}.Part(dir).Label, words(e))
			continue
		}
		v.edit(one, file, dir)
		v.members(one)
	}
}

// edit takes a replacement from an object that has one. What any edit does is not told.
func (v *View) edit(m members, file, dir string) (ok bool) {
	for _, name := range []string{"replace_all", "replaceAll"} {
		if all := m.find(name); all != nil && all.value.Type == gjson.False {
			m.drop(name)
		}
	}
	old, isOld := m.take("old_string", "oldString")
	text, isNew := m.take("new_string", "newString")
	if isOld || isNew {
		c := Change{Path: file, Old: &old, New: text}.Part(dir)
		for i := range c.lines { // where in the file they are, an edit does not say
			c.lines[i].N = 0
		}
		v.Parts = append(v.Parts, c)
	}
	return isOld || isNew
}

// members makes parts of what was not taken.
func (v *View) members(m members) {
	for i := range m {
		if !m[i].taken {
			m[i].taken = true
			v.Parts = append(v.Parts, Part{Kind: "member", Label: strings.ReplaceAll(m[i].name, "\n", "␊"), Text: words(m[i].value)})
		}
	}
}

// beside is a path as it is told beside a folder: to the letter where it has steps in it.
func beside(file, dir string) string {
	if path.Clean(file) != file || dir == "" {
		return file
	}
	return within(file, dir)
}

// maxInline is how long a value may be that is shown in one line.
const maxInline = 40

// words is a value for people: a string as it is, anything else as JSON.
func words(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.Str
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(v.Raw)) == nil && b.Len() <= maxInline {
		return b.String()
	}
	return clean.Indented(v.Raw)
}

// preamble reports a line of a script that does nothing by itself.
func preamble(l Line) bool {
	text := strings.TrimSpace(l.Text)
	return text == "" || text[0] == '#' || strings.HasPrefix(text, "set -") || strings.HasPrefix(text, "set +")
}

// Topic is the view in a line: a plan's heading, the first command of a script and how many
// lines there are more, a file's path, a tool's name.
func (v View) Topic() string {
	for l := range strings.SplitSeq(v.Source, "\n") {
		if l = strings.Trim(l, "#*_ \t\r"); l != "" {
			return clean.Line(l)
		}
	}
	for _, p := range v.Parts {
		lines := p.Lines()
		switch {
		case p.Kind == "quote", p.Kind == "title" && v.Mark == "command": // words about it
		case p.Kind == "member" || p.Kind == "server" || p.Kind == "markdown" || p.Kind == "address":
			return clean.Line(p.words())
		case p.Kind != "command" && p.Label != "":
			return strings.TrimSpace(p.Label + " " + p.Stat)
		case len(lines) > 0:
			first := max(0, slices.IndexFunc(lines, func(l Line) bool { return !preamble(l) }))
			topic := clean.Line(lines[first].Text)
			if more := len(lines) - 1; more > 0 {
				topic = clean.Truncate(topic, 60) + " +" + counted(more, "1 line", "lines")
			}
			return topic
		}
	}
	return ""
}

// Command is all of what is permitted, where that is a command that any screen shows as it
// is: one short line of printable ASCII. What the agent says about it is not part of it.
func (v View) Command(most int) (command string, ok bool) {
	for _, p := range v.Parts {
		switch {
		case p.Kind == "quote":
		case v.Mark != "command" || p.Kind != "command" || p.Label != "" || command != "":
			return "", false
		default:
			command = p.Text
		}
	}
	odd := func(r rune) bool { return r < ' ' || r >= 0x7f }
	ok = command != "" && len(command) <= most && !strings.ContainsFunc(command, odd) && !strings.Contains(command, "   ")
	return command, ok
}

// Plain is all of it for a terminal. Lines of a change and of a command have their signs,
// Markdown is as it is written, and what hides or turns text is shown as what it is.
func (v View) Plain() (lines []Line) {
	add := func(sign byte, text string) {
		lines = append(lines, Line{Text: clean.Visible(text), Sign: sign})
	}
	for _, p := range v.Parts {
		switch p.Kind {
		case "server", "member":
			for l := range strings.SplitSeq(p.words(), "\n") {
				add(0, l)
			}
			continue
		case "markdown":
			p.Text = clean.Unfence(p.Text)
		}
		if p.Label != "" {
			add(0, strings.TrimSpace(p.Label+" "+p.Stat))
		}
		for _, l := range p.Lines() {
			switch {
			case p.Kind == "command":
				l.Text = "$ " + l.Text
			case l.Sign != 0 && l.Sign != '@':
				l.Text = string(rune(l.Sign)) + " " + l.Text
			}
			add(l.Sign, l.Text)
		}
	}
	return lines
}

// String is Plain as text.
func (v View) String() string {
	lines := v.Plain()
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Text
	}
	return strings.Join(texts, "\n")
}

// words is a part as text.
func (p Part) words() string {
	switch p.Kind {
	case "server":
		return p.Label + " of the MCP server " + p.Text
	case "member":
		return p.Label + ": " + strings.TrimSuffix(p.Text, "\n")
	}
	return p.Text
}

// squeezed is all that is drawn, for comparing.
func (v View) squeezed() string {
	var b strings.Builder
	for _, p := range v.Parts {
		b.WriteString(squeeze(p.Label))
		for _, l := range p.Lines() {
			b.WriteString(squeeze(l.Text))
		}
	}
	return b.String()
}

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
func redundant(t Tool, drawn string) bool {
	title := strings.TrimRight(strings.TrimSpace(t.Title), "….")
	switch {
	case title == "", title == t.Name, t.Name == "ExitPlanMode" && title == "Ready to code?":
		return true
	case strings.HasPrefix(t.Name, "mcp__"):
		_, name, _ := strings.Cut(title, ": ")
		return strings.HasSuffix(t.Name, "__"+name)
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

// verbs say what an agent wants by ACP's kind of its tool.
var verbs = map[string]string{
	"execute": "run something", "edit": "edit a file", "delete": "delete something", "move": "move something", "read": "read something",
	"search": "search", "fetch": "fetch something", "switch_mode": "change its mode",
}

func (t Tool) verb() string {
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }
	switch verb, ok := verbs[t.Kind]; {
	case ok:
		return "wants to " + verb
	case t.Name != "" && len(t.Name) <= 40 && !strings.ContainsFunc(t.Name, odd):
		return "wants to use " + t.Name
	}
	return "needs permission"
}
