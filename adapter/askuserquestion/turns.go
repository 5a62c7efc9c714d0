package askuserquestion

import (
	"io"
	"sync"
)

// turns lets a reader of lines have one line for each prompt, so that what
// stands behind the last answer is left to whoever asks next. A line that says
// nothing is the end of the input, which cancels.
type turns struct {
	in  io.Reader
	out io.Writer

	mu     sync.Mutex
	change *sync.Cond
	asked  bool // something was written since the last line was read
	ended  bool
	said   bool // the line that is being read has something in it
}

func newTurns(in io.Reader, out io.Writer) *turns {
	t := &turns{in: in, out: out}
	t.change = sync.NewCond(&t.mu)
	return t
}

// Write shows a prompt, or a part of it.
func (t *turns) Write(p []byte) (int, error) {
	n, err := t.out.Write(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = true
	t.change.Broadcast()
	return n, err
}

// Read returns one byte, the first of a line not before there was a prompt.
func (t *turns) Read(p []byte) (int, error) {
	t.mu.Lock()
	for !t.asked && !t.ended {
		t.change.Wait()
	}
	ended := t.ended
	t.mu.Unlock()
	if ended || len(p) == 0 {
		return 0, io.EOF
	}
	n, err := t.in.Read(p[:1])
	if n == 1 && p[0] != '\n' {
		t.said = t.said || p[0] > ' '
		return n, err
	}
	if n == 1 {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.said {
			t.ended = true
			return 0, io.EOF
		}
		t.asked, t.said = false, false
	}
	return n, err
}

// end lets a Read that waits for a prompt return.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.change.Broadcast()
}
