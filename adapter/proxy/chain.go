package proxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// Chain is one proxy of several that a conductor puts between an editor and an
// agent, after the draft of ACP's proxy chains. All that is said goes over in and
// out, to the conductor: what the editor and the agent say to each other comes
// from it, and what is meant for the agent goes to it in an envelope,
// proxy/successor. Names with a leading underscore, as conductors of before the
// draft have them, are taken too, and answered in kind.
//
// An agent that takes answers over its HTTP API alone cannot be answered here:
// it is the conductor that starts it.
func Chain(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	c := &chain{out: newOutlet(out, nil), toAgent: map[string]bool{}, ofAgent: map[string]bool{}}
	editor, agent := newPipe(), newPipe()
	go func() { editor.put(nil, c.split(in, editor, agent)) }() // the conductor is the editor, and the agent too
	err := Relay(ctx, Stream{editor, writerFunc(c.write)}, Stream{agent, writerFunc(c.toSuccessor)}, o)
	editor.put(nil, io.EOF)
	agent.put(nil, io.EOF)
	return err
}

const (
	successorMethod = "proxy/successor"
	chainInitialize = "proxy/initialize"
)

// chain is one wire for two peers. A request keeps its id on its way through:
// those of the conductor are unique, whoever they come from.
type chain struct {
	out *outlet // a line is never torn

	mu      sync.Mutex
	prefix  string          // an underscore, if the conductor uses it
	toAgent map[string]bool // requests that wait for an answer of the agent
	ofAgent map[string]bool // requests of the agent that wait for ours
}

// split gives each peer what is from the other. It does not wait for either: one
// that has to wait for its editor must not keep the editor's words back.
func (c *chain) split(in io.Reader, editor, agent *pipe) error {
	s := newSource(in)
	for {
		lines, err := s.next()
		if over, ok := errors.AsType[*ndjson.TooLong](err); ok {
			lines, err = brokenLine(over.Members), nil
		}
		for line := range bytes.Lines(lines) {
			if from, plain := c.route(line); from {
				agent.put(plain, nil)
			} else if plain != nil {
				editor.put(plain, nil)
			}
		}
		if err != nil {
			return err
		}
	}
}

// brokenLine stands for a line that is far too long: enough of it to know who has
// to be told.
func brokenLine(m ndjson.Members) []byte {
	key := `,"result":`
	if m.Has("method") {
		key = `,"method":`
	}
	return []byte(`{"jsonrpc":"2.0","id":` + m["id"] + key + "\n")
}

// route reports whether a line comes from the agent, and what it is without its
// envelope; nil if it is for nobody.
func (c *chain) route(line []byte) (ofAgent bool, plain []byte) {
	m, ok := scanTo(line, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ok { // the relay knows what to do with it
		m = message{id: []byte(ndjson.Skim(line, "id")["id"])}
	}
	method := m.name()
	switch name := strings.TrimPrefix(method, "_"); {
	case !ok, m.isResponse():
		id := idKey(m.id)
		ofAgent = c.toAgent[id]
		delete(c.toAgent, id)
		return ofAgent, line
	case name == chainInitialize:
		c.prefix = strings.TrimSuffix(method, chainInitialize)
		return false, append(edit(bytes.TrimSpace(line), func([]byte) []byte { return quote("initialize") }, "method"), '\n')
	case name == successorMethod:
		return true, c.unwrap(&m)
	case method == "initialize":
		if m.id != nil {
			c.out.post(errorLine(string(m.id), ndjson.InvalidRequest, "acp-bridge is a proxy here, and has no agent of its own: expected "+chainInitialize))
		}
		return false, nil
	case method == "$/cancel_request": // names a request on this wire
		target, _ := member(gjson.ParseBytes(m.params), "requestId")
		return c.ofAgent[idKey(target)], line
	}
	return false, line
}

// unwrap takes a message of the agent out of its envelope. The envelope's _meta
// is for this wire alone.
func (c *chain) unwrap(m *message) []byte {
	inner, ok := scanTo(m.params, true)
	if !ok || inner.method == nil {
		if m.id != nil {
			c.out.post(errorLine(string(m.id), ndjson.InvalidParams, "expected a method in the envelope"))
		}
		return nil
	}
	if m.id != nil {
		c.ofAgent[idKey(m.id)] = true
	}
	return messageLine(m.id, inner.method, inner.params)
}

// toSuccessor writes lines that are for the agent.
func (c *chain) toSuccessor(lines []byte) (int, error) {
	var b bytes.Buffer
	c.mu.Lock()
	for line := range bytes.Lines(lines) {
		b.Write(c.wrap(line))
	}
	c.mu.Unlock()
	_, err := c.write(b.Bytes())
	return len(lines), err
}

// wrap puts a line into an envelope, unless it is an answer.
func (c *chain) wrap(line []byte) []byte {
	m, ok := scanTo(line, true)
	if !ok {
		return line
	}
	if m.method == nil {
		delete(c.ofAgent, idKey(m.id))
		return line
	}
	if m.id != nil {
		c.toAgent[idKey(m.id)] = true
	}
	if m.name() == "$/cancel_request" && c.prefix == "" { // the request is one of ours to the conductor
		return line
	}
	inner := `{"method":` + string(m.method)
	if m.params != nil {
		inner += `,"params":` + string(m.params)
	}
	return messageLine(m.id, quote(c.prefix+successorMethod), []byte(inner+"}"))
}

func (c *chain) write(lines []byte) (int, error) { return len(lines), c.out.pass(lines) }

// messageLine is a request, or a notification without an id, with its line end.
func messageLine(id, method, params []byte) []byte {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0"`)
	for _, part := range []struct {
		key   string
		value []byte
	}{{"id", id}, {"method", method}, {"params", params}} {
		if part.value != nil {
			b.WriteString(`,"` + part.key + `":` + string(part.value))
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// pipe is a stream that takes all that is put into it. Only its reader waits.
type pipe struct {
	more  *sync.Cond
	lines []byte
	err   error
}

func newPipe() *pipe {
	return &pipe{more: sync.NewCond(new(sync.Mutex))}
}

// put takes lines, or the end behind them.
func (p *pipe) put(lines []byte, end error) {
	p.more.L.Lock()
	defer p.more.L.Unlock()
	p.lines, p.err = append(p.lines, lines...), cmp.Or(p.err, end)
	p.more.Broadcast()
}

// Read implements [io.Reader].
func (p *pipe) Read(b []byte) (int, error) {
	p.more.L.Lock()
	defer p.more.L.Unlock()
	for len(p.lines) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		p.more.Wait()
	}
	n := copy(b, p.lines)
	if p.lines = p.lines[n:]; len(p.lines) == 0 {
		p.lines = nil
	}
	return n, nil
}
