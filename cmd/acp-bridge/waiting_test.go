package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

// headlessRPC is acp-bridge rpc without a terminal, in this process.
type headlessRPC struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	log   chan string
	code  chan int
}

type logWriter chan string

func (w logWriter) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

func startHeadless(t *testing.T) *headlessRPC {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { assert.NoError(t, leaktest.Find(before, goleak.IgnoreAnyFunction("os/signal.loop"))) })
	t.Chdir(t.TempDir())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &headlessRPC{t: t, in: inW, lines: bufio.NewScanner(outR), log: make(chan string, 20), code: make(chan int, 1)}
	go func() {
		code := run(t.Context(), []string{"rpc", "--headless"}, inR, outW, logWriter(c.log))
		_ = outW.Close()
		c.code <- code
	}()
	t.Cleanup(func() { _ = inW.Close(); _ = outR.Close() })
	return c
}

func (c *headlessRPC) ask(id, question string) {
	c.t.Helper()
	acptest.Must(fmt.Fprintf(c.in, `{"type":"ask_user_request","requestId":%q,"questions":[{"question":%q}]}`+"\n", id, question))
}

func (c *headlessRPC) line() string {
	c.t.Helper()
	require.True(c.t, c.lines.Scan())
	return c.lines.Text()
}

// answer answers the oldest of the files that ask this.
func (c *headlessRPC) answer(question, text string) {
	c.t.Helper()
	require.NoError(c.t, (&pending.Store{}).Answer(c.file(question), []convert.Answer{{Text: text}}, "me"))
}

func (c *headlessRPC) file(question string) *pending.File {
	c.t.Helper()
	for _, f := range acptest.Must((&pending.Store{}).List()) {
		if f.Questions[0].Text == question && !f.Settled() {
			return f
		}
	}
	c.t.Fatalf("%q waits in no file", question)
	return nil
}

// Requests wait side by side; each is answered when its file is. The same words
// are another request's.
func TestRPCWaits(t *testing.T) {
	c := startHeadless(t)
	c.ask("a", "One?")
	require.Contains(t, <-c.log, `"One?" waits in `+filepath.Join(".acp-bridge", "pending-questions.json"))
	c.ask("b", "Two?")
	require.Contains(t, <-c.log, `"Two?" waits in `)
	two := c.file("Two?")
	c.ask("c", "Two?")
	require.Contains(t, <-c.log, `"Two?" waits in `)
	require.NoError(t, (&pending.Store{}).Answer(two, []convert.Answer{{Text: "zwei"}}, "me"))
	require.Contains(t, c.line(), `"requestId":"b","answered":true,"answers":[{"question":"Two?","answer":"zwei"`)
	c.answer("One?", "eins")
	require.Contains(t, c.line(), `"requestId":"a","answered":true`)
	require.NoError(t, (&pending.Store{}).Remove(c.file("Two?")))
	require.Contains(t, c.line(), `"requestId":"c","answered":false,"answers":[],"cancelled":true`, "cleared by a person")
	noFiles(t, pending.Store{})
	require.NoError(t, c.in.Close())
	require.Equal(t, 0, <-c.code)
}

// noFiles waits until what was answered is used: that is noted behind the reply.
func noFiles(t *testing.T, store pending.Store) {
	t.Helper()
	require.Eventually(t, func() bool {
		files, err := store.List()
		return err == nil && len(files) == 0
	}, patience, time.Millisecond)
}

// At the end of the input the files go, except where somebody has begun to
// answer.
func TestRPCWithdraws(t *testing.T) {
	c := startHeadless(t)
	c.ask("a", "One?")
	<-c.log
	acptest.Must(io.WriteString(c.in, `{"type":"ask_user_request","requestId":"b","questions":[{"question":"Two?"},{"question":"Three?"}]}`+"\n"))
	<-c.log
	store := &pending.Store{}
	all := acptest.Must(store.List())
	require.Len(t, all, 2)
	for _, f := range all {
		if len(f.Questions) == 2 {
			require.NoError(t, store.Answer(f, []convert.Answer{{Text: "zwei"}, {}}, "me"))
		}
	}
	require.NoError(t, c.in.Close())
	for range 2 {
		require.Contains(t, c.line(), `"error":"withdrawn: `)
	}
	require.Equal(t, 0, <-c.code)
	all = acptest.Must(store.List())
	require.Len(t, all, 1)
	require.Equal(t, 1, all[0].Left())
}

// An answer that comes just before the input ends is used.
func TestRPCAnsweredAtTheEnd(t *testing.T) {
	c := startHeadless(t)
	c.ask("a", "One?")
	<-c.log
	c.answer("One?", "eins")
	require.NoError(t, c.in.Close())
	require.Contains(t, c.line(), `"requestId":"a","answered":true,"answers":[{"question":"One?","answer":"eins"`)
	require.Equal(t, 0, <-c.code)
	require.Empty(t, acptest.Must((&pending.Store{}).List()))
}

// Many runs at once, each with a call of its own: every question is kept, and
// every run finds the answers to its own.
func TestAskAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ask := func(n int, flags ...string) (string, int) {
		var out bytes.Buffer
		cmd := exec.Command(os.Args[0], append([]string{"ask", "--headless"}, flags...)...)
		cmd.Dir, cmd.Stdout = dir, &out
		cmd.Env = append(os.Environ(), asBridge+"=1", "GORACE=atexit_sleep_ms=0")
		cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"question":"Question %d?"}`, n))
		_ = cmd.Run()
		return out.String(), cmd.ProcessState.ExitCode()
	}
	all := func(do func(n int)) {
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() { do(n) })
		}
		wg.Wait()
	}
	all(func(n int) {
		if _, code := ask(n); code != 4 {
			t.Errorf("question %d: exit code %d", n, code)
		}
	})
	store := &pending.Store{Dir: dir}
	waiting := acptest.Must(store.List())
	require.Len(t, waiting, 8)
	for _, f := range waiting {
		require.NoError(t, store.Answer(f, []convert.Answer{{Text: "to " + f.Questions[0].Text}}, "me"))
	}
	all(func(n int) {
		out, code := ask(n)
		if want := fmt.Sprintf("to Question %d?", n); strings.TrimSpace(out) != want || code != 0 {
			t.Errorf("question %d: exit code %d, %s", n, code, out)
		}
	})
	waiting = acptest.Must(store.List())
	require.Empty(t, waiting)
}

// Many runs of one call find one answer: one of them uses it, the others say
// that the question waits, each in a file of its own, or in that of one before it
// that has ended.
func TestAskForOneAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := &pending.Store{Dir: dir}
	ask := func() (out, errs string, code int) {
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(os.Args[0], "ask", "--headless")
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
		cmd.Env = append(os.Environ(), asBridge+"=1", "GORACE=atexit_sleep_ms=0")
		cmd.Stdin = strings.NewReader(`{"question":"Go on?"}`)
		_ = cmd.Run()
		return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
	}
	for range 3 {
		_, _, code := ask()
		require.Equal(t, 4, code)
		require.NoError(t, store.Answer(acptest.Must(store.Open("")), []convert.Answer{{Text: "yes"}}, "me"))
		var used atomic.Int32
		var runs sync.WaitGroup
		for range 8 {
			runs.Go(func() {
				switch out, errs, code := ask(); {
				case code == 0 && strings.TrimSpace(out) == "yes":
					used.Add(1)
				case code != 4 || strings.Contains(errs, "damaged") || !strings.Contains(errs, "The question is waiting in"):
					t.Errorf("exit code %d, %s%s", code, out, errs)
				}
			})
		}
		runs.Wait()
		require.EqualValues(t, 1, used.Load())
		left := acptest.Must(store.List())
		require.NotEmpty(t, left, "it waits for the others")
		for _, f := range left {
			require.True(t, f.Untouched())
			require.NoError(t, store.Remove(f))
		}
	}
}
