package client

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

func TestPromptIsDrawnClean(t *testing.T) {
	p := newPrompt()
	const pasted = "say \u202eabc\u202c and  two"
	p.field.Insert(pasted)
	lines, row, col := p.view(40)
	require.Equal(t, []string{"> say abc and  two"}, lines)
	require.Equal(t, []int{0, len("> say abc and  two")}, []int{row, col})
	require.Equal(t, pasted, p.take(), "it is sent as it was pasted")
}

func TestPromptHistory(t *testing.T) {
	p := newPrompt()
	press := func(names ...string) string {
		for _, name := range names {
			p.key(tty.Key{Name: name}, 40)
		}
		return p.field.String()
	}
	require.Empty(t, press("up", "down"))
	for _, words := range []string{"one", "two\nlines", "two\nlines"} {
		p.field.Set(words)
		require.Equal(t, words, p.take())
	}
	p.field.Set("draft")
	require.Equal(t, "two\nlines", press("up"))
	require.Equal(t, "two\nlines", press("up"), "to its first line")
	require.Equal(t, "one", press("up", "up"))
	require.Equal(t, "draft", press("down", "down", "down"))
}

// A long name does not run into what it does, and the keys come last: a list of
// commands can be longer than the screen.
func TestHelp(t *testing.T) {
	text := helpText([]command{{name: "output-style", description: "List styles"}, {name: strings.Repeat("x", 30), description: "Long"}})
	lines := strings.Split(text, "\n")
	require.Equal(t, "/output-style           List styles", lines[0])
	require.Equal(t, "/"+strings.Repeat("x", 30)+"  Long", lines[1])
	require.Contains(t, lines[len(lines)-1], "while the agent works")
}

// What a person has typed before a question was asked, or can have been read, is
// not its answer; what a script holds is.
func TestRule3TypedBeforeTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typed := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		var early []string
		r := &answers{s: newSource(ctx, in, false), early: func(_, text string) { early = append(early, text) }}
		acptest.Must(io.WriteString(typed, "1\nyes\n"))
		synctest.Wait()
		time.Sleep(time.Second)
		r.ask(ctx)
		go func() {
			time.Sleep(100 * time.Millisecond) // nobody has read it by then
			_, _ = io.WriteString(typed, "no\n")
			time.Sleep(time.Second)
			_, _ = io.WriteString(typed, "three\nlines\npasted\n")
			time.Sleep(time.Second)
			_, _ = io.WriteString(typed, "2\n")
		}()
		require.Equal(t, "2\n", string(acptest.Must(io.ReadAll(io.LimitReader(r, 2)))))
		require.Equal(t, []string{"1", "yes", "no", "three", "lines", "pasted"}, early)
		stop()
		require.NoError(t, typed.Close())
		synctest.Wait()
	})
	var said strings.Builder
	p := &plain{in: newSource(t.Context(), strings.NewReader("1\n2\n"), true), o: &Options{Out: &said}}
	r := p.answers(true)
	r.ask(t.Context())
	require.Equal(t, "1\n", string(acptest.Must(io.ReadAll(io.LimitReader(r, 2)))), "a script is read line by line")
	r = (&plain{typed: true, o: p.o}).answers(false)
	r.secret = true
	r.early(typedBefore, "2")
	require.Equal(t, "1\n"+typedBefore+"(not shown)\n> ", said.String(), "what nobody else shows, but for a secret")
}
