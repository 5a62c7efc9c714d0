package transcript

import (
	"slices"
	"strings"

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
		kind := blockKinds[block.Get("type").Str]
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

var blockKinds = map[string]Kind{"text": Text, "thinking": Thinking, "tool_use": ToolUse, "server_tool_use": ToolUse, "mcp_tool_use": ToolUse}

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
	results := slices.DeleteFunc(slices.Clone(content), func(block gjson.Result) bool { return block.Get("type").Str != "tool_result" })
	for _, block := range results {
		raw, structured := b.message.Raw, b.structured.Raw
		if len(content) > 1 {
			raw = oneBlock(b.message, block)
		}
		if len(results) > 1 { // it would not be known whose it is
			structured = ""
		}
		b.add(ToolResult, "user", raw, block.Get("tool_use_id").Str, structured)
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
	var said []string
	for _, block := range blocks(content) {
		switch block.Get("type").Str {
		case "text":
			text, what := words(block.Get("text").String())
			switch what {
			case saidPrompt, saidCommand:
				said = append(said, textBlock(text))
			case saidOutput:
				b.add(Output, "assistant", synthetic(text), "", "")
			case saidInterrupted:
				b.add(Interrupted, "user", `{"role":"user","content":[`+textBlock(text)+`]}`, "", "")
			}
		case "image", "document":
			said = append(said, block.Raw)
		}
	}
	if len(said) > 0 {
		b.add(Prompt, "user", `{"role":"user","content":[`+strings.Join(said, ",")+`]}`, "", "")
	}
}

// synthetic is a message of the assistant that no model wrote.
func synthetic(text string) string {
	return `{"role":"assistant","model":"<synthetic>","content":[` + textBlock(text) + `]}`
}

func textBlock(text string) string { return `{"type":"text","text":` + quoted(text) + `}` }

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
	var subtype, denied, failed, failure string
	if typ == claude.TypeSystem {
		subtype = quoted(b.subtype)
	}
	if b.denial != "" && toolUseID != "" {
		denied = `[{"id":` + quoted(toolUseID) + `,"non_execution_kind":` + quoted(b.denial) + `}]`
	}
	if kind == Failure {
		failed, failure = "true", b.failure.Raw
	}
	parent := "null"
	if b.parent != "" {
		parent = quoted(b.parent)
	}
	raw := make([]byte, 0, len(message)+len(structured)+256)
	raw = append(raw, `{"type":"`+typ+`"`...)
	for _, f := range [][2]string{
		{"subtype", subtype}, {"message", message}, {"parent_tool_use_id", parent}, {"tool_use_result", structured}, {"tool_result_meta", denied},
		{"is_api_error_message", failed}, {"error", failure}, {"uuid", b.uuid.Raw}, {"session_id", b.session.Raw}, {"timestamp", b.stamp.Raw},
	} {
		if f[1] != "" {
			raw = append(append(raw, `,"`+f[0]+`":`...), f[1]...)
		}
	}
	e := Entry{Kind: kind, ParentToolUseID: b.parent, ToolUseID: toolUseID}
	e.Message, _ = claude.ParseMessage(append(raw, '}'))
	b.out = append(b.out, e)
}

func quoted(text string) string { return string(gjson.AppendJSONString(nil, text)) }
