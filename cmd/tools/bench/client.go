package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/tidwall/gjson"
)

// client is the editor's side of an agent. It takes what comes on one goroutine
// and does as little as it can.
type client struct {
	*child

	mu      sync.Mutex
	last    int
	pending map[int]chan reply
	onAsk   func(ask)
	onText  func(session, text string)
	gone    bool
}

type reply struct {
	result gjson.Result
	err    error
}

// ask is a permission request or a form of the agent.
type ask struct {
	id      string // raw
	session string
	option  string // the first one on offer, raw
	field   string // of a form, raw; empty for a permission request
}

// connect starts an agent and waits for its answer to initialize.
func connect(ctx context.Context, s subject, env []string) (*client, error) {
	child, err := startChild(ctx, s.command, env, "")
	if err != nil {
		return nil, err
	}
	c := &client{child: child, pending: map[int]chan reply{}}
	c.onAsk = func(a ask) { _ = c.answer(a) }
	go c.readAll()
	capabilities := `{}`
	if s.forms {
		capabilities = `{"elicitation":{"form":{}}}`
	}
	_, err = c.call(ctx, "initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`,"clientInfo":{"name":"bench","version":"1"}}`)
	if err != nil {
		_ = c.end()
		return nil, err
	}
	return c, nil
}

func (c *client) readAll() {
	defer close(c.read)
	for c.out.Scan() {
		c.line(c.out.Bytes())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for id, ch := range c.pending {
		delete(c.pending, id)
		ch <- reply{err: fmt.Errorf("the agent closed the connection: %s", c.stderr.String())}
	}
}

func (c *client) line(line []byte) {
	c.mu.Lock()
	onAsk, onText := c.onAsk, c.onText
	c.mu.Unlock()
	switch method := gjson.GetBytes(line, "method").Str; method {
	case "session/update":
		if onText == nil {
			return
		}
		p := gjson.GetBytes(line, "params")
		if p.Get("update.sessionUpdate").Str == "agent_message_chunk" {
			onText(p.Get("sessionId").Str, p.Get("update.content.text").Str)
		}
	case "session/request_permission":
		onAsk(ask{
			id:      gjson.GetBytes(line, "id").Raw,
			session: gjson.GetBytes(line, "params.sessionId").Str,
			option:  gjson.GetBytes(line, "params.options.0.optionId").Raw,
		})
	case "elicitation/create":
		p := gjson.GetBytes(line, "params")
		a := ask{id: gjson.GetBytes(line, "id").Raw, session: p.Get("sessionId").Str}
		p.Get("requestedSchema.properties").ForEach(func(key, field gjson.Result) bool { // the first is the question
			a.field, a.option = key.Raw, field.Get("oneOf.0.const").Raw
			return false
		})
		onAsk(a)
	case "":
		c.settle(line)
	default:
		if id := gjson.GetBytes(line, "id"); id.Exists() {
			_ = c.write(`{"jsonrpc":"2.0","id":` + id.Raw + `,"error":{"code":-32601,"message":"not here"}}`)
		}
	}
}

func (c *client) settle(line []byte) {
	id := int(gjson.GetBytes(line, "id").Int())
	c.mu.Lock()
	ch := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if ch == nil {
		return
	}
	if e := gjson.GetBytes(line, "error"); e.Exists() {
		ch <- reply{err: fmt.Errorf("the agent answers: %s", e.Get("message").Str)}
		return
	}
	ch <- reply{result: gjson.Parse(gjson.GetBytes(line, "result").Raw)}
}

// answer picks the first option.
func (c *client) answer(a ask) error {
	if a.field != "" {
		return c.write(`{"jsonrpc":"2.0","id":` + a.id + `,"result":{"action":"accept","content":{` + a.field + `:` + a.option + `}}}`)
	}
	return c.write(`{"jsonrpc":"2.0","id":` + a.id + `,"result":{"outcome":{"outcome":"selected","optionId":` + a.option + `}}}`)
}

// handle sets what is done with requests and text. It is called on the
// goroutine that reads.
func (c *client) handle(onAsk func(ask), onText func(session, text string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onAsk, c.onText = onAsk, onText
}

// start sends a request whose answer comes on the channel.
func (c *client) start(method, params string) (<-chan reply, error) {
	ch := make(chan reply, 1)
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		return nil, fmt.Errorf("the agent is gone: %s", c.stderr.String())
	}
	c.last++
	id := c.last
	c.pending[id] = ch
	c.mu.Unlock()
	return ch, c.write(`{"jsonrpc":"2.0","id":` + strconv.Itoa(id) + `,"method":"` + method + `","params":` + params + `}`)
}

func (c *client) call(ctx context.Context, method, params string) (gjson.Result, error) {
	ch, err := c.start(method, params)
	if err != nil {
		return gjson.Result{}, err
	}
	return await(ctx, method, ch)
}

func await(ctx context.Context, what string, ch <-chan reply) (gjson.Result, error) {
	select {
	case r := <-ch:
		if r.err != nil {
			return r.result, fmt.Errorf("%s: %w", what, r.err)
		}
		return r.result, nil
	case <-ctx.Done():
		return gjson.Result{}, fmt.Errorf("%s: no answer: %w", what, ctx.Err())
	}
}

func (c *client) newSession(ctx context.Context, dir string) (string, error) {
	r, err := c.call(ctx, "session/new", `{"cwd":`+strconv.Quote(dir)+`,"mcpServers":[]}`)
	return r.Get("sessionId").Str, err
}

func (c *client) prompt(session string) (<-chan reply, error) {
	return c.start("session/prompt", `{"sessionId":"`+session+`","prompt":[{"type":"text","text":"go"}]}`)
}
