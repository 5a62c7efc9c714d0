package modeltest

import "encoding/json"

// messages is the Anthropic Messages API.
type messages struct{}

func (messages) read(r *Request) {
	for _, t := range r.get("tools").Array() {
		r.Tools = append(r.Tools, t.Get("name").String())
	}
	for _, m := range r.get("messages").Array() {
		if m.Get("role").String() != "user" {
			continue
		}
		r.Users = append(r.Users, text(m.Get("content")))
		for _, b := range m.Get("content").Array() {
			if b.Get("type").String() == "tool_result" {
				r.Results = append(r.Results, Result{b.Get("tool_use_id").String(), text(b.Get("content"))})
			}
		}
	}
}

func (m messages) stream(e *events, r Reply) {
	head := m.message(r)
	head["content"], head["stop_reason"] = []any{}, nil
	e.named("message_start", object{"type": "message_start", "message": head})
	if !e.hold(r) {
		return
	}
	index := 0
	block := func(start object, deltas ...object) {
		e.named("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start})
		for _, d := range deltas {
			e.named("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": d})
		}
		e.named("content_block_stop", object{"type": "content_block_stop", "index": index})
		index++
	}
	if r.Text != "" {
		var deltas []object
		for _, part := range halves(r.Text) {
			deltas = append(deltas, object{"type": "text_delta", "text": part})
		}
		block(object{"type": "text", "text": ""}, deltas...)
	}
	for _, c := range r.Calls {
		var deltas []object
		for _, part := range halves(c.input()) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": part})
		}
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, deltas...)
	}
	e.named("message_delta", object{"type": "message_delta", "usage": object{"output_tokens": 7},
		"delta": object{"stop_reason": m.stopReason(r), "stop_sequence": nil}})
	e.named("message_stop", object{"type": "message_stop"})
}

func (m messages) whole(r Reply) any { return m.message(r) }

func (m messages) message(r Reply) object {
	content := []any{}
	if r.Text != "" {
		content = append(content, object{"type": "text", "text": r.Text})
	}
	for _, c := range r.Calls {
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.input())})
	}
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": Model, "content": content,
		"stop_reason": m.stopReason(r), "stop_sequence": nil,
		"usage": object{"input_tokens": 10, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
	}
}

func (messages) stopReason(r Reply) string {
	if len(r.Calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}
