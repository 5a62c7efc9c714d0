package picker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// guarded opens a picker at time 0 and presses keys, each at its time in
// milliseconds. It returns the row that was picked, -1 while none is, -2 after
// a cancel.
func guarded(withdrawn bool, keys ...any) int {
	p := New(convert.Call{Questions: []convert.Question{{Text: "Q", Options: []convert.Option{{Label: "A"}, {Label: "B"}}}}}, Options{})
	start := time.Unix(0, 0)
	p.Guard(withdrawn)
	p.Drawn(start)
	for i := 0; i < len(keys); i += 2 {
		p.Update(tty.Key{Name: keys[i+1].(string), At: start.Add(time.Duration(keys[i].(int)) * time.Millisecond)})
	}
	o, done := p.Done()
	switch {
	case !done:
		return -1
	case o.Status == convert.Cancelled:
		return -2
	}
	return p.Index()
}

// Keys that follow each other closely were begun before the question was there.
func TestGuardTyping(t *testing.T) {
	require.Equal(t, -1, guarded(false, 100, "2"))
	require.Equal(t, -1, guarded(false, 100, "x", 300, "enter", 600, "2"))
	require.Equal(t, 1, guarded(false, 100, "x", 600, "2"))
	require.Equal(t, 0, guarded(false, 500, "1"))
	require.Equal(t, -1, guarded(false, 100, "esc"))
	require.Equal(t, -1, guarded(false, 100, "ctrl+c"))
}

// What comes before the question is drawn answers nothing, whenever it is drawn.
func TestRule3NotDrawn(t *testing.T) {
	p := New(convert.Call{Questions: []convert.Question{{Text: "Q", Options: []convert.Option{{Label: "A"}, {Label: "B"}}}}}, Options{})
	p.Guard(false)
	p.Update(tty.Key{Name: "enter", At: time.Unix(100, 0)})
	p.Drawn(time.Unix(200, 0))
	p.Update(tty.Key{Name: "enter", At: time.Unix(199, 0)}) // read before, handled now
	_, done := p.Done()
	require.False(t, done)
	p.Drawn(time.Unix(300, 0)) // once more
	p.Update(tty.Key{Name: "2", At: time.Unix(201, 0)})
	_, done = p.Done()
	require.True(t, done)
}

// After a withdrawn question only Enter gets to the next one, and answers
// nothing.
func TestGuardWithdrawn(t *testing.T) {
	require.Equal(t, -1, guarded(true, 5000, "2"))
	require.Equal(t, -1, guarded(true, 5000, "1", 6000, "2", 7000, "space", 8000, "y"))
	require.Equal(t, -1, guarded(true, 5000, "enter"))
	require.Equal(t, -1, guarded(true, 5000, "enter", 5200, "enter"), "pressed twice")
	require.Equal(t, -1, guarded(true, 100, "enter", 300, "enter", 500, "enter"))
	require.Equal(t, 1, guarded(true, 5000, "enter", 5600, "2"))
	require.Equal(t, 0, guarded(true, 100, "2", 900, "enter", 1500, "enter"))
	require.Equal(t, -1, guarded(true, 5000, "esc"), "meant for the other question")
	require.Equal(t, -2, guarded(true, 5000, "esc", 5600, "esc"))
	require.Equal(t, -2, guarded(true, 5000, "ctrl+c"))
	p := New(convert.Call{Questions: []convert.Question{{Text: "Q"}}}, Options{})
	p.Guard(true)
	p.Drawn(time.Unix(0, 0))
	p.Update(tty.Paste{Text: "yes", At: time.Unix(5, 0)})
	p.Update(tty.Key{Name: "y", Text: "y", At: time.Unix(6, 0)})
	require.True(t, p.sheets[0].answer.Empty())
}
