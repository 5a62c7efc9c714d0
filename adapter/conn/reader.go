package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"
)

// nullID answers what has no id that could be read.
const nullID = "null"

var byteOrderMark = []byte("\xef\xbb\xbf")

// read takes lines until the stream or the connection ends. It waits for
// handlers, and never for the peer to read.
func (c *Conn) read() {
	defer c.shut(errReaderGone) // does nothing, unless a handler ended the goroutine
	for {
		line, over, err := c.in.next()
		if c.ctx.Err() != nil {
			return
		}
		if over != nil {
			c.tooLong(over)
		} else {
			c.line(line, err != nil)
		}
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
func (c *Conn) line(line []byte, last bool) {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, byteOrderMark))
	if len(line) == 0 {
		return
	}
	if c.trace != nil {
		c.trace(In, line)
	}
	// Not gjson.Valid: that recurses, and a line of brackets overflows its stack.
	if !json.Valid(line) {
		c.malformed(line, last)
		return
	}
	text := string(line)
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	object := gjson.Parse(text)
	if !object.IsObject() {
		c.refuse(nullID, "a message must be a JSON object, batches are not supported", line)
		return
	}
	c.dispatch(parseMessage(object), line)
}

func (c *Conn) dispatch(m message, line []byte) {
	hasMethod := m.method.Exists() && m.method.Type != gjson.Null
	switch {
	case hasMethod && m.method.Type != gjson.String:
		id := nullID
		if answerable(m.id) {
			id = m.id.Raw
		}
		c.refuse(id, "method must be a string", line)
	case hasMethod && !m.id.Exists():
		c.handleNotification(m)
	case hasMethod && !answerable(m.id):
		c.refuse(nullID, "id must be a string or a number", line)
	case hasMethod:
		c.handleRequest(m)
	case m.id.Exists():
		c.handleResponse(m)
	default:
		c.unusable("message with neither id nor method ignored", line)
	}
}

// malformed answers a line that is not JSON. If it looks like the answer to a
// call of ours there will be no other, so that call fails.
func (c *Conn) malformed(line []byte, last bool) {
	c.unusable("malformed line", line)
	c.reply(nullID, acp.NewParseError(nil))
	if last { // cut off: the call ends with the connection
		return
	}
	var s skim
	s.feed(line)
	if id, ok := s.responseTo(); ok {
		c.failCall(id, "the answer is not valid JSON")
	}
}

func (c *Conn) tooLong(s *skim) {
	c.log.Warn("line over the limit skipped", "bytes", s.size, "limit", c.in.max, "request", s.method != "")
	reason := fmt.Sprintf("a line of %d bytes is over the limit of %d", s.size, c.in.max)
	if id, ok := s.responseTo(); ok {
		c.failCall(id, reason)
		return
	}
	if s.response && s.method == "" {
		return
	}
	id := nullID
	if raw := s.requestID(); raw != "" {
		id = raw
	}
	c.reply(id, invalidRequest(reason))
}

func (c *Conn) failCall(id uint64, reason string) {
	if p := c.take(id); p != nil {
		p.done <- reply{err: fmt.Errorf("%s: %w: %s", p.method, ErrProtocol, reason)}
	}
}

func (c *Conn) refuse(id, reason string, line []byte) {
	c.unusable(reason, line)
	c.reply(id, invalidRequest(reason))
}

// reply sends an error from the reader. One with an id is owed; if not even
// that fits, the peer floods us and reads nothing. Others are a courtesy.
func (c *Conn) reply(id string, re *acp.RequestError) {
	line := errorLine(id, re)
	if id == nullID {
		c.out.offer(line)
	} else if !c.out.force(line) {
		c.shut(errNotReading)
	}
}

// unusable logs a line; its content may be private and only shows when debugging.
func (c *Conn) unusable(what string, line []byte) {
	c.log.Warn(what, "bytes", len(line))
	if c.log.Enabled(context.Background(), slog.LevelDebug) {
		c.log.Debug(what, "line", clip(string(line)))
	}
}

func invalidRequest(reason string) *acp.RequestError {
	return &acp.RequestError{Code: codeInvalidRequest, Message: "Invalid request: " + reason}
}
