package client

import (
	"strings"

	"github.com/tidwall/gjson"

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

func (t *tool) name() string {
	if name := clean.Line(t.title); name != "" {
		return name
	}
	return "Tool call"
}

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
	for _, t := range s.tools {
		if t.toolID == id {
			return t
		}
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
	var output []string
	for _, c := range t.content {
		if c.Get("type").Str == "content" {
			output = append(output, unfenced(clean.Block(contentText(c.Get("content"))))...)
		}
	}
	for _, l := range output[max(0, len(output)-outputLines):] {
		lines = append(lines, s.faint(s.cut("  "+l)))
	}
	return lines
}

// content draws an item of a tool call's content in short.
func (s *screen) content(c gjson.Result, n int) (lines []string) {
	switch c.Get("type").Str {
	case "content":
		for _, l := range head(unfenced(clean.Block(contentText(c.Get("content")))), n) {
			lines = append(lines, s.faint(s.cut("  "+l)))
		}
	case "diff":
		more := 0
		for i, l := range changeOf(c).Plain() { // what came and went
			switch {
			case i == 0:
				lines = append(lines, s.faint(s.cut("  "+l.Text)))
			case l.Sign != '+' && l.Sign != '-':
			case len(lines) <= diffLines:
				lines = append(lines, s.signed(l.Sign, s.cut("  "+l.Text)))
			default:
				more++
			}
		}
		if more > 0 {
			lines = append(lines, s.cut("  … "+lineask.Counted(more, "more line", "more lines")))
		}
	}
	return lines
}

// unfenced is text of several lines without blank ones and without the fences
// of Markdown.
func unfenced(text string) []string {
	var lines []string
	for l := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(l) == "" || strings.HasPrefix(strings.TrimSpace(l), "```") {
			continue
		}
		lines = append(lines, l)
	}
	return lines
}

// head is the first n lines, and how many more there are.
func head(lines []string, n int) []string {
	if len(lines) <= n+1 { // the line that says so can as well be the last one
		return lines
	}
	return append(lines[:n:n], "… "+lineask.Counted(len(lines)-n, "more line", "more lines"))
}
