//go:build unix

package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/terminal/picker"
	"github.com/acp-bridge/acp-bridge/internal/terminal/ttytest"
)

var database = convert.Question{Header: "Database", Text: "Which database?", Options: []convert.Option{
	{Label: "PostgreSQL", Description: "Battle-tested"}, {Label: "SQLite"}}}

func one(q convert.Question) job { return job{Call: convert.Call{Questions: []convert.Question{q}}} }

// at is the first screen of a job at a size, after some keys.
func at(t *testing.T, j job, w, h int, keys string) string {
	t.Helper()
	m := picker.New(j.Call, picker.Options{Width: w, Height: h, Markdown: true})
	ttytest.Press(t, m, keys)
	return ttytest.Drawn(m)
}

// TestResize redraws at every new size and leaves nothing of the old one.
func TestResize(t *testing.T) {
	j := one(database)
	c := start(t, j, 80, 24)
	c.waitFor(at(t, j, 80, 24, ""))
	c.Sends(ttytest.KeyBytes(t, "down"))
	c.waitFor(at(t, j, 80, 24, "down")) // what is drawn while the size changes lands anywhere
	for _, size := range []struct{ w, h int }{{40, 15}, {80, 24}, {30, 10}, {120, 40}, {40, 15}} {
		c.Resizes(size.w, size.h)
		c.waitFor(at(t, j, size.w, size.h, "down"))
	}
	c.Sends("\r")
	require.Equal(t, []string{"SQLite"}, c.end().Outcome.Answers[0].Selected)
}

// TestResizeLeavesNoCopy looks at what has scrolled away, too: a terminal that
// wraps its lines anew and one that does not, with and without a cursor.
func TestResizeLeavesNoCopy(t *testing.T) {
	for name, tc := range map[string]struct{ env, keys string }{
		"fixed":           {"XTERM_VERSION=1", "down"},
		"reflows":         {"XTERM_VERSION=", "down"},
		"fixed, typing":   {"XTERM_VERSION=1", "0 x y z"},
		"reflows, typing": {"XTERM_VERSION=", "0 x y z"},
	} {
		for _, sizes := range [][]struct{ w, h int }{
			{{40, 24}}, {{40, 24}, {80, 24}}, {{80, 12}}, {{80, 12}, {80, 24}}, {{100, 30}, {50, 20}, {120, 40}}, {{60, 20}, {50, 15}, {80, 24}},
		} {
			t.Run(fmt.Sprint(name, sizes), func(t *testing.T) {
				t.Parallel()
				j := one(database)
				c := start(t, j, 80, 24, tc.env)
				c.Sees("SQLite")
				c.Sends(ttytest.KeyBytes(t, tc.keys))
				c.waitFor(at(t, j, 80, 24, tc.keys))
				for _, size := range sizes {
					c.Resizes(size.w, size.h)
					c.wait("the new size", func(s string) bool { return strings.HasSuffix(s, at(t, j, size.w, size.h, tc.keys)) })
				}
				// It may be drawn once more; a copy that has scrolled away stays.
				c.Wait("the question, once", func(s ttytest.Screen) bool {
					all := s.History + s.Text
					return strings.Count(all, "SQLite") == 1 && strings.Count(all, "Which") == 1
				})
				c.Sends("\x03")
				c.end()
			})
		}
	}
}

// TestResizeStorm resizes without waiting; what counts is the last size.
func TestResizeStorm(t *testing.T) {
	j := one(database)
	c := start(t, j, 100, 30)
	c.waitFor(at(t, j, 100, 30, ""))
	for w := 100; w >= 20; w-- {
		c.Resizes(w, max(3, w/4))
	}
	c.Resizes(1, 1)
	c.Resizes(80, 24)
	want := at(t, j, 80, 24, "")
	c.wait("the last size", func(s string) bool { return strings.HasSuffix(s, want) })
	c.Sends("1")
	require.Equal(t, convert.Answered, c.end().Outcome.Status)
}

// TestHangUp closes the terminal under the picker and under the lines.
func TestHangUp(t *testing.T) {
	for _, plain := range []bool{false, true} {
		j := one(database)
		j.Plain = plain
		c := start(t, j, 80, 24)
		c.Sees("SQLite")
		c.HangsUp()
		r := c.hungUp()
		require.Equal(t, convert.Disconnected, r.Outcome.Status)
		require.Empty(t, r.Outcome.Answers)
		require.Empty(t, r.Err)
	}
}

// TestSignals ends the picker and puts the terminal back.
func TestSignals(t *testing.T) {
	for sig, want := range map[syscall.Signal]convert.Status{
		syscall.SIGTERM: convert.Failed, // not the user's choice
		syscall.SIGINT:  convert.Cancelled,
		syscall.SIGHUP:  convert.Disconnected,
	} {
		for _, plain := range []bool{false, true} {
			j := one(database)
			j.Plain = plain
			c := start(t, j, 80, 24)
			c.Sees("SQLite")
			require.NoError(t, c.Cmd.Process.Signal(sig))
			require.Equal(t, want, c.end().Outcome.Status, "%v, plain %v", sig, plain)
		}
	}
}

// TestKeysLeft types on after the answer: nothing waits for those keys.
func TestKeysLeft(t *testing.T) {
	c := start(t, one(database), 80, 24)
	c.Sees("SQLite")
	before := time.Now()
	c.Sends("2" + strings.Repeat("x", 3000))
	require.Equal(t, []string{"SQLite"}, c.end().Outcome.Answers[0].Selected)
	require.Less(t, time.Since(before), ttytest.Patience/2)
}

// TestEscapeInPaste pastes what looks like the beginning of a key.
func TestEscapeInPaste(t *testing.T) {
	c := start(t, one(convert.Question{Text: "Name?", Header: "Name"}), 80, 24)
	c.Sees("Name?")
	c.Sends("\x1b[200~abc\x9b\xff\x1b[201\x1b\x1b[201~")
	c.Sees("> abc")
	c.Sends("d\r")
	text := c.end().Outcome.Answers[0].Text
	require.True(t, strings.HasPrefix(text, "abc") && strings.HasSuffix(text, "d"), text)
	require.NotContains(t, text, "\x1b")
}

func TestNoColor(t *testing.T) {
	colour := regexp.MustCompile(`\x1b\[[0-9;]*3[0-7]m`)
	for env, coloured := range map[string]bool{"NO_COLOR=": true, "NO_COLOR=1": false} {
		c := start(t, one(database), 80, 24, env)
		c.Sees("SQLite")
		c.Sends("\x03")
		c.end()
		require.Equal(t, coloured, colour.MatchString(c.Wrote()), env)
	}
}

// TestDumb asks in lines, without a single escape.
func TestDumb(t *testing.T) {
	c := start(t, one(database), 80, 24, "TERM=dumb")
	c.Sees("Type cancel to cancel.")
	c.Sends("sqlite\n")
	require.Equal(t, []string{"SQLite"}, c.hungUp().Outcome.Answers[0].Selected)
	require.NotContains(t, c.Wrote(), "\x1b")
	c = start(t, one(database), 80, 24, "TERM=dumb")
	c.Sees(">")
	c.Sends("\x04")
	require.Equal(t, convert.Cancelled, c.hungUp().Outcome.Status, "Ctrl+D")
}

// pair is a terminal in this process.
func pair(t *testing.T) (ptmx io.ReadWriteCloser, ask terminal.Resolver) {
	t.Helper()
	master, tty := acptest.Must2(pty.Open())
	require.NoError(t, pty.Setsize(master, &pty.Winsize{Cols: 80, Rows: 24}))
	p := ttytest.Pollable(t, master)
	t.Cleanup(func() {
		_ = p.Close()
		_ = tty.Close()
	})
	return p, terminal.Resolver{In: tty, Out: tty, Environ: func(k string) string { return map[string]string{"TERM": "xterm"}[k] }}
}

// until reads from the terminal until one of the texts has come.
func until(t *testing.T, r io.Reader, texts ...string) (which int) {
	t.Helper()
	var all []byte
	buf := make([]byte, 4096)
	for {
		for i, text := range texts {
			if strings.Contains(string(all), text) {
				return i
			}
		}
		n, err := r.Read(buf)
		require.NoError(t, err, "waiting for %q in %q", texts, all)
		all = append(all, buf[:n]...)
	}
}

func TestContext(t *testing.T) {
	for _, plain := range []bool{false, true} {
		ptmx, ask := pair(t)
		ask.Plain = plain
		cause := errors.New("the turn is over")
		ctx, cancel := context.WithCancelCause(context.Background())
		done := make(chan error, 1)
		var outcome convert.Outcome
		go func() {
			var err error
			outcome, err = ask.Ask(ctx, one(database).Call)
			done <- err
		}()
		until(t, ptmx, "SQLite")
		cancel(cause)
		require.ErrorIs(t, <-done, cause)
		require.Equal(t, convert.Outcome{Status: convert.Withdrawn, Reason: "the turn is over"}, outcome)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	outcome, err := terminal.Resolver{}.Ask(ctx, one(database).Call)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, convert.Withdrawn, outcome.Status)
}

// answering asks in the background.
func answering(ctx context.Context, ask terminal.Resolver, call convert.Call) <-chan convert.Outcome {
	done := make(chan convert.Outcome, 1)
	go func() {
		outcome, _ := ask.Ask(ctx, call)
		done <- outcome
	}()
	return done
}

// insists types what answers a question until it has an outcome, with time enough
// between that it can be meant for it.
func insists(t *testing.T, w io.Writer, keys string, done <-chan convert.Outcome) convert.Outcome {
	t.Helper()
	for end := time.Now().Add(ttytest.Patience); time.Now().Before(end); {
		select {
		case o := <-done:
			return o
		case <-time.After(seen.Hands + 100*time.Millisecond):
			acptest.Must(io.WriteString(w, keys))
		}
	}
	require.Fail(t, "no outcome")
	return convert.Outcome{}
}

// What was typed before the question was there, or when nobody can have read it
// yet, does not answer it: with keys and with lines, the beginning of a line
// included. If the machine is slower than hands that rest, this is tried again.
func TestRule3TypedBefore(t *testing.T) {
	t.Parallel()
	for plain, answer := range map[bool]string{false: "2", true: "2\n"} {
		for kept := false; !kept; {
			ptmx, ask := pair(t)
			ask.Plain = plain
			acptest.Must(io.WriteString(ptmx, "1\r\n1\r\n1")) // the last one without its end
			done := answering(t.Context(), ask, one(database).Call)
			until(t, ptmx, "SQLite")
			began := time.Now()
			acptest.Must(io.WriteString(ptmx, "1\r"))
			go func() { _, _ = io.Copy(io.Discard, ptmx) }()
			if kept = insists(t, ptmx, answer, done).Answers[0].Selected[0] == "SQLite"; !kept {
				require.GreaterOrEqual(t, time.Since(began), seen.Hands, "plain %v, by what was typed too early", plain)
			}
		}
	}
}

// What ends a line that was begun before the question was there is no answer to it, however
// long it takes: the hands have not rested.
func TestRule3BegunBefore(t *testing.T) {
	t.Parallel()
	ptmx, ask := pair(t)
	ask.Plain = true
	acptest.Must(io.WriteString(ptmx, "git commit -m 'Remove"))
	done := answering(t.Context(), ask, one(database).Call)
	until(t, ptmx, "SQLite")
	time.Sleep(3 * seen.Hands)
	acptest.Must(io.WriteString(ptmx, " what is old'\r"))
	until(t, ptmx, "Typed before", "own words")
	go func() { _, _ = io.Copy(io.Discard, ptmx) }()
	require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}}, insists(t, ptmx, "2\n", done).Answers)
}

// A process that stands still for a second behind its question takes no key and no line
// that was typed in that time, though it reads it late.
func TestRule3StoodStill(t *testing.T) {
	t.Parallel()
	for plain, end := range map[bool]string{false: "", true: "\r"} {
		t.Run(fmt.Sprint("plain ", plain), func(t *testing.T) {
			t.Parallel()
			j := one(database)
			j.Plain, j.Rests = plain, true
			c := start(t, j, 80, 24)
			c.Sees("SQLite")
			require.NoError(t, c.Cmd.Process.Signal(syscall.SIGSTOP))
			c.Sends("1" + end)
			time.Sleep(time.Second)
			require.NoError(t, c.Cmd.Process.Signal(syscall.SIGCONT))
			c.Sees("Typed before")
			time.Sleep(3 * seen.Hands)
			c.Sends("2" + end)
			require.Equal(t, []string{"SQLite"}, c.end().Outcome.Answers[0].Selected)
		})
	}
}

// What comes in one piece is pasted, or waited for us: it answers neither the question
// that is there nor the next, with brackets around it, with brackets that end too early,
// and without any. What the person then types does.
func TestRule3Pasted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		plain         bool
		paste, answer string
	}{
		{false, "\r\r\r", "2"},
		{false, "1. this\r2. that\r", "2"},
		{false, "\x1b[200~1\r\x1b[201~1\r\x1b[201~", "2"},
		{true, "1\n1\n1\n", "2\n"},
		{true, "1\nonly if the tests are green", "2\n"},
		{true, "SQLite " + strings.Repeat("x", 5000) + "\n", "2\n"},
	} {
		t.Run(fmt.Sprintf("%.40q", tc.paste), func(t *testing.T) {
			t.Parallel()
			ptmx, ask := pair(t)
			ask.Plain = tc.plain
			call := one(database).Call
			call.Questions = append(call.Questions, convert.Question{Text: "Second?", Options: ttytest.PickerOptions("A", "B")})
			done := answering(t.Context(), ask, call)
			until(t, ptmx, "SQLite")
			time.Sleep(3 * seen.Hands)
			acptest.Must(io.WriteString(ptmx, tc.paste))
			until(t, ptmx, "Pasted text was ignored", "Several lines came at once", "longer than the terminal takes")
			time.Sleep(3 * seen.Hands)
			acptest.Must(io.WriteString(ptmx, tc.answer))
			until(t, ptmx, "Second?")
			go func() { _, _ = io.Copy(io.Discard, ptmx) }()
			outcome := insists(t, ptmx, strings.ReplaceAll(tc.answer, "2", map[bool]string{false: "\r", true: "1"}[tc.plain]), done)
			require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}, {Selected: []string{"A"}}}, outcome.Answers)
		})
	}
}

// TestOneAtATime asks the second question when the first one has its answer. A
// key pressed twice does not answer both. If the machine is slower than hands
// that rest, this is tried again.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	for kept := false; !kept; {
		ptmx, ask := pair(t)
		first := answering(t.Context(), ask, one(database).Call)
		until(t, ptmx, "SQLite")
		second := answering(t.Context(), ask, one(convert.Question{Text: "Second?", Options: ttytest.PickerOptions("A", "B")}).Call)
		require.Equal(t, []string{"PostgreSQL"}, insists(t, ptmx, "\r", first).Answers[0].Selected)
		began := time.Now()
		until(t, ptmx, "Second?")
		acptest.Must(io.WriteString(ptmx, "\r"))
		kept = until(t, ptmx, "Typed before this question could be read", "✓ Second?") == 0
		require.NoError(t, ptmx.Close())
		outcome := <-second
		if kept {
			require.Equal(t, convert.Disconnected, outcome.Status)
		} else {
			require.GreaterOrEqual(t, time.Since(began), seen.Hands, "%v, by a key pressed twice", outcome)
		}
	}
}

// TestWithdrawn takes no key for the second question that may have been meant
// for the first.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		ptmx, ask := pair(t)
		ask.Plain = plain
		ctx, withdraw := context.WithCancel(t.Context())
		first := answering(ctx, ask, one(database).Call)
		until(t, ptmx, "SQLite")
		second := answering(t.Context(), ask, one(convert.Question{Text: "Delete it?", Options: ttytest.PickerOptions("Yes", "No")}).Call)
		withdraw()
		require.Equal(t, convert.Withdrawn, (<-first).Status)
		until(t, ptmx, "is gone")
		if plain {
			time.Sleep(3 * seen.Hands)
		}
		acptest.Must(io.WriteString(ptmx, "1\n"))
		if plain {
			until(t, ptmx, "Delete it?")
		}
		require.NoError(t, ptmx.Close())
		require.Equal(t, convert.Disconnected, (<-second).Status, "plain %v", plain)
	}
}

func TestAskNothing(t *testing.T) {
	outcome, err := terminal.Resolver{}.Ask(t.Context(), convert.Call{})
	require.ErrorIs(t, err, convert.ErrNoQuestions)
	require.Equal(t, convert.Failed, outcome.Status)
	i, outcome, err := terminal.Resolver{}.Choose(t.Context(), convert.Question{Text: "Q"})
	require.ErrorIs(t, err, convert.ErrOptionCount)
	require.Equal(t, convert.Failed, outcome.Status)
	require.Equal(t, -1, i)
}
