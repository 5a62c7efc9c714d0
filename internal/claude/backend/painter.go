package backend

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// canvas is where updates go, in order. It may block. *[editor.Session] is one.
type canvas interface {
	Stream(kind, message, text string)
	Text(kind, text string)
	Notice(warn bool, title, text string)
	Update(acp.SessionUpdate)
	UpdateOf(session string, update any)
	// Holds reports whether updates wait for the next prompt.
	Holds() bool
}

// painter turns the CLI's messages into updates: messages in, updates out. It is
// used by one at a time, see [lane], and knows nothing of locks: but for
// [painter.hasPart], nobody else may look at it. Text arrives twice, as deltas and
// as a whole message: what was streamed is not sent again, what was not is sent
// then.
type painter struct {
	out    canvas
	id     string // of the session
	cwd    string
	client client
	tasks  *display.Tasks
	log    *slog.Logger

	// output opens what a command writes. Every looks at it from time to time, as
	// the painter's user, and calls over behind the last look. A painter of a
	// transcript has neither.
	output func(task, session string) (*os.File, error)
	every  func(look, over func()) (stop func())

	stream   streamed
	used     gjson.Result         // usage of the conversation's last message
	calls    map[string]*toolCall // tool calls without a result
	followed map[string]*follower // running commands, by the CLI's task
	agents   map[string]subAgent  // sub-agents at work, by the CLI's id of each
	quiet    bool                 // no turn runs: commands are not shown
	edits    map[string]bool      // files that the turn has edited, for AIR

	compaction *compaction // one that runs

	past     bool   // it draws a transcript
	planKept string // the call of a plan that is gone on with in another turn: its result is no end

	// Sub-agents that the editor has as sessions, by the CLI's id, and by the call
	// that began them or let them go on. Nil if it has none.
	parts    map[string]*part
	launched map[string]*part
	shown    atomic.Pointer[[]string] // the ids of parts, for everybody
}

// streamed is what came in deltas of the current content block.
type streamed struct {
	message string // as the CLI names it
	id      string // as the editor knows it
	kind    string // "text", "thinking" or "tool_use"
	text    strings.Builder
	call    string  // id of the tool call
	input   partial // of the tool call
}

// toolCall is a tool call that has no result yet.
type toolCall struct {
	tool   display.Tool
	parent string
	drawn  bool // the editor knows it
	title  string
	asked  bool // a question that the adapter draws
	denied bool // the user did not allow it

	terminal string // how the editor takes output for a terminal, if it does
	printed  int    // how often something was appended to it
}

func newPainter(s *conversation) *painter {
	return &painter{
		out: s.out, id: s.id, cwd: s.cwd, client: s.agent.editor(), tasks: &s.tasks, log: s.agent.log.With("session", s.id),
		calls: map[string]*toolCall{}, followed: map[string]*follower{}, agents: map[string]subAgent{},
	}
}

// event takes a stream event of the main conversation.
func (p *painter) event(m claude.Message) {
	if m.ParentToolUseID() != "" {
		return
	}
	event := m.Event()
	switch m.Subtype {
	case "message_start":
		p.compactionOver(false)
		id := event.Get("message.id").Str
		p.stream = streamed{message: id, id: cmp.Or(id, life.UUID())}
	case "content_block_start":
		b := event.Get("content_block")
		p.stream = streamed{message: p.stream.message, id: p.stream.id, kind: b.Get("type").Str}
		if p.stream.kind == "tool_use" {
			p.stream.call = b.Get("id").Str
			p.begin(p.stream.call, b.Get("name").Str)
		}
	case "content_block_delta":
		p.delta(event.Get("delta"))
	}
}

// chunks are the updates by which texts of these kinds are sent.
var chunks = map[string]string{"text": editor.MessageChunk, "thinking": editor.ThoughtChunk}

func (p *painter) delta(d gjson.Result) {
	switch kind := strings.TrimSuffix(d.Get("type").Str, "_delta"); kind {
	case "text", "thinking":
		text := d.Get(kind).String()
		p.stream.text.WriteString(text)
		p.out.Stream(chunks[kind], p.stream.id, text)
	case "input_json":
		if p.stream.input.feed(d.Get("partial_json").String()) {
			p.grow(p.stream.call, p.stream.input.input())
		}
	}
}

// grow shows what a tool call's unfinished input says about it already.
func (p *painter) grow(id string, input json.RawMessage) {
	c := p.calls[id]
	if c == nil || !c.drawn {
		return
	}
	info := display.Tool{Name: c.tool.Name, Input: input}.Info(p.cwd)
	if info.Title == c.title {
		return
	}
	c.title = info.Title
	p.change(id, c, acp.SessionToolCallUpdate{Title: &info.Title, Locations: info.Locations})
}

// begin draws a tool call as soon as its name is known.
func (p *painter) begin(id, name string) {
	if p.calls[id] != nil || id == "" || p.undrawn(name) {
		return
	}
	c := &toolCall{tool: display.Tool{Name: name}}
	p.calls[id] = c
	p.draw(id, c)
}

// undrawn tools have no tool call of their own: questions are drawn when they
// are asked, plans as plans, sub-agents as sessions if the editor has them.
func (p *painter) undrawn(name string) bool {
	return name == questionTool || display.Tool{Name: name}.ToDo() || p.parts != nil && launches(name)
}

// assistant takes a whole message, which holds one content block.
func (p *painter) assistant(m claude.Message) {
	if m.Get("is_api_error_message").Bool() {
		return // comes again as the turn's error
	}
	parent := m.ParentToolUseID()
	if parent == "" {
		p.compactionOver(false)
		p.used = m.Get("message.usage")
	} else {
		p.partWorks(parent)
	}
	for _, b := range m.Get("message.content").Array() {
		switch kind := b.Get("type").Str; kind {
		case "text", "thinking":
			p.rest(m, parent, kind, b.Get(kind).String())
		case "tool_use", "server_tool_use", "mcp_tool_use":
			p.toolUse(b, parent)
		}
	}
}

// rest sends what the deltas have not brought of a whole text.
func (p *painter) rest(m claude.Message, parent, kind, text string) {
	if parent != "" { // a sub-agent's words are for its parent, unless it has a session
		p.partSpeaks(parent, chunks[kind], messageID(m), text)
		return
	}
	id := messageID(m)
	if p.stream.kind == kind && p.stream.message == m.Get("message.id").Str {
		id = p.stream.id
		sent := p.stream.text.String()
		p.stream.kind = ""
		if !strings.HasPrefix(text, sent) {
			return
		}
		text = text[len(sent):]
	}
	p.out.Stream(chunks[kind], id, text)
}

// messageID names a message for the editor: by the model's id, which its deltas
// and its transcript have, too. What a user says has none of these.
func messageID(m claude.Message) string {
	return cmp.Or(m.Get("message.id").Str, m.Get("uuid").Str, life.UUID())
}

func (p *painter) toolUse(b gjson.Result, parent string) {
	id := b.Get("id").Str
	tool := display.Tool{Name: b.Get("name").Str, Input: json.RawMessage(b.Get("input").Raw)}
	c := p.calls[id]
	if c == nil {
		c = &toolCall{}
		p.calls[id] = c
	}
	c.tool, c.parent = tool, parent
	if begin := p.calls[parent]; begin != nil && !begin.drawn && p.launched[parent] == nil && launches(begin.tool.Name) {
		p.draw(parent, begin) // the CLI has not said which sub-agent it is
	}
	if !p.undrawn(tool.Name) {
		p.draw(id, c)
	}
}

// show sends an update of a tool call, in the session that it belongs to.
func (p *painter) show(c *toolCall, u acp.SessionUpdate) {
	if id := p.partOf(c.parent); id != "" {
		p.out.UpdateOf(id, u)
		return
	}
	p.out.Update(u)
}

// start shows a tool call, and change what is new about one.
func (p *painter) start(id string, c *toolCall, u acp.SessionUpdateToolCall) {
	if u.ToolCallId = acp.ToolCallId(id); u.Meta == nil {
		u.Meta = c.meta()
	}
	p.show(c, acp.SessionUpdate{ToolCall: &u})
}

func (p *painter) change(id string, c *toolCall, u acp.SessionToolCallUpdate) {
	if u.ToolCallId = acp.ToolCallId(id); u.Meta == nil {
		u.Meta = c.meta()
	}
	p.show(c, acp.SessionUpdate{ToolCallUpdate: &u})
}

// draw shows a tool call, or what is new about it.
func (p *painter) draw(id string, c *toolCall) {
	info := c.tool.Info(p.cwd)
	c.title = info.Title
	input, inFile := p.planInput(c.tool, gjson.Result{})
	if inFile {
		info.Content = nil
	}
	if c.drawn {
		p.change(id, c, acp.SessionToolCallUpdate{
			Title: &info.Title, Kind: &info.Kind, Content: info.Content, Locations: info.Locations, RawInput: input,
			Meta: p.toolForAIR(c.tool, c.meta()),
		})
		return
	}
	c.drawn = true
	p.start(id, c, acp.SessionUpdateToolCall{
		Title: info.Title, Kind: info.Kind, Status: acp.ToolCallStatusPending, Content: info.Content, Locations: info.Locations,
		RawInput: input, Meta: p.announce(id, c, p.toolForAIR(c.tool, c.meta())),
	})
}

func (c *toolCall) meta() map[string]any {
	claude := map[string]any{"toolName": c.tool.Name}
	if c.parent != "" {
		claude["parentToolUseId"] = c.parent
	}
	return map[string]any{"claudeCode": claude}
}

// asked notes that the adapter draws a question call.
func (p *painter) asked(id string) {
	c := p.calls[id]
	if c == nil {
		c = &toolCall{tool: display.Tool{Name: questionTool}}
		p.calls[id] = c
	}
	c.asked = true
}

// awaiting returns the tool of a call that needs permission. The request's own
// input counts, unless it lacks what the call had.
func (p *painter) awaiting(t claude.ToolRequest) display.Tool {
	c := p.calls[t.ToolUseID]
	if c == nil { // permission comes before the call: draw it now
		c = &toolCall{tool: display.Tool{Name: t.ToolName, Input: t.Input}}
		p.calls[t.ToolUseID] = c
		if !p.undrawn(t.ToolName) {
			p.draw(t.ToolUseID, c)
		}
	}
	tool := display.Tool{Name: t.ToolName, Input: t.Input}
	if string(t.Input) == "{}" && len(c.tool.Input) > 0 {
		tool.Input = c.tool.Input
	}
	return tool
}
