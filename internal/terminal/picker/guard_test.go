package picker

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
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
		at := start.Add(time.Duration(keys[i].(int)) * time.Millisecond)
		p.Update(tty.Key{Name: keys[i+1].(string), Since: at})
		p.Drawn(at)
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
	p.Update(tty.Key{Name: "enter", Since: time.Unix(100, 0)})
	p.Drawn(time.Unix(200, 0))
	p.Update(tty.Key{Name: "enter", Since: time.Unix(199, 0)}) // read before, handled now
	_, done := p.Done()
	require.False(t, done)
	p.Drawn(time.Unix(300, 0)) // once more
	p.Update(tty.Key{Name: "2", Since: time.Unix(201, 0)})
	_, done = p.Done()
	require.True(t, done)
}

// Where question and options cannot be seen together, no key answers, until the window is
// taller and the hands have rested.
func TestUnseenInASmallWindow(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	for _, height := range []int{1, 2} {
		p := New(convert.Call{Questions: []convert.Question{{Text: "Q", Options: []convert.Option{{Label: "A"}, {Label: "B"}}}}}, Options{Height: height})
		p.Guard(false)
		p.Drawn(at(0))
		lines, _, _ := p.View()
		require.Equal(t, []string{tooSmall}, lines)
		for i, key := range []string{"2", "enter", "esc", "space", "n"} {
			p.Update(tty.Key{Name: key, Since: at(1000 * (i + 1))})
			p.Drawn(at(1000 * (i + 1)))
		}
		p.Update(tty.Paste{Text: "x", Since: at(7000)})
		p.Update(tty.Size{Width: 80, Height: 24})
		p.Drawn(at(8000))
		p.Update(tty.Key{Name: "1", Since: at(8010)})
		_, done := p.Done()
		require.False(t, done)
		p.Update(tty.Key{Name: "2", Since: at(9000)})
		require.Equal(t, 1, p.Index())
	}
	p := New(convert.Call{Questions: []convert.Question{{Text: "Q"}}}, Options{})
	p.Update(tty.Size{Width: 80, Height: 2})
	p.Update(tty.Key{Name: "ctrl+c"})
	_, done := p.Done()
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
	p.Update(tty.Paste{Text: "yes", Since: time.Unix(5, 0)})
	p.Update(tty.Key{Name: "y", Text: "y", Since: time.Unix(6, 0)})
	require.True(t, p.sheets[0].answer.Empty())
}

// play presses keys at a picker of two questions and the review, all drawn at once, and
// says what was answered: the options, "…" while it is open, "-" after a cancel. A key
// is the milliseconds after the one before and its name; a * makes it one of a burst.
func play(t *testing.T, p *Picker, keys ...string) string {
	t.Helper()
	p.Guard(false)
	now := time.Unix(0, 0)
	p.Drawn(now)
	for _, k := range keys {
		after, name, _ := strings.Cut(k, " ")
		now = now.Add(time.Duration(acptest.Must(strconv.Atoi(after))) * time.Millisecond)
		name, burst := strings.CutPrefix(name, "*")
		ev := tty.Key{Name: name, Since: now, Burst: burst}
		if len(name) == 1 {
			ev.Text = name
		}
		p.Update(ev)
		p.Drawn(now)
	}
	o, done := p.Done()
	switch {
	case !done:
		return "…"
	case o.Status == convert.Cancelled:
		return "-"
	}
	var said []string
	for _, a := range o.Answers {
		said = append(said, strings.Join(a.Items(), "+"))
	}
	return strings.Join(said, ",")
}

// Each question, the review and each overlay are drawn before a key counts there, and
// the hands have rested.
func TestRule3EveryShowing(t *testing.T) {
	t.Parallel()
	ab := []convert.Option{{Label: "A"}, {Label: "B"}}
	two := convert.Call{Questions: []convert.Question{{Text: "1", Options: ab}, {Text: "2", Options: ab}}}
	words := convert.Call{Questions: []convert.Question{{Text: "Why?"}}}
	for name, tc := range map[string]struct {
		call convert.Call
		keys []string
		want string
	}{
		"a person":                   {two, []string{"500 1", "500 2", "500 enter"}, "A,B"},
		"three Enters, held":         {two, []string{"500 enter", "30 enter", "30 enter", "30 enter"}, "…"},
		"three Enters in one piece":  {two, []string{"500 *enter", "0 *enter", "0 *enter"}, "…"},
		"too soon at the review":     {two, []string{"500 1", "500 2", "100 enter"}, "…"},
		"hands that never rest":      {two, []string{"500 1", "300 2", "300 2", "300 2"}, "…"},
		"moving needs no rest":       {two, []string{"500 1", "100 tab", "100 left", "100 down", "300 enter", "500 enter"}, "A,B"},
		"but what follows does":      {two, []string{"500 1", "100 down", "100 enter"}, "…"},
		"escape at what came":        {two, []string{"500 1", "50 esc", "500 esc", "50 y"}, "…"},
		"discard":                    {two, []string{"500 1", "500 esc", "500 y"}, "-"},
		"out of the pager":           {two, []string{"500 v", "500 esc", "50 esc"}, "…"},
		"pasted into a list":         {two, []string{"500 *1", "0 *.", "0 *enter", "0 *2", "0 *enter"}, "…"},
		"a pasted cancel":            {two, []string{"500 *x", "0 *esc", "0 *ctrl+c"}, "…"},
		"pasted lines where one may": {words, []string{"500 *a", "0 *enter", "0 *b", "0 *enter", "500 enter"}, "a\nb"},
		"pasted before it was there": {words, []string{"50 *a", "0 *enter", "500 b", "100 enter"}, "b"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, play(t, New(tc.call, Options{}), tc.keys...)) })
	}
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
			p.Update(tty.Key{Name: name, Since: now})
			if !drawn.IsZero() {
				p.Drawn(now)
			}
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
	s := newSheet(convert.Question{Text: "Q", MultiSelect: true, Options: []convert.Option{{Label: "A"}, {Label: "None", Effect: convert.EffectAlone}}}, false, false, cells.Style{})
	s.picked = []bool{false, true}
	s.keepText()
	require.Equal(t, []bool{false, true}, s.picked)
	s.answer.Set("something else")
	s.keepText()
	require.Equal(t, []bool{false, false}, s.picked)
	require.Equal(t, "something else", s.result().Text)
}
