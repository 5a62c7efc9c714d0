package micro_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/terminal/picker"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

func numbered(n int) []convert.Option {
	var out []convert.Option
	for i := range n {
		out = append(out, convert.Option{Label: fmt.Sprintf("Option %d", i+1), Description: strings.Repeat("words ", i%20)})
	}
	return out
}

// A key press in a list of 1,000 options is drawn in less than a millisecond: the best
// of as many as it takes, because the machine may have other things to do.
func TestRedrawIsQuick(t *testing.T) {
	q := convert.Question{Text: "Which?", Header: "Many", MultiSelect: true, Options: numbered(1000)}
	m := picker.New(convert.Call{Questions: []convert.Question{q}}, picker.Options{Width: 200, Height: 60})
	best := time.Hour
	for end := time.Now().Add(time.Minute); best >= leaktest.Slower*time.Millisecond && time.Now().Before(end); {
		began := time.Now()
		for _, name := range []string{"down", "space", "end", "home", "up"} {
			m.Update(tty.Key{Name: name})
			_, _, _ = m.View()
		}
		best = min(best, time.Since(began)/5)
	}
	require.Less(t, best, leaktest.Slower*time.Millisecond)
}

// BenchmarkRedraw is one key press in a list of 1,000 options, drawn.
func BenchmarkRedraw(b *testing.B) {
	thousand := convert.Question{Text: "Which?", Header: "Many", Options: numbered(1000)}
	several := thousand
	several.MultiSelect = true
	press := func(b *testing.B, q convert.Question, w, h int, keys ...tty.Key) {
		m := picker.New(convert.Call{Questions: []convert.Question{q}}, picker.Options{Width: w, Height: h})
		if keys[0].Name == "/" {
			m.Update(keys[0])
			keys = keys[1:]
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			m.Update(keys[i%len(keys)])
			_, _, _ = m.View()
		}
	}
	down, back := tty.Key{Name: "down"}, tty.Key{Name: "backspace"}
	for _, size := range []struct{ w, h int }{{80, 24}, {40, 15}, {200, 60}} {
		b.Run(fmt.Sprintf("%dx%d", size.w, size.h), func(b *testing.B) { press(b, thousand, size.w, size.h, down) })
	}
	b.Run("ticking", func(b *testing.B) { press(b, several, 80, 24, tty.Key{Name: "space", Text: " "}, down) })
	b.Run("end", func(b *testing.B) { press(b, thousand, 80, 24, tty.Key{Name: "end"}, tty.Key{Name: "home"}) })
	b.Run("filter", func(b *testing.B) {
		press(b, thousand, 80, 24, tty.Key{Name: "/", Text: "/"}, tty.Key{Name: "1", Text: "1"}, back)
	})
	b.Run("long text", func(b *testing.B) {
		m := picker.New(convert.Call{Questions: []convert.Question{{Text: "What?"}}}, picker.Options{})
		m.Update(tty.Paste{Text: strings.Repeat("some words of text ", 1000)})
		keys := []tty.Key{tty.Key{Name: "x", Text: "x"}, back}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			m.Update(keys[i%2])
			_, _, _ = m.View()
		}
	})
	b.Run("long permission", func(b *testing.B) {
		q := convert.Question{Text: strings.Repeat("a line of a command that goes on for a while and wraps\n", 10_000), Options: numbered(2)}
		press(b, q, 80, 24, down)
	})
}
