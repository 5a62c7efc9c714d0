package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Reply is what the model says to one call.
type Reply struct {
	Blocks []Block
	// StopReason is "tool_use" if there is a tool call, else "end_turn",
	// unless it is set.
	StopReason string

	// Verdicts are those of auto mode's check: why a call is flagged, or "". Without
	// them nothing is checked.
	Verdicts map[string]string

	// Status from 400 on makes the call fail; ErrorType and ErrorMessage are
	// then the error of the API.
	Status       int
	ErrorType    string
	ErrorMessage string
	RetryAfter   string

	// Delay comes before anything is sent.
	Delay time.Duration
	// Hold, if set, keeps the stream open before its last event until it is
	// closed, the CLI goes away, or the test ends.
	Hold <-chan struct{}
	// HoldFirst holds before the first block instead.
	HoldFirst bool
	// Cut ends the connection after that many stream events.
	Cut int
	// Times repeats the reply; the CLI tries failed calls again.
	Times int
}

// Block is one content block.
type Block struct {
	Type   string // "text", "thinking" or "tool_use"
	Chunks []string
	ID     string
	Name   string
}

// Text is a text block, one delta a chunk.
func Text(chunks ...string) Block { return Block{Type: "text", Chunks: chunks} }

// Thinking is a thinking block, one delta a chunk.
func Thinking(chunks ...string) Block { return Block{Type: "thinking", Chunks: chunks} }

// ToolUse is a tool call. input is marshalled, unless it is a
// json.RawMessage, and sent in a few pieces.
func ToolUse(id, name string, input any) Block {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(fmt.Sprintf("apitest: input of %s: %v", name, err))
	}
	if r, ok := input.(json.RawMessage); ok {
		raw = r
	}
	var chunks []string
	for step := max(1, (len(raw)+2)/3); len(raw) > 0; {
		n := min(step, len(raw))
		chunks = append(chunks, string(raw[:n]))
		raw = raw[n:]
	}
	return Block{Type: "tool_use", ID: id, Name: name, Chunks: chunks}
}

// Say is a reply of one text.
func Say(chunks ...string) Reply { return Reply{Blocks: []Block{Text(chunks...)}} }

// Use is a reply of tool calls and other blocks.
func Use(blocks ...Block) Reply { return Reply{Blocks: blocks} }

// Fail is a failed call, for example Fail(529, "overloaded_error", "Overloaded").
func Fail(status int, kind, message string) Reply {
	return Reply{Status: status, ErrorType: kind, ErrorMessage: message, Times: 1}
}

// Hang is a reply that starts and never comes, until release is closed.
func Hang(release <-chan struct{}) Reply {
	r := Say("late")
	r.Hold, r.HoldFirst = release, true
	return r
}

func (r Reply) stopReason() string {
	if r.StopReason != "" {
		return r.StopReason
	}
	for _, b := range r.Blocks {
		if b.Type == "tool_use" {
			return "tool_use"
		}
	}
	return "end_turn"
}

// stream writes a reply as server-sent events.
type stream struct {
	w     http.ResponseWriter
	ctx   context.Context
	stop  <-chan struct{}
	reply Reply
	id    string
	model string
	sent  int
}

type object = map[string]any

func (s *stream) run() {
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("Request-Id", "req_apitest")
	s.event("message_start", object{"message": object{
		"id": s.id, "type": "message", "role": "assistant", "model": s.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage(1),
	}})
	if s.reply.HoldFirst && !s.hold() {
		return
	}
	for i, b := range s.reply.Blocks {
		s.event("content_block_start", object{"index": i, "content_block": b.start()})
		for _, c := range b.Chunks {
			s.event("content_block_delta", object{"index": i, "delta": b.delta(c)})
		}
		if b.Type == "thinking" {
			s.event("content_block_delta", object{"index": i, "delta": object{"type": "signature_delta", "signature": "c2ln"}})
		}
		s.event("content_block_stop", object{"index": i})
	}
	if !s.reply.HoldFirst && !s.hold() {
		return
	}
	delta := object{"stop_reason": s.reply.stopReason(), "stop_sequence": nil}
	if s.reply.Verdicts != nil {
		delta["safeguard_results"] = []any{s.reply.checked()}
	}
	s.event("message_delta", object{"delta": delta, "usage": usage(7)})
	s.event("message_stop", object{})
}

func (r Reply) checked() object {
	uses := object{}
	for id, why := range r.Verdicts {
		uses[id] = object{"type": "evaluated", "outcome": "flagged", "explanation": why}
		if why == "" {
			uses[id] = object{"type": "evaluated", "outcome": "not_flagged"}
		}
	}
	return object{"type": "dangerous_tool_use", "status": object{"type": "available", "tool_uses": uses}}
}

// hold waits for the release and reports whether to go on.
func (s *stream) hold() bool {
	if s.reply.Hold == nil {
		return true
	}
	select {
	case <-s.reply.Hold:
		return true
	case <-s.ctx.Done():
	case <-s.stop:
	}
	return false
}

func (s *stream) event(kind string, fields object) {
	if s.sent++; s.reply.Cut > 0 && s.sent > s.reply.Cut {
		panic(http.ErrAbortHandler)
	}
	fields["type"] = kind
	data, _ := json.Marshal(fields)
	fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, data)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// whole is the reply to a call that does not stream.
func (s *stream) whole() any {
	content := []any{}
	for _, b := range s.reply.Blocks {
		block := b.start()
		text := ""
		for _, c := range b.Chunks {
			text += c
		}
		switch b.Type {
		case "tool_use":
			block["input"] = json.RawMessage(text)
		default:
			block[b.Type] = text
		}
		content = append(content, block)
	}
	return object{
		"id": s.id, "type": "message", "role": "assistant", "model": s.model, "content": content,
		"stop_reason": s.reply.stopReason(), "stop_sequence": nil, "usage": usage(7),
	}
}

func (b Block) start() object {
	switch b.Type {
	case "tool_use":
		return object{"type": "tool_use", "id": b.ID, "name": b.Name, "input": object{}}
	case "thinking":
		return object{"type": "thinking", "thinking": "", "signature": ""}
	}
	return object{"type": "text", "text": ""}
}

func (b Block) delta(chunk string) object {
	switch b.Type {
	case "tool_use":
		return object{"type": "input_json_delta", "partial_json": chunk}
	case "thinking":
		return object{"type": "thinking_delta", "thinking": chunk}
	}
	return object{"type": "text_delta", "text": chunk}
}

func usage(output int) object {
	return object{"input_tokens": 10, "output_tokens": output, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
}
