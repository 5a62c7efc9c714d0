package seen

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Inlet is what is read from a peer. It knows since when that can have been written: a
// process that was stopped, or had no CPU, reads late what came early.
type Inlet struct {
	r io.Reader
	// wait returns when there is something to read, empty reports that there is nothing.
	// They are nil where that cannot be known: then what is read was written just now.
	wait  func()
	empty func() bool
	// read is odd from the moment at which something may be taken out of the stream until
	// more is wanted: whoever reads has judged it by then.
	read atomic.Uint64
	over atomic.Bool

	// keys says that each byte counts by itself, and not as a part of its line.
	keys bool

	mu      sync.Mutex
	quiet   time.Time // when there was nothing to read, and all before was judged
	line    time.Time // when the line was begun that was read last, if dated
	open    time.Time // when the one was begun that goesOn: its end was not read yet
	dated   bool
	goesOn  bool
	until   time.Time // how long that is wanted to be known
	looking bool
}

// NewInlet reads r. It is known of pipes, sockets and terminals, on Linux, when there was
// nothing in them.
func NewInlet(r io.Reader) *Inlet {
	in := &Inlet{r: r}
	in.wait, in.empty = readable(r)
	return in
}

// Judged says that all that was read before has been judged, or has its time. Read says
// so, too.
func (in *Inlet) Judged() {
	if in.read.Load()%2 == 1 {
		in.read.Add(1)
	}
}

// Keys is an inlet of single keys: none of them waits for the end of a line.
func (in *Inlet) Keys() *Inlet {
	in.keys = true
	return in
}

// Read reads.
func (in *Inlet) Read(p []byte) (n int, err error) {
	if in.empty != nil {
		in.Judged()
		in.wait()
		in.read.Add(1)
	}
	if n, err = in.r.Read(p); err != nil {
		in.over.Store(true)
	}
	in.dates(p[:n])
	return n, err
}

// dates notes when the line was begun that is being read: one that goes on is as old as
// its first byte.
func (in *Inlet) dates(b []byte) {
	if in.keys || len(b) == 0 {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	now, end := in.now(), bytes.LastIndexByte(b, '\n')
	if in.line = now; in.goesOn {
		in.line = in.open
	}
	if in.goesOn = end < len(b)-1; end >= 0 {
		in.open = now
	} else {
		in.open = in.line
	}
	in.dated = true
}

// Since is the earliest moment at which the line, or the key, that Read has returned last
// can have been begun.
func (in *Inlet) Since() time.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.dated {
		return in.line
	}
	return in.now()
}

// now is the earliest moment at which what is read now can have been written.
func (in *Inlet) now() time.Time {
	if in.empty == nil {
		return time.Now()
	}
	return in.quiet
}

// Watch makes sure that it is known whether what comes d from now, or later, was written
// by then.
func (in *Inlet) Watch(d time.Duration) {
	if in.empty == nil {
		return
	}
	in.mu.Lock()
	begins := !in.looking
	in.until, in.looking = time.Now().Add(d), true
	in.mu.Unlock()
	if begins {
		in.look()
	}
}

// look looks whether there is something to read, and again in a moment while that is
// wanted to be known.
func (in *Inlet) look() {
	in.mu.Lock()
	defer in.mu.Unlock()
	now, read := time.Now(), in.read.Load()
	if read%2 == 0 && in.empty() && in.read.Load() == read {
		in.quiet = now
	}
	if in.looking = in.quiet.Before(in.until) && !in.over.Load(); in.looking {
		time.AfterFunc(poll, in.look)
	}
}
