package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Reply is what the model says to one call: a text, then tool calls.
type Reply struct {
	Text  string
	Calls []Call
	// Hold, if set, keeps the reply back until it is closed, the agent goes
	// away, or the server ends.
	Hold <-chan struct{}
}

// Call is a call of a tool. Name may be the end of the name of a tool that is
// on offer: agents put the name of an MCP server before it, each in its way.
type Call struct {
	ID, Name string
	// Input is encoded as JSON.
	Input any
}

// Say is a reply of one text.
func Say(text string) Reply { return Reply{Text: text} }

// Use is a reply of one tool call.
func Use(id, name string, input any) Reply {
	return Reply{Calls: []Call{{id, name, input}}}
}

// named is the reply with the names of tools as the request has them.
func (r Reply) named(req Request) Reply {
	calls := make([]Call, len(r.Calls))
	for i, c := range r.Calls {
		c.Name = req.tool(c.Name)
		calls[i] = c
	}
	r.Calls = calls
	return r
}

// input is the encoded input of a call.
func (c Call) input() string {
	raw, err := json.Marshal(c.Input)
	if err != nil {
		panic(fmt.Sprintf("modeltest: input of %s: %v", c.Name, err))
	}
	return string(raw)
}

// halves cuts a text in two, so that what is streamed comes in pieces.
func halves(s string) []string {
	r := []rune(s)
	n := (len(r) + 1) / 2
	return []string{string(r[:n]), string(r[n:])}
}

type object = map[string]any

// events writes server-sent events.
type events struct {
	w    http.ResponseWriter
	ctx  context.Context
	stop <-chan struct{}
}

// hold waits for the release of a reply and reports whether to go on.
func (e *events) hold(r Reply) bool {
	if r.Hold == nil {
		return true
	}
	select {
	case <-r.Hold:
		return true
	case <-e.ctx.Done():
	case <-e.stop:
	}
	return false
}

// data sends an event without a name.
func (e *events) data(v any) { e.named("", v) }

// named sends an event; the name is left out if it is empty.
func (e *events) named(name string, v any) {
	data, _ := json.Marshal(v)
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", data)
	e.flush()
}

// end sends the words that end a stream of chat completions.
func (e *events) end() {
	fmt.Fprint(e.w, "data: [DONE]\n\n")
	e.flush()
}

func (e *events) flush() {
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

// tool finds a tool on offer by its name, or by the end of its name.
func (r Request) tool(name string) string {
	for _, t := range r.Tools {
		if t == name {
			return name
		}
	}
	for _, t := range r.Tools {
		if strings.HasSuffix(t, name) {
			return t
		}
	}
	return name
}
