package proxy

import (
	"bytes"
	"errors"
	"io"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// reader decides what becomes of a line. It is called as soon as the line is
// there. A nil answer passes the line on as it is; otherwise the answer is
// called when all before it has been passed on, and does that itself, or
// something else. Neither may wait for anything but a peer that does not read.
type reader func(line []byte, m *message) act

// act gets a function that writes whole lines to the peer for which the line was
// meant.
type act func(pass func(lines []byte) error) error

// run passes lines on until the stream ends. It returns why that was, or why
// the other peer takes no more.
func (p *proxy) run(r io.Reader, to *outlet, read reader) error {
	s := newSource(r)
	for {
		lines, err := s.next()
		if over, ok := errors.AsType[*ndjson.TooLong](err); ok {
			if err := p.pass(p.damaged(over.Members, to), to, read); err != nil {
				return err
			}
			continue
		}
		if err == nil {
			err = p.pass(lines, to, read)
		} else if len(lines) > 0 { // the last line lacks its end
			_ = p.pass(append(bytes.Clone(lines), '\n'), to, read)
		}
		if err != nil {
			return err
		}
	}
}

func (p *proxy) pass(lines []byte, to *outlet, read reader) error {
	from := editorWire
	if to == p.editor {
		from = agentWire
		p.passing.Enter()
		defer p.passing.Leave()
	}
	begin := 0 // of what passes as it is
	for at := 0; at < len(lines); {
		end := at + bytes.IndexByte(lines[at:], '\n') + 1
		act := p.judge(lines[at:end], from, to, read)
		if act == nil {
			at = end
			continue
		}
		if err := to.pass(lines[begin:at]); err != nil {
			return err
		}
		if err := act(to.pass); err != nil {
			return err
		}
		begin, at = end, end
	}
	return to.pass(lines[begin:])
}

// judge looks at one line. What is no JSON-RPC object goes no further: agents
// print such things by mistake, and editors end for it. An answer that is broken
// is one that says so.
func (p *proxy) judge(line []byte, from string, to *outlet, read reader) act {
	if p.opts.Trace != nil {
		p.opts.Trace(from, ndjson.In, bytes.TrimRight(line, "\r\n"))
	}
	if from == agentWire && p.holds.Load() == 0 && isText(line) {
		if p.opts.Desk != nil {
			p.about.say(line)
		}
		return nil
	}
	m, ok := scan(line)
	if !ok {
		if len(bytes.TrimSpace(line)) > 0 {
			p.log.Warn("a line that is no message was left out", "bytes", len(line))
		}
		if line = p.damaged(ndjson.Skim(line, "id", "method"), to); line == nil {
			return drop
		}
		m, _ = scan(line)
		if act := p.reads(read, line, &m); act != nil {
			return act
		}
		return func(pass func([]byte) error) error { return pass(line) }
	}
	return p.reads(read, line, &m)
}

func (p *proxy) reads(read reader, line []byte, m *message) (a act) {
	p.Step(func() { a = read(line, m) })
	return a
}

// acting is an act that passes on what a step returns.
func (p *proxy) acting(do func() (lines []byte)) act {
	return func(pass func([]byte) error) error {
		var lines []byte
		p.Step(func() { lines = do() })
		return pass(lines)
	}
}

// isText reports whether a line is an update that is none of a tool call or of a
// sub-agent, as nearly all are that an agent writes while it works, written as most agents do.
// It says no more than scan and the look at a line would, in less time.
func isText(line []byte) bool {
	return bytes.HasPrefix(line, updatePrefix) && bytes.HasSuffix(line, updateSuffix) && !bytes.Contains(line, toolCallWord) && !bytes.Contains(line, subAgentWord)
}

var updatePrefix, updateSuffix = []byte(`{"jsonrpc":"2.0","method":"session/update","params":`), []byte("}}\n")

// The names of the wires in a trace.
const editorWire, agentWire = "editor", "agent"

func drop(func([]byte) error) error { return nil }
