package transcript

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// Kind tells what an Entry is.
type Kind int

const (
	// Prompt is what the user sent: message.content holds text, image and
	// document blocks, without the CLI's own additions. A slash command is the
	// text that was typed.
	Prompt Kind = iota + 1
	// Text is a text of the assistant.
	Text
	// Thinking is a thought of the assistant.
	Thinking
	// ToolUse is a tool call.
	ToolUse
	// ToolResult is the result of a tool call, with tool_use_result beside it. A
	// call that was not run has tool_result_meta, with the reason as its
	// non_execution_kind: user-rejected, permission-rule, interrupted, …
	ToolResult
	// Output is what a command of the CLI printed, such as /context: a text of
	// the assistant, as it is on the stream.
	Output
	// Failure is the text of a failed call of the API, marked with
	// is_api_error_message as it is on the stream.
	Failure
	// Interrupted stands where the user stopped the turn: tool calls that have
	// no result will not get one.
	Interrupted
	// Compacted stands where the conversation was compacted; subtype is
	// compact_boundary.
	Compacted
)

// Entry is one step of a conversation: one content block, or one prompt.
type Entry struct {
	Kind Kind
	// Message has the shape of the CLI's live messages: type, message with one
	// content block, parent_tool_use_id, tool_use_result, uuid, session_id,
	// timestamp. It may be kept.
	Message claude.Message
	// ParentToolUseID is the call of the sub-agent whose step this is; empty
	// for the main conversation.
	ParentToolUseID string
	// ToolUseID is the id of the call, for ToolUse and ToolResult.
	ToolUseID string
	// Agent is the sub-agent that a ToolUse began, if its steps are kept: they
	// follow.
	Agent *Agent
	UUID  string
	// Time is when the line was written; zero if it does not tell.
	Time time.Time
}

// entries reads the steps of one line. parent is the sub-agent's call.
func entries(r row, kind flags, parent string) []Entry {
	b := builder{row: r, parent: parent}
	switch {
	case kind&isAssistant != 0:
		b.assistant()
	case kind&isUser != 0:
		b.user()
	case kind&isSystem != 0:
		b.system()
	case kind&isAttachment != 0:
		b.prompt(r.queued())
	}
	return b.out
}

// builder makes the entries of a line.
type builder struct {
	row
	parent string
	out    []Entry
}

func (b *builder) assistant() {
	if b.model == "<synthetic>" && !b.failed {
		return // fills a gap for the model, nobody said it
	}
	content := blocks(b.content)
	for _, block := range content {
		kind := blockKind(block.Get("type").Str)
		switch {
		case kind == 0:
			continue
		case b.failed:
			kind = Failure
		}
		raw := b.message.Raw
		if len(content) > 1 || !b.content.IsArray() {
			raw = oneBlock(b.message, block)
		}
		b.add(kind, "assistant", raw, block.Get("id").Str, "")
	}
}

func blockKind(block string) Kind {
	switch block {
	case "text":
		return Text
	case "thinking":
		return Thinking
	case "tool_use", "server_tool_use", "mcp_tool_use":
		return ToolUse
	}
	return 0
}

// oneBlock is a message with one of its blocks only, as on the stream.
func oneBlock(message, block gjson.Result) string {
	raw := []byte(`{`)
	for _, field := range []string{"id", "model", "role", "type"} {
		if v := message.Get(field); v.Exists() {
			raw = append(raw, `"`+field+`":`+v.Raw+`,`...)
		}
	}
	return string(append(raw, `"content":[`+block.Raw+`]}`...))
}

func (b *builder) user() {
	content := blocks(b.content)
	results := 0
	for _, block := range content {
		if block.Get("type").Str == "tool_result" {
			results++
		}
	}
	if results > 0 {
		structured := ""
		if results == 1 { // of several, it would not be known whose it is
			structured = b.structured.Raw
		}
		for _, block := range content {
			if block.Get("type").Str != "tool_result" {
				continue
			}
			raw := b.message.Raw
			if len(content) > 1 {
				raw = oneBlock(b.message, block)
			}
			b.add(ToolResult, "user", raw, block.Get("tool_use_id").Str, structured)
		}
	}
	if !b.notPrompt() {
		b.prompt(b.content)
	}
}

// prompt adds what the user said, block by block, and what else was kept as a
// user's message. A sub-agent's prompt is its call's input.
func (b *builder) prompt(content gjson.Result) {
	if b.parent != "" {
		return
	}
	var said []byte
	keep := func(raw string) {
		if len(said) > 0 {
			said = append(said, ',')
		}
		said = append(said, raw...)
	}
	for _, block := range blocks(content) {
		switch block.Get("type").Str {
		case "text":
			text, what := words(block.Get("text").String())
			switch what {
			case saidPrompt, saidCommand:
				keep(string(textBlock(text)))
			case saidOutput:
				b.add(Output, "assistant", synthetic(text), "", "")
			case saidInterrupted:
				b.add(Interrupted, "user", `{"role":"user","content":[`+string(textBlock(text))+`]}`, "", "")
			}
		case "image", "document":
			keep(block.Raw)
		}
	}
	if len(said) > 0 {
		b.add(Prompt, "user", `{"role":"user","content":[`+string(said)+`]}`, "", "")
	}
}

// synthetic is a message of the assistant that no model wrote.
func synthetic(text string) string {
	return `{"role":"assistant","model":"<synthetic>","content":[` + string(textBlock(text)) + `]}`
}

func textBlock(text string) []byte {
	raw := gjson.AppendJSONString([]byte(`{"type":"text","text":`), text)
	return append(raw, '}')
}

func (b *builder) system() {
	switch b.subtype {
	case "local_command":
		if text, what := words(b.text.String()); what == saidOutput {
			b.add(Output, "assistant", synthetic(text), "", "")
		}
	case "compact_boundary":
		b.add(Compacted, "system", "", "", "")
	}
}

// add builds the message in the shape of the stream.
func (b *builder) add(kind Kind, typ, message, toolUseID, structured string) {
	raw := make([]byte, 0, len(message)+len(structured)+256)
	raw = append(raw, `{"type":"`+typ+`"`...)
	e := Entry{
		Kind: kind, ParentToolUseID: b.parent, ToolUseID: toolUseID,
		UUID: b.uuid.String(), Time: b.time(),
	}
	if typ == claude.TypeSystem {
		raw = gjson.AppendJSONString(append(raw, `,"subtype":`...), b.subtype)
	}
	if message != "" {
		raw = append(append(raw, `,"message":`...), message...)
	}
	raw = append(raw, `,"parent_tool_use_id":`...)
	if b.parent == "" {
		raw = append(raw, `null`...)
	} else {
		raw = gjson.AppendJSONString(raw, b.parent)
	}
	if structured != "" {
		raw = append(append(raw, `,"tool_use_result":`...), structured...)
	}
	if b.denial != "" && toolUseID != "" {
		raw = gjson.AppendJSONString(append(raw, `,"tool_result_meta":[{"id":`...), toolUseID)
		raw = gjson.AppendJSONString(append(raw, `,"non_execution_kind":`...), b.denial)
		raw = append(raw, `}]`...)
	}
	if kind == Failure {
		raw = append(raw, `,"is_api_error_message":true`...)
		raw = copyField(raw, "error", b.failure)
	}
	raw = copyField(raw, "uuid", b.uuid)
	raw = copyField(raw, "session_id", b.session)
	raw = copyField(raw, "timestamp", b.stamp)
	e.Message, _ = claude.ParseMessage(append(raw, '}'))
	b.out = append(b.out, e)
}

func copyField(raw []byte, name string, v gjson.Result) []byte {
	if !v.Exists() {
		return raw
	}
	return append(append(raw, `,"`+name+`":`...), v.Raw...)
}
