package web

import (
	"fmt"
	"sync"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// frames are the events that were sent last, as they are written: each is encoded
// once for all who watch. The zero value works.
type frames struct {
	store string // name of the board's store, which ids begin with
	mu    sync.Mutex
	kept  map[frameOf]*frame
	old   []*frame // those that are made, the oldest first
	size  int      // of all
}

// keepFrames bounds what is kept: all who watch send the same events within a
// moment.
const keepFrames = 1 << 20

// frameOf says what an event tells. Records never change, so that two of the same
// records are the same.
type frameOf struct {
	of *hub.Record
	// to is the device that sees its own questions only; empty is any other. What waits in
	// a conversation is not the same for them.
	to string
}

// frame is the event that a record changed.
type frame struct {
	frameOf
	once sync.Once
	data []byte
}

// event tells of a record, see [frames.encode]. What then says counts for all to whom it is
// told within that moment: if something else waits by then, they are told of that next.
func (f *frames) event(of *hub.Record, to string, then func() *hub.Record) []byte {
	e := f.find(frameOf{of, to})
	e.once.Do(func() {
		e.data = f.encode(of, then())
		f.keep(e)
	})
	return e.data
}

// encode tells of a record with the state of its conversation: while another
// question waits there, the end of this one does not end the waiting. That one is
// then, or nil.
func (f *frames) encode(of, then *hub.Record) []byte {
	c := changeOf(of)
	if then != nil {
		c.state = stateOf(then)
	}
	return fmt.Appendf(nil, "id: %s-%d\nevent: state_change\ndata: %s\n\n", f.store, of.Revision, clean.JSON(c))
}

// find is the event that was made, or one to make.
func (f *frames) find(what frameOf) *frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.kept[what]; e != nil {
		return e
	}
	if f.kept == nil {
		f.kept = map[frameOf]*frame{}
	}
	e := &frame{frameOf: what}
	f.kept[what] = e
	return e
}

// keep bounds what is kept when there is one more. One that is long is not kept.
func (f *frames) keep(e *frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(e.data) > keepFrames/16 {
		delete(f.kept, e.frameOf)
		return
	}
	f.old, f.size = append(f.old, e), f.size+len(e.data)
	for ; f.size > keepFrames; f.old = f.old[1:] {
		delete(f.kept, f.old[0].frameOf)
		f.size -= len(f.old[0].data)
	}
}
