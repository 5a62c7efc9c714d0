package web

import (
	"fmt"
	"sync"

	"github.com/acp-bridge/acp-bridge/adapter/hub"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// frames are the events that were sent last, as they are written: each is encoded
// once for all who watch. The zero value works.
type frames struct {
	mu   sync.Mutex
	last [keepFrames]*frame
	next int // the place of the oldest
}

// keepFrames is how many events are kept: all who watch send the same ones within
// a moment.
const keepFrames = 32

// frame is the event that a record changed. Records never change, so that two of
// the same records are the same.
type frame struct {
	of, then *hub.Record
	once     sync.Once
	data     []byte
}

// event tells of a record with the state of its conversation: while another
// question waits there, the end of this one does not end the waiting. That one is
// then, or nil.
func (f *frames) event(of, then *hub.Record) []byte {
	e := f.find(of, then)
	e.once.Do(func() {
		c := changeOf(of)
		if then != nil {
			c.state = stateOf(then)
		}
		e.data = fmt.Appendf(nil, "id: %d\nevent: state_change\ndata: %s\n\n", of.Revision, clean.JSON(c))
	})
	return e.data
}

func (f *frames) find(of, then *hub.Record) *frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.last {
		if e != nil && e.of == of && e.then == then {
			return e
		}
	}
	e := &frame{of: of, then: then}
	if large(of) || then != nil && large(then) {
		return e
	}
	f.last[f.next] = e
	f.next = (f.next + 1) % keepFrames
	return e
}

// large reports whether an event is too long to be kept.
func large(r *hub.Record) bool {
	size := 0
	for _, q := range r.Call.Questions {
		size += len(q.Text)
		for _, o := range q.Options {
			size += len(o.Label) + len(o.Description) + len(o.Preview)
		}
	}
	return size > 4*maxChunk
}
