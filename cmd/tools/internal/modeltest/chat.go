package modeltest

// chat is OpenAI's chat completions, which most agents can speak.
type chat struct{}

func (chat) read(r *Request) {
	for _, t := range r.get("tools").Array() {
		r.Tools = append(r.Tools, t.Get("function.name").String())
	}
	for _, m := range r.get("messages").Array() {
		switch m.Get("role").String() {
		case "user":
			r.Users = append(r.Users, text(m.Get("content")))
		case "tool":
			r.Results = append(r.Results, Result{m.Get("tool_call_id").String(), text(m.Get("content"))})
		}
	}
}

func (c chat) stream(e *events, r Reply) {
	chunk := func(delta object, finish any) {
		e.data(object{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": Model,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if !e.hold(r) {
		return
	}
	if r.Text != "" {
		for _, part := range halves(r.Text) {
			chunk(object{"content": part}, nil)
		}
	}
	for i, call := range r.Calls {
		chunk(object{"tool_calls": []any{object{
			"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": ""},
		}}}, nil)
		for _, part := range halves(call.input()) {
			chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": part}}}}, nil)
		}
	}
	chunk(object{}, c.finish(r))
	e.data(object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": Model,
		"choices": []any{}, "usage": chatUsage,
	})
	e.end()
}

var chatUsage = object{"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17}

func (c chat) whole(r Reply) any {
	message := object{"role": "assistant", "content": r.Text}
	var calls []any
	for _, call := range r.Calls {
		calls = append(calls, object{
			"id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": call.input()},
		})
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	return object{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": Model, "usage": chatUsage,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": c.finish(r)}},
	}
}

func (chat) finish(r Reply) string {
	if len(r.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}
