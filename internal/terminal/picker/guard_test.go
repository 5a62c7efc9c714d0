package picker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/seen"
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

// A person knows when they saw a question, and what their hands did before: whatever
// keys come when, none answers that was not pressed after it was drawn, by hands that
// had rested; and behind a question that was withdrawn, not before they said that they
// saw the new one.
func TestPersonAtTheKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		withdrawn := rapid.Bool().Draw(t, "withdrawn")
		p := New(convert.Call{Questions: []convert.Question{{Text: "Q", Options: []convert.Option{{Label: "A"}, {Label: "B"}}}}}, Options{})
		p.Guard(withdrawn)
		now := time.Unix(0, 0)
		var drawn, before time.Time // the last key, or the drawing
		rested, confirmed := false, !withdrawn
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 900).Draw(t, "after")) * time.Millisecond)
			if rapid.IntRange(0, 3).Draw(t, "event") == 0 {
				p.Drawn(now)
				if drawn.IsZero() {
					drawn, before = now, now
				}
				continue
			}
			name := rapid.SampledFrom([]string{"1", "2", "enter", "down", "x"}).Draw(t, "key")
			rested = rested || !drawn.IsZero() && now.Sub(before) >= seen.Hands
			before = now
			p.Update(tty.Key{Name: name, At: now})
			_, done := p.Done()
			if done && (!rested || !confirmed) {
				t.Fatalf("answered by %q at %s, drawn at %s", name, now, drawn)
			}
			if rested && name == "enter" {
				confirmed = true
			}
			if done {
				return
			}
			if s := p.sheets[0]; name == "enter" && s.isOther(s.entry(s.focus)) {
				return // which opens the line for words of one's own
			}
			if !withdrawn && rested && (name == "1" || name == "2" || name == "enter") {
				t.Fatalf("%q at %s was lost, drawn at %s", name, now, drawn)
			}
		}
	})
}

// What stands alone is not picked any more when the person types words of their own;
// taking the words back changes no pick.
func TestOwnWordsBesideWhatStandsAlone(t *testing.T) {
	s := newSheet(convert.Question{Text: "Q", MultiSelect: true, Options: []convert.Option{{Label: "A"}, {Label: "None", Effect: convert.EffectAlone}}}, false, nil)
	s.picked = []bool{false, true}
	s.keepText()
	require.Equal(t, []bool{false, true}, s.picked)
	s.answer.Set("something else")
	s.keepText()
	require.Equal(t, []bool{false, false}, s.picked)
	require.Equal(t, "something else", s.result().Text)
}
