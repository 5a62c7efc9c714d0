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
	old   []*frame // all of them, the oldest first
	size  int      // about, of all
}

// keepFrames bounds what is kept: all who watch send the same events within a
// moment.
const keepFrames = 1 << 20

// frameOf says what an event tells. Records never change, so that two of the same
// records are the same.
type frameOf struct{ of, then *hub.Record }

// frame is the event that a record changed.
type frame struct {
	frameOf
	size int
	once sync.Once
	data []byte
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
		e.data = fmt.Appendf(nil, "id: %s-%d\nevent: state_change\ndata: %s\n\n", f.store, of.Revision, clean.JSON(c))
	})
	return e.data
}

func (f *frames) find(of, then *hub.Record) *frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.kept[frameOf{of, then}]; e != nil {
		return e
	}
	e := &frame{frameOf: frameOf{of, then}, size: sizeOf(of) + sizeOf(then)}
	if e.size > keepFrames/16 {
		return e // one that is long is not kept
	}
	if f.kept == nil {
		f.kept = map[frameOf]*frame{}
	}
	f.kept[e.frameOf] = e
	f.old, f.size = append(f.old, e), f.size+e.size
	for ; f.size > keepFrames; f.old = f.old[1:] {
		delete(f.kept, f.old[0].frameOf)
		f.size -= f.old[0].size
	}
	return e
}

// sizeOf is how long the event of a record is, about.
func sizeOf(r *hub.Record) int {
	if r == nil {
		return 0
	}
	size := 512
	for _, q := range r.Call.Questions {
		size += len(q.Text)
		for _, o := range q.Options {
			size += len(o.Label) + len(o.Description) + len(o.Preview)
		}
	}
	return size
}
