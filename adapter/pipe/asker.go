package pipe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// Asker is the agent's end of the pipe, an [adapter.Resolver]: it writes each
// call to Out as a request and waits for the response on In, without a timeout.
// Several calls may be open at a time.
//
// The end of In is that whoever answers is gone: calls that are open, and later
// ones, are [convert.Disconnected]. In pi's words that is connectionLost, in
// Opal's "User input request failed: …".
//
// An Asker that is no longer used is closed, see [Asker.Close].
type Asker struct {
	In  io.Reader
	Out io.Writer
	// Dialect is "pi" or "opal"; empty is pi. Opal's requests have one question
	// each: a call with several is asked one after the other.
	Dialect string
	// Report is told of lines that are no response to anything open, and of what
	// a request has no place for. It must not block.
	Report func(problem string)

	once sync.Once

	mu      sync.Mutex
	serial  int
	waiting map[string]chan json.RawMessage // by id; nil when the input has ended
	end     error                           // why it ended
}

var _ adapter.Resolver = (*Asker)(nil)

// start begins to read, once.
func (a *Asker) start() {
	a.once.Do(func() {
		a.waiting = map[string]chan json.RawMessage{}
		go a.read()
	})
}

// Close ends the reading of In, and closes it if it is an [io.Closer]: a Read
// that waits has to return. Calls that are open end as at the end of the input.
func (a *Asker) Close() error {
	a.start()
	a.close(io.EOF)
	if in, ok := a.In.(io.Closer); ok {
		return in.Close()
	}
	return nil
}

// Ask implements [adapter.Resolver].
func (a *Asker) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	a.start()
	if a.Dialect != "opal" {
		o, err := a.request(ctx, c)
		return adapter.Settle(c, o, err)
	}
	answers := make([]convert.Answer, len(c.Questions))
	for i, q := range c.Questions {
		one := c
		one.Questions = []convert.Question{q}
		o, err := a.request(ctx, one)
		if o, err = adapter.Settle(one, o, err); err != nil {
			return opalFailed(o)
		}
		answers[i] = o.Answers[0]
	}
	return adapter.Settle(c, convert.Outcome{Status: convert.Answered, Answers: answers}, nil)
}

// opalFailed says in Opal's words that a request got no answer. The user's own
// no stays what it is.
func opalFailed(o convert.Outcome) (convert.Outcome, error) {
	if o.Status == convert.Failed || o.Status == convert.Disconnected {
		o.Reason = convert.UserFailed + o.Message()
	}
	return o, o.Err()
}

// request sends one request and waits for its response.
func (a *Asker) request(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	name := a.Dialect
	if name == "" {
		name = "pi"
	}
	id, response, err := a.open()
	if err != nil {
		return convert.Outcome{}, err
	}
	defer a.forget(id)
	line, lost, err := dialect.WriteRequest(name, c, id)
	if err != nil {
		return convert.Outcome{}, err
	}
	for _, what := range lost {
		a.report(what)
	}
	req, err := dialect.Decode(line, name)
	if err != nil {
		return convert.Outcome{}, err
	}
	if err := a.write(line); err != nil {
		return convert.Outcome{}, err
	}
	select {
	case body, ok := <-response:
		if !ok {
			return convert.Outcome{}, a.end
		}
		return dialect.ReadResult(req, body)
	case <-ctx.Done():
		return adapter.Withdrawn(ctx), nil
	}
}

// open makes an id that a response can name.
func (a *Asker) open() (id string, response chan json.RawMessage, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		return "", nil, a.end
	}
	a.serial++
	id, response = "req-"+strconv.Itoa(a.serial), make(chan json.RawMessage, 1)
	a.waiting[id] = response
	return id, response, nil
}

func (a *Asker) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// write writes a line. Whoever no longer reads gives no answer either.
func (a *Asker) write(line []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.Out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("%w: writing a request: %w", convert.ErrDisconnected, err)
	}
	return nil
}

// read hands responses to whoever waits for them, until the input ends.
func (a *Asker) read() {
	lines := ndjson.NewReader(a.In, maxLine)
	for {
		line, err := lines.Next()
		if errors.As(err, new(*ndjson.TooLong)) {
			a.report(fmt.Sprintf("a line is longer than %d MiB", maxLine>>20))
			continue
		}
		if len(line) > 0 {
			a.take(line)
		}
		if err != nil {
			a.close(err)
			return
		}
	}
}

// take hands on a response. Only the first one to a request counts.
func (a *Asker) take(line []byte) {
	var response chan json.RawMessage
	if id := a.answers(line); id != "" {
		a.mu.Lock()
		response = a.waiting[id]
		delete(a.waiting, id)
		a.mu.Unlock()
	}
	if response == nil {
		a.report("a line is no response to anything that is open")
		return
	}
	response <- bytes.Clone(line)
}

// answers is the id of the request to which a line is a response, empty if it is
// none.
func (a *Asker) answers(line []byte) string {
	root := gjson.ParseBytes(line)
	switch {
	case !clean.ValidJSON(line) || !root.IsObject():
		return ""
	case a.Dialect == "opal":
		if root.Get("method").Exists() {
			return ""
		}
		return root.Get("id").String()
	case root.Get("type").Str != piResponse:
		return ""
	}
	return root.Get("requestId").String()
}

// close ends what waits, because no response can come any more.
func (a *Asker) close(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		return
	}
	a.end = convert.ErrDisconnected
	if !errors.Is(why, io.EOF) {
		a.end = fmt.Errorf("%w: %w", convert.ErrDisconnected, why)
	}
	for _, response := range a.waiting {
		close(response)
	}
	a.waiting = nil
}

func (a *Asker) report(problem string) {
	if a.Report != nil {
		a.Report(problem)
	}
}
