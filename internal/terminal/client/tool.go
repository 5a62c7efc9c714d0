package client

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

// How much of a tool call's content is shown.
const (
	outputLines = 3
	failLines   = 8
	diffLines   = 6
)

// toolID names a tool call: each session has its own ids.
type toolID struct{ session, id string }

// tool is a tool call that has not ended.
type tool struct {
	toolID
	title    string
	content  []gjson.Result
	running  bool // content is what it has put out so far
	shown    bool // a line about it was written
	question bool // it asks the user, and is shown when it is answered
}

func (t *tool) name() string { return cmp.Or(clean.Line(t.title), "Tool call") }

// tool takes a new tool call or a change of one.
func (s *screen) tool(session string, u gjson.Result) {
	id := toolID{session, u.Get("toolCallId").Str}
	if hidden, ended := s.ended[id]; ended && (hidden || u.Get("sessionUpdate").Str != "tool_call") {
		return
	}
	delete(s.ended, id) // it is a new one
	s.endText()
	t := s.find(id)
	if u.Get("sessionUpdate").Str == "tool_call" {
		t.content, t.running = nil, false
	}
	if v := u.Get("title"); v.Type == gjson.String {
		t.title = v.Str
	}
	if v := u.Get("content"); v.IsArray() {
		t.content = v.Array()
		t.running = u.Get("status").Str == "in_progress"
	}
	if u.Get("_meta.claudeCode.toolName").Str == "AskUserQuestion" {
		t.question = true
	}
	switch u.Get("status").Str {
	case "completed":
		s.finish(t, "✓ ", outputLines)
	case "failed":
		s.finish(t, "✗ ", failLines)
	default:
		if !s.Live && !t.shown && !t.question {
			s.add(blockTool, s.cut("… "+t.name()))
			t.shown = true
		}
	}
}

func (s *screen) find(id toolID) *tool {
	if i := slices.IndexFunc(s.tools, func(t *tool) bool { return t.toolID == id }); i >= 0 {
		return s.tools[i]
	}
	t := &tool{toolID: id}
	s.tools = append(s.tools, t)
	return t
}

// finish draws a tool call that has ended.
func (s *screen) finish(t *tool, mark string, lines int) {
	s.end(t.toolID, false)
	s.add(blockTool, s.cut(mark+t.name()))
	if s.Live && !t.question {
		s.out.keep(t.name(), t.content)
	}
	for _, c := range t.content {
		s.add(blockTool, s.content(c, lines)...)
	}
}

// viewTool is a tool call that runs, with the end of what it has put out.
func (s *screen) viewTool(t *tool) []string {
	lines := []string{s.cut("… " + t.name())}
	if !t.running {
		return lines
	}
	var output []display.Line
	for _, c := range t.content {
		output = append(output, inShort(c)...)
	}
	return append(lines, s.toolLines(output[max(0, len(output)-outputLines):])...)
}

// contentLines is an item of a tool call's content, all of it.
func contentLines(c gjson.Result) []display.Line {
	p := display.Part{Kind: "markdown"}
	switch c.Get("type").Str {
	case "content":
		p.Text = clean.Block(contentText(c.Get("content")))
	case "diff":
		change := display.Change{Path: c.Get("path").Str, New: c.Get("newText").Str}
		if old := c.Get("oldText"); old.Type == gjson.String {
			change.Old = &old.Str
		}
		p = change.Part("")
	default:
		return nil
	}
	return display.View{Parts: []display.Part{p}}.Plain()
}

// inShort is contentLines without blank ones, without the fences of Markdown, and without
// the lines that a change leaves as they are.
func inShort(c gjson.Result) []display.Line {
	return slices.DeleteFunc(contentLines(c), func(l display.Line) bool {
		text := strings.TrimSpace(l.Text)
		return text == "" || strings.HasPrefix(text, "```") || l.Sign == ' ' || l.Sign == '@'
	})
}

// content draws an item of a tool call's content in n lines, and says how many more there
// are.
func (s *screen) content(c gjson.Result, n int) []string {
	all := inShort(c)
	if c.Get("type").Str == "diff" {
		n = 1 + diffLines
	}
	if more := len(all) - n; more > 1 { // the line that says so can as well be the last one
		all = append(all[:n:n], display.Line{Text: "… " + lineask.Counted(more, "more line", "more lines")})
	}
	return s.toolLines(all)
}

// toolLines draws lines below the name of a tool call.
func (s *screen) toolLines(all []display.Line) (lines []string) {
	for _, l := range all {
		line := s.cut("  " + l.Text)
		if l.Sign == 0 {
			line = s.faint(line)
		}
		lines = append(lines, s.style().Signed(l.Sign, line))
	}
	return lines
}
