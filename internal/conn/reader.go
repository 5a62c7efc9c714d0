package conn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// nullID answers what has no id that could be read.
const nullID = "null"

var byteOrderMark = []byte("\xef\xbb\xbf")

// read takes lines until the stream or the connection ends. It waits for
// handlers, and never for the peer to read.
func (c *Conn) read() {
	defer c.shut(errReaderGone) // does nothing, unless a handler ended the goroutine
	for {
		text, err := c.in.Next()
		if c.ctx.Err() != nil {
			return
		}
		if over, ok := errors.AsType[*ndjson.TooLong](err); ok {
			c.tooLong(over)
			continue
		}
		c.line(text, err != nil)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, os.ErrClosed) {
				c.log.Warn("reading from the peer failed", "err", err)
			}
			c.shut(err)
			return
		}
	}
}

// line handles one line. last says that the stream ended within it.
func (c *Conn) line(text []byte, last bool) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, byteOrderMark))
	if len(text) == 0 {
		return
	}
	if c.trace != nil {
		c.trace(ndjson.In, text)
	}
	// Not gjson.Valid: that recurses, and a line of brackets overflows its stack.
	if !json.Valid(text) {
		c.malformed(text, last)
		return
	}
	kept := string(text)
	if !utf8.ValidString(kept) {
		kept = strings.ToValidUTF8(kept, "\uFFFD")
	}
	object := gjson.Parse(kept)
	if !object.IsObject() {
		c.refuse(nullID, "a message must be a JSON object, batches are not supported", text)
		return
	}
	c.dispatch(parseMessage(object), text)
}

func (c *Conn) dispatch(m message, text []byte) {
	hasMethod := given(m.method)
	switch {
	case m.wrong != "":
		c.ambiguous(m, text)
	case hasMethod && m.method.Type != gjson.String:
		id := nullID
		if answerable(m.id) {
			id = m.id.Raw
		}
		c.refuse(id, "method must be a string", text)
	case hasMethod && !m.id.Exists():
		c.handleNotification(m)
	case hasMethod && !answerable(m.id):
		c.refuse(nullID, "id must be a string or a number", text)
	case hasMethod:
		c.handleRequest(m)
	case m.id.Exists():
		c.handleResponse(m)
	default:
		c.unusable("message with neither id nor method ignored", text)
	}
}

// ambiguous refuses a message that has two meanings. Whoever waits because of it
// is told, and no call gets an answer out of it.
func (c *Conn) ambiguous(m message, text []byte) {
	switch {
	case !given(m.method):
		c.unusable(m.wrong, text)
		for _, id := range []gjson.Result{m.id, m.other} {
			if n, ok := callID(id); ok {
				c.failCall(n, "the answer has "+m.wrong)
			}
		}
	case m.id.Exists() && answerable(m.id) && !m.other.Exists():
		c.refuse(m.id.Raw, m.wrong, text)
	default:
		c.refuse(nullID, m.wrong, text)
	}
}

// malformed answers a line that is not JSON. If it looks like the answer to a
// call of ours there will be no other, so that call fails.
func (c *Conn) malformed(text []byte, last bool) {
	c.unusable("malformed line", text)
	c.reply(nullID, acp.NewParseError(nil))
	if last { // cut off: the call ends with the connection
		return
	}
	if id, ok := responseTo(ndjson.Skim(text, skimmed...)); ok {
		c.failCall(id, "the answer is not valid JSON")
	}
}

func (c *Conn) tooLong(over *ndjson.TooLong) {
	m := over.Members
	c.log.Warn("line over the limit skipped", "bytes", over.Size, "limit", over.Limit, "request", m.Has("method"))
	if id, ok := responseTo(m); ok {
		c.failCall(id, over.Error())
		return
	}
	if isResponse(m) {
		return
	}
	id := nullID
	if raw := m["id"]; m.Has("method") && gjson.Valid(raw) && answerable(gjson.Parse(raw)) {
		id = raw
	}
	c.reply(id, invalidRequest(over.Error()))
}

// skimmed are the members that tell what a line is that cannot be read.
var skimmed = []string{"id", "method", "result", "error"}

func isResponse(m ndjson.Members) bool {
	return !m.Has("method") && (m.Has("result") || m.Has("error"))
}

// responseTo is the call that the message answers, if it is an answer.
func responseTo(m ndjson.Members) (id uint64, ok bool) {
	if !isResponse(m) || !gjson.Valid(m["id"]) {
		return 0, false
	}
	return callID(gjson.Parse(m["id"]))
}

func (c *Conn) failCall(id uint64, reason string) {
	switch p := c.take(id); {
	case p == nil:
	case p.heard != nil: // it was an answer
		p.heard(false)
	default:
		p.done <- reply{err: fmt.Errorf("%s: %w: %s", p.method, ErrProtocol, reason)}
	}
}

func (c *Conn) refuse(id, reason string, text []byte) {
	c.unusable(reason, text)
	c.reply(id, invalidRequest(reason))
}

// reply sends an error from the reader. One with an id is owed; if not even
// that fits, the peer floods us and reads nothing. Others are a courtesy.
func (c *Conn) reply(id string, re *acp.RequestError) {
	line := errorLine(id, re)
	if id == nullID {
		_, _ = c.out.offer(line, true)
	} else if !c.out.force(line) {
		c.shut(errNotReading)
	}
}

// unusable logs that a line came, and never what is in it: the secrets in a line
// that cannot be read cannot be told from the rest.
func (c *Conn) unusable(what string, text []byte) {
	c.log.Warn(what, "bytes", len(text), "method", methodOf(text))
}

// methodOf is the method of a line that cannot be read, if it says one that is no
// more than a name.
func methodOf(text []byte) string {
	name := strings.Trim(ndjson.Skim(text, "method")["method"], `"`)
	if len(name) > 40 || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune("/_$", r) }) {
		return ""
	}
	return name
}

func invalidRequest(reason string) *acp.RequestError {
	return &acp.RequestError{Code: ndjson.InvalidRequest, Message: "Invalid request: " + reason}
}
