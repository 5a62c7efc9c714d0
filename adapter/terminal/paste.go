package terminal

import (
	"bytes"
	"io"
	"strings"
	"unicode"
)

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"

	// maxPaste bounds what is kept of one paste.
	maxPaste = 4 << 20
)

// pasteReader makes pasted text harmless before its bytes are decoded as keys:
// an escape in it would hide the paste's end from the decoder, and with it
// every key that follows.
type pasteReader struct {
	r       io.Reader
	held    []byte // read, not yet handed out
	ready   []byte // handed out next
	pasting bool
	err     error
}

func (p *pasteReader) Read(b []byte) (int, error) {
	for len(p.ready) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		chunk := make([]byte, 4096)
		n, err := p.r.Read(chunk)
		p.err = err
		p.take(chunk[:n])
	}
	n := copy(b, p.ready)
	p.ready = p.ready[n:]
	return n, nil
}

func (p *pasteReader) take(chunk []byte) {
	if p.pasting && len(chunk) == 1 && chunk[0] == 0x03 {
		// A Ctrl+C on its own is the user's, who sees a paste that never ends.
		p.held, p.pasting = nil, false
		p.ready = append(p.ready, 0x03)
		return
	}
	p.held = append(p.held, chunk...)
	for {
		mark := pasteStart
		if p.pasting {
			mark = pasteEnd
		}
		i := bytes.Index(p.held, []byte(mark))
		if i < 0 {
			break
		}
		if p.pasting {
			p.ready = append(p.ready, pasteStart+harmless(p.held[:i])+pasteEnd...)
		} else {
			p.ready = append(p.ready, p.held[:i]...)
		}
		p.held = bytes.Clone(p.held[i+len(mark):])
		p.pasting = !p.pasting
	}
	if p.pasting {
		if over := len(p.held) - maxPaste; over > 0 {
			// The end may be half read: it stays.
			keep := p.held[len(p.held)-len(pasteEnd):]
			p.held = append(p.held[:maxPaste-len(pasteEnd)], keep...)
		}
		return
	}
	// A marker that is half read waits for its rest, unless it is the lone
	// escape of a key.
	n := partial(p.held, pasteStart)
	p.ready = append(p.ready, p.held[:len(p.held)-n]...)
	p.held = bytes.Clone(p.held[len(p.held)-n:])
}

// partial is the length of the longest end of b that begins mark. An escape
// and a bracket alone are keys too, so it takes three characters.
func partial(b []byte, mark string) int {
	for n := min(len(b), len(mark)-1); n > 2; n-- {
		if strings.HasPrefix(mark, string(b[len(b)-n:])) {
			return n
		}
	}
	return 0
}

// harmless is pasted text without control characters but line breaks and tabs.
func harmless(b []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), "\ufffd"))
}
