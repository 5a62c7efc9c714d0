package modeltest

import "encoding/json"

// gemini is Gemini's generateContent.
type gemini struct{}

func (gemini) read(r *Request) {
	for _, t := range r.get("tools").Array() {
		for _, f := range t.Get("functionDeclarations").Array() {
			r.Tools = append(r.Tools, f.Get("name").String())
		}
	}
	for _, c := range r.get("contents").Array() {
		for _, p := range c.Get("parts").Array() {
			if result := p.Get("functionResponse"); result.Exists() {
				r.Results = append(r.Results, Result{result.Get("id").String(), result.Get("response").Raw})
			} else if c.Get("role").String() == "user" {
				r.Users = append(r.Users, p.Get("text").String())
			}
		}
	}
}

func (g gemini) stream(e *events, r Reply) {
	if !e.hold(r) {
		return
	}
	if r.Text != "" {
		parts := halves(r.Text)
		e.data(g.piece([]any{object{"text": parts[0]}}, ""))
		r.Text = parts[1]
	}
	e.data(g.whole(r))
}

func (g gemini) whole(r Reply) any {
	parts := []any{}
	if r.Text != "" || len(r.Calls) == 0 {
		parts = append(parts, object{"text": r.Text})
	}
	for _, c := range r.Calls {
		parts = append(parts, object{"functionCall": object{"id": c.ID, "name": c.Name, "args": json.RawMessage(c.input())}})
	}
	return g.piece(parts, "STOP")
}

func (gemini) piece(parts []any, finish string) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	return object{
		"candidates":    []any{candidate},
		"modelVersion":  Model,
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 7, "totalTokenCount": 17},
	}
}
