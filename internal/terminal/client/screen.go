package client

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

// screen turns what an agent sends into lines of text. It does no I/O: give it
// updates, print [screen.Lines], and where a terminal can be drawn on show
// [screen.View] below them.
//
// Nothing that an agent wrote acts on a terminal: text is cleaned as a whole
// line, so that an escape sequence sent in pieces is no way around it.
type screen struct {
	// Width is the number of columns that lines are wrapped and cut to; 0
	// leaves them as long as they are.
	Width int
	// Live says that View is shown. Without it, what may still change is
	// written down each time it does.
	Live bool
	// Style adds attributes: faint thoughts, for one. NoColor keeps colours out.
	Style, NoColor bool

	// Replay says that an earlier session is told again: what the user said is
	// shown, too.
	Replay bool

	done  []string // finished, not yet taken
	block block    // what the last finished line belongs to
	text  text
	tools []*tool
	ended map[toolID]bool // tool calls that are drawn, and true for those that are hidden
	plan  []planEntry
	fresh bool // the plan has changed since it was last finished
	mode  string
	out   outputs
}

// block is a group of lines; a blank line stands between two.
type block int

const (
	blockNone block = iota
	blockMessage
	blockThought
	blockTool
	blockPlan
	blockNote
	blockUser
)

// Update takes the update of a session/update notification. What it does not
// know it ignores.
func (s *screen) Update(session string, u gjson.Result) {
	switch kind := u.Get("sessionUpdate").Str; kind {
	case "agent_message_chunk":
		s.chunk(session, blockMessage, u.Get("content"))
	case "user_message_chunk":
		if s.Replay {
			s.chunk(session, blockUser, u.Get("content"))
		}
	case "agent_thought_chunk":
		s.chunk(session, blockThought, u.Get("content"))
	case "tool_call", "tool_call_update":
		s.tool(session, u)
	case "plan":
		s.setPlan(u.Get("entries"))
	case "current_mode_update":
		mode := clean.Line(u.Get("currentModeId").Str)
		if mode != "" && mode != cmp.Or(s.mode, "default") {
			s.Note("Mode: " + mode)
		}
		s.mode = mode
	}
}

// Lines takes the lines that are finished. They never change again.
func (s *screen) Lines() []string {
	lines := s.done
	s.done = nil
	return lines
}

// View is what may still change: the line that is being written, tool calls
// that run, and the plan.
func (s *screen) View() []string {
	var lines []string
	last := s.block
	group := func(b block, more []string) {
		if len(more) == 0 {
			return
		}
		if last != blockNone && last != b {
			lines = append(lines, "")
		}
		lines, last = append(lines, more...), b
	}
	group(s.text.block, s.text.view(s))
	var running []string
	for _, t := range s.tools {
		running = append(running, s.viewTool(t)...)
	}
	group(blockTool, running)
	if s.Live && s.fresh {
		group(blockPlan, s.planView())
	}
	return lines
}

// EndTurn finishes what the turn left open: tool calls that got no end have
// one now, but for the one that the next prompt answers.
func (s *screen) EndTurn(waiting string) {
	s.endText()
	for _, t := range slices.Clone(s.tools) {
		if waiting != "" && t.id == waiting {
			continue
		}
		s.end(t.toolID, false)
		s.add(blockTool, s.cut("· "+t.name()+" (no result)"))
	}
	if s.Live && s.fresh {
		s.add(blockPlan, s.planView()...)
	}
	s.plan, s.fresh = nil, false
}

// Note adds a line of the client's own, wrapped. Its text may hold an agent's.
func (s *screen) Note(note string) {
	s.endText()
	for l := range strings.SplitSeq(clean.Block(note), "\n") {
		s.add(blockNote, s.each(s.wrap(l), s.faint)...)
	}
}

// greeting is the first line: who is there, where, and what to press. It is two
// where one is too short.
func (s *screen) greeting(agent, dir string) []string {
	who, where, keys := s.strong(agent), s.faint(" in "+clean.Line(dir)), s.faint("Enter sends • Ctrl+C cancels • /help")
	if line := who + where + s.faint(" • ") + keys; s.Width <= 0 || cells.Width(line) <= s.Width {
		return []string{line}
	}
	return []string{s.cut(who + where), s.cut(keys)}
}

// help adds the keys and commands.
func (s *screen) help(agents []command) {
	s.endText()
	for l := range strings.SplitSeq(helpText(agents), "\n") {
		s.add(blockNote, s.faint(s.cut(l)))
	}
	s.add(blockNone)
}

// shows adds what a command has to say.
func (s *screen) shows(text string) {
	s.endText()
	for l := range strings.SplitSeq(text, "\n") {
		s.add(blockNote, s.wrap(l)...)
	}
	s.add(blockNone)
}

// Say adds what the user said.
func (s *screen) Say(words string) {
	s.endText()
	s.block = blockNone
	for i, l := range strings.Split(clean.Block(words), "\n") {
		mark := "  "
		if i == 0 {
			mark = "> "
		}
		s.add(blockNote, s.each(s.wrap(mark+l), s.strong)...)
	}
	s.add(blockNote, "")
	s.block = blockNone
}

// Hide takes a tool call off the screen: something else shows it.
func (s *screen) Hide(session, id string) {
	if id != "" {
		s.end(toolID{session, id}, true)
	}
}

func (s *screen) end(id toolID, hidden bool) {
	if s.ended == nil {
		s.ended = map[toolID]bool{}
	}
	s.ended[id] = hidden
	s.tools = slices.DeleteFunc(s.tools, func(t *tool) bool { return t.toolID == id })
}

// add finishes lines of a block; without any, it begins one.
func (s *screen) add(b block, lines ...string) {
	if s.block != blockNone && s.block != b {
		s.done = append(s.done, "")
	}
	s.block = b
	s.done = append(s.done, lines...)
}

func (s *screen) each(lines []string, f func(string) string) []string {
	for i := range lines {
		lines[i] = f(lines[i])
	}
	return lines
}
