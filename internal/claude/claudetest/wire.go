package claudetest

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

type object = map[string]any

// output writes lines, whole and one at a time.
type output struct {
	mu       sync.Mutex
	w        *bufio.Writer
	held     bool // a burst: flush when full
	lastText string
}

// emit writes a message. Its type comes first, as the CLI writes it.
func (o *output) emit(m object) {
	rest := maps.Clone(m)
	delete(rest, "type")
	text, err := clean.EncodeJSON(rest)
	if err != nil {
		fmt.Fprintln(os.Stderr, "claudetest:", err)
		os.Exit(3)
	}
	line := append([]byte(`{"type":`), clean.JSON(m["type"])...)
	if len(rest) > 0 {
		line = append(line, ',')
	}
	o.line(append(line, text[1:]...))
}

// alone has the output to itself, and flushes what is not held behind it.
func (o *output) alone(do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil {
		o.w = bufio.NewWriterSize(os.Stdout, 64<<10)
	}
	do()
	if !o.held {
		_ = o.w.Flush()
	}
}

func (o *output) line(line []byte) {
	o.alone(func() {
		_, _ = o.w.Write(line)
		_ = o.w.WriteByte('\n')
	})
}

func (o *output) hold(held bool) { o.alone(func() { o.held = held }) }

func (o *output) close() { _ = os.Stdout.Close() }

// emit writes a message of the session.
func (e *engine) emit(m object) {
	m["uuid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", e.uuid.Add(1))
	m["session_id"] = e.session
	e.out.emit(m)
}

// sub marks a message as one of the sub-agent of a call, or of the main
// conversation.
func (e *engine) sub(parent string, m object) object {
	if parent == "" {
		m["parent_tool_use_id"] = nil
		return m
	}
	return merge(m, object{"parent_tool_use_id": parent, "agent_id": agentID(parent), "subagent_type": "general-purpose"})
}

func merge(a, b object) object {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

func agentID(call string) string { return "agent-" + call }

func (e *engine) userText(text string) {
	e.emit(e.sub("", object{"type": "user", "message": object{"role": "user", "content": []any{object{"type": "text", "text": text}}}}))
}

// message streams one message of the model.
type message struct {
	e      *engine
	id     string
	parent string
}

// event writes a stream event. Sub-agents have none.
func (m *message) event(event object) {
	if m.parent == "" {
		m.e.emit(object{"type": "stream_event", "event": event, "parent_tool_use_id": nil, "api_message_id": m.id})
	}
}

func (m *message) begin() {
	if m.parent == "" {
		m.e.emit(object{"type": "system", "subtype": "status", "status": "requesting"})
	}
	m.event(object{"type": "message_start", "message": m.body(nil)})
}

func (m *message) body(content ...any) object {
	if content[0] == nil {
		content = []any{}
	}
	_, model := m.e.now()
	return object{
		"id": m.id, "type": "message", "role": "assistant", "model": model, "content": content,
		"stop_reason": nil, "stop_sequence": nil, "usage": usage(1),
	}
}

func (m *message) whole(block object) {
	m.e.emit(m.e.sub(m.parent, object{"type": "assistant", "message": m.body(block), "request_id": "req_claudetest"}))
}

// prose streams a text or thinking block, then writes it whole. Of a
// sub-agent only that shows, to whoever asked for it.
func (m *message) prose(ctx context.Context, index int, b Block) error {
	delta := b.Type + "_delta"
	block := object{"type": b.Type, b.Type: ""}
	if b.Type == "thinking" {
		block["signature"] = ""
	}
	m.event(object{"type": "content_block_start", "index": index, "content_block": maps.Clone(block)})
	var said strings.Builder
	say := func(chunk string) {
		said.WriteString(chunk)
		m.event(object{"type": "content_block_delta", "index": index, "delta": object{"type": delta, b.Type: chunk}})
	}
	err := m.chunks(ctx, b, say, m.repeated(index, b, &said))
	if b.Type == "text" {
		m.e.out.lastText = said.String()
	}
	block[b.Type] = said.String()
	if m.parent == "" || m.e.tells.Load() {
		m.whole(block)
	}
	m.event(object{"type": "content_block_stop", "index": index})
	if err != nil {
		m.end("")
	}
	return err
}

func (m *message) chunks(ctx context.Context, b Block, say func(string), repeat func(int)) error {
	for _, c := range b.Chunks {
		if ctx.Err() != nil {
			return errStreaming
		}
		say(c)
	}
	if b.Repeat == 0 {
		return nil
	}
	if b.Every == 0 {
		m.e.out.hold(true)
		defer m.e.out.hold(false)
	}
	start := time.Now()
	for i := range b.Repeat {
		if ctx.Err() != nil {
			return errStreaming
		}
		if b.Every > 0 {
			if wait := time.Until(start.Add(time.Duration(i) * b.Every)); wait > 0 {
				time.Sleep(wait)
			}
		}
		repeat(i)
	}
	return nil
}

// repeated returns what says the i-th of many deltas. It writes the line by
// hand: a benchmark must not measure the stand-in.
func (m *message) repeated(index int, b Block, said *strings.Builder) func(i int) {
	head := fmt.Appendf(nil, `{"type":"stream_event","event":{"type":"content_block_delta","index":%d,"delta":{"type":"%s_delta","%s":"`, index, b.Type, b.Type)
	tail := fmt.Appendf(nil, `"}},"session_id":%s,"parent_tool_use_id":null,"api_message_id":"%s","uuid":"00000000-0000-4000-8000-`, raw(m.e.session), m.id)
	pad := clean.JSON(b.Pad)
	tail = append(pad[1:len(pad)-1:len(pad)-1], tail...)
	var line []byte
	return func(i int) {
		number := strconv.Itoa(i) + " "
		said.WriteString(number + b.Pad)
		line = append(append(line[:0], head...), number...)
		line = fmt.Appendf(append(line, tail...), `%012d"}`, m.e.uuid.Add(1))
		m.e.out.line(line)
	}
}

func (m *message) toolUse(index int, b Block) {
	m.event(object{"type": "content_block_start", "index": index, "content_block": object{"type": "tool_use", "id": b.ID, "name": b.Name, "input": object{}}})
	piece := max(40, len(b.Input)/3+1)
	for input := string(b.Input); input != ""; {
		n := min(len(input), piece)
		for n < len(input) && input[n]&0xc0 == 0x80 { // not inside a character
			n++
		}
		m.event(object{"type": "content_block_delta", "index": index, "delta": object{"type": "input_json_delta", "partial_json": input[:n]}})
		input = input[n:]
	}
	m.whole(object{"type": "tool_use", "id": b.ID, "name": b.Name, "input": b.Input})
}

func (m *message) end(stop string) {
	var reason any
	if stop != "" {
		reason = stop
	}
	m.event(object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage(7)})
	m.event(object{"type": "message_stop"})
}

// syntheticMessage is how the CLI shows an error of the API: whole, without
// deltas.
func (e *engine) syntheticMessage(r *Result) {
	e.emit(e.sub("", object{
		"type": "assistant", "error": r.Error, "is_api_error_message": true,
		"message": object{
			"id": "synthetic", "type": "message", "role": "assistant", "model": "<synthetic>", "stop_reason": r.StopReason,
			"content": []any{object{"type": "text", "text": r.Text}}, "usage": usage(0),
		},
	}))
}

func (e *engine) result(r *Result, origin object) {
	_, model := e.now()
	m := object{
		"type": "result", "subtype": r.Subtype, "is_error": r.IsError, "stop_reason": nil, "num_turns": 1,
		"duration_ms": 1, "duration_api_ms": 1, "total_cost_usd": 0.001, "usage": usage(7), "permission_denials": []any{},
		"modelUsage":   object{model: object{"inputTokens": 10, "outputTokens": 7, "contextWindow": 1000000}},
		"result_index": e.results, "queued_turn_count": 0,
	}
	e.results++
	if r.StopReason != "" {
		m["stop_reason"] = r.StopReason
	}
	if r.TerminalReason != "" {
		m["terminal_reason"] = r.TerminalReason
	}
	if r.Errors != nil {
		m["errors"] = r.Errors
	}
	if r.Subtype == "success" {
		m["result"] = r.Text
		m["api_error_status"] = nil
	}
	if r.APIErrorStatus != 0 {
		m["api_error_status"] = r.APIErrorStatus
	}
	if origin != nil {
		m["origin"] = origin
	}
	var taken []string
	e.Step(func() { taken, e.taken = e.taken, nil })
	if len(taken) > 0 {
		m["user_message_uuid"], m["user_message_uuids"] = taken[0], taken
	}
	e.emit(m)
	state := "completed"
	if strings.HasPrefix(r.TerminalReason, "aborted") {
		state = "cancelled"
	}
	e.Step(func() {
		for _, id := range taken {
			e.promptIs(id, state)
		}
	})
}

func usage(output int) object {
	return object{"input_tokens": 10, "output_tokens": output, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
}
