package modeltest

import (
	"strconv"
	"strings"
)

// namespaceMark is between the names of a namespace and its tool.
const namespaceMark = "/"

// responses is OpenAI's responses API.
type responses struct{}

func (responses) read(r *Request) {
	for _, t := range r.get("tools").Array() {
		if name := t.Get("name").String(); name != "" {
			r.Tools = append(r.Tools, name)
		}
		for _, inner := range t.Get("tools").Array() { // Codex's namespaces: the tools of an MCP server
			r.Tools = append(r.Tools, t.Get("name").String()+namespaceMark+inner.Get("name").String())
		}
	}
	input := r.get("input")
	if !input.IsArray() {
		r.Users = append(r.Users, input.String())
		return
	}
	for _, item := range input.Array() {
		switch {
		case item.Get("role").String() == "user":
			r.Users = append(r.Users, text(item.Get("content")))
		case item.Get("type").String() == "function_call_output":
			r.Results = append(r.Results, Result{item.Get("call_id").String(), text(item.Get("output"))})
		}
	}
}

// items are what the model puts out.
func (responses) items(r Reply) []object {
	var items []object
	if r.Text != "" {
		items = append(items, object{
			"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": r.Text, "annotations": []any{}}},
		})
	}
	for i, c := range r.Calls {
		item := object{
			"id": "fc_" + strconv.Itoa(i+1), "type": "function_call", "status": "completed",
			"call_id": c.ID, "name": c.Name, "arguments": c.input(),
		}
		if space, name, ok := strings.Cut(c.Name, namespaceMark); ok {
			item["namespace"], item["name"] = space, name
		}
		items = append(items, item)
	}
	return items
}

func (p responses) stream(e *events, r Reply) {
	sequence := 0
	event := func(kind string, fields object) {
		fields["type"], fields["sequence_number"] = kind, sequence
		sequence++
		e.named(kind, fields)
	}
	event("response.created", object{"response": p.response(nil, "in_progress")})
	if !e.hold(r) {
		return
	}
	items := p.items(r)
	for i, item := range items {
		if item["type"] == "message" {
			p.streamText(event, i, item, r.Text)
			continue
		}
		start := object{}
		for k, v := range item {
			start[k] = v
		}
		start["arguments"], start["status"] = "", "in_progress"
		event("response.output_item.added", object{"output_index": i, "item": start})
		for _, part := range halves(item["arguments"].(string)) {
			event("response.function_call_arguments.delta", object{"item_id": item["id"], "output_index": i, "delta": part})
		}
		event("response.function_call_arguments.done", object{"item_id": item["id"], "output_index": i, "arguments": item["arguments"]})
		event("response.output_item.done", object{"output_index": i, "item": item})
	}
	event("response.completed", object{"response": p.response(items, "completed")})
}

func (responses) streamText(event func(string, object), i int, item object, text string) {
	at := func(more object) object {
		more["item_id"], more["output_index"], more["content_index"] = item["id"], i, 0
		return more
	}
	start := object{"id": item["id"], "type": "message", "role": "assistant", "status": "in_progress", "content": []any{}}
	event("response.output_item.added", object{"output_index": i, "item": start})
	event("response.content_part.added", at(object{"part": object{"type": "output_text", "text": "", "annotations": []any{}}}))
	for _, part := range halves(text) {
		event("response.output_text.delta", at(object{"delta": part}))
	}
	event("response.output_text.done", at(object{"text": text}))
	event("response.content_part.done", at(object{"part": object{"type": "output_text", "text": text, "annotations": []any{}}}))
	event("response.output_item.done", object{"output_index": i, "item": item})
}

func (p responses) whole(r Reply) any { return p.response(p.items(r), "completed") }

func (responses) response(items []object, status string) object {
	if items == nil {
		items = []object{}
	}
	return object{
		"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": Model,
		"output": items, "parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{},
		"error": nil, "incomplete_details": nil, "metadata": object{},
		"usage": object{
			"input_tokens": 10, "output_tokens": 7, "total_tokens": 17,
			"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
		},
	}
}
