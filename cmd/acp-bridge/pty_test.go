//go:build linux || darwin

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/pending"
	"github.com/acp-bridge/acp-bridge/internal/terminal/ttytest"
)

// shell is acp-bridge with a controlling terminal beside its pipes.
type shell struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	ptmx   *os.File
	stdin  io.WriteCloser
	stdout *bufio.Reader

	mu      sync.Mutex
	screen  strings.Builder
	changed chan struct{}
}

func startOnTerminal(t *testing.T, dir string, args ...string) *shell {
	t.Helper()
	return startOnTerminalWith(t, nil, dir, args...)
}

func startOnTerminalWith(t *testing.T, env []string, dir string, args ...string) *shell {
	t.Helper()
	ptmx, tty := acptest.Must2(pty.Open())
	require.NoError(t, pty.Setsize(ptmx, &pty.Winsize{Cols: 80, Rows: 24}))
	ptmx = ttytest.Pollable(t, ptmx)
	c := &shell{t: t, dir: dir, ptmx: ptmx, changed: make(chan struct{})}
	c.cmd = exec.Command(os.Args[0], args...)
	c.cmd.Dir = dir
	c.cmd.Env = append(append(os.Environ(), asBridge+"=1", "TERM=xterm", "NO_COLOR=1", "GORACE=atexit_sleep_ms=0"), env...)
	c.cmd.ExtraFiles = []*os.File{tty}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	c.cmd.Stderr = os.Stderr
	c.stdin = acptest.Must(c.cmd.StdinPipe())
	c.stdout = bufio.NewReader(acptest.Must(c.cmd.StdoutPipe()))
	require.NoError(t, c.cmd.Start())
	require.NoError(t, tty.Close())
	go c.read()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		_ = ptmx.Close()
	})
	return c
}

func (c *shell) read() {
	buf := make([]byte, 4096)
	for {
		n, err := c.ptmx.Read(buf)
		c.mu.Lock()
		c.screen.Write(buf[:n])
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// see waits until the terminal has shown one of the texts since the last key.
func (c *shell) see(texts ...string) (which int) {
	c.t.Helper()
	deadline := time.After(ttytest.Patience)
	for {
		c.mu.Lock()
		screen, changed := c.screen.String(), c.changed
		c.mu.Unlock()
		for i, text := range texts {
			if strings.Contains(screen, text) {
				return i
			}
		}
		select {
		case <-changed:
		case <-deadline:
			c.t.Fatalf("waited for %q, the terminal got %q", texts, screen)
		}
	}
}

func (c *shell) press(keys string) {
	c.t.Helper()
	c.mu.Lock()
	c.screen.Reset()
	c.mu.Unlock()
	acptest.Must(io.WriteString(c.ptmx, keys))
}

func (c *shell) send(lines ...string) {
	c.t.Helper()
	acptest.Must(io.WriteString(c.stdin, strings.Join(lines, "\n")+"\n"))
}

func (c *shell) line() string {
	c.t.Helper()
	defer time.AfterFunc(ttytest.Patience, func() { _ = c.cmd.Process.Kill() }).Stop()
	return acptest.Must(c.stdout.ReadString('\n'))
}

// end closes stdin and returns the exit code.
func (c *shell) end() int {
	c.t.Helper()
	_ = c.stdin.Close()
	require.Empty(c.t, string(acptest.Must(io.ReadAll(c.stdout))))
	_ = c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode()
}

const service = `{"name":"ask_user","input":{"questions":[{"question":"Which database?","header":"Database","options":["PostgreSQL","SQLite"]},{"question":"What name?","header":"Name"}]}}`

// The call comes on stdin, the picker is on /dev/tty, the result on stdout.
func TestAskPicker(t *testing.T) {
	c := startOnTerminal(t, t.TempDir(), "ask")
	c.send(service)
	require.NoError(t, c.stdin.Close())
	c.see("Which database?")
	c.press("2")
	c.see("What name?")
	c.press("orders\r")
	c.see("Submit")
	c.press("\r")
	line := c.line()
	require.Contains(t, line, `"selectedOption":"SQLite"`)
	require.Contains(t, line, `"answer":"orders"`)
	require.Contains(t, line, `"mode":"interactive"`)
	require.Equal(t, 0, c.end())
	require.NoDirExists(t, filepath.Join(c.dir, ".acp-bridge"))
}

func TestAskPickerEnds(t *testing.T) {
	t.Parallel()
	const call = `{"name":"ask_user","input":{"questions":[{"question":"Go on?","options":["Yes","No"]}]}}`
	file := filepath.Join(t.TempDir(), "call.json")
	require.NoError(t, os.WriteFile(file, []byte(call), 0o600))
	for name, tc := range map[string]struct {
		do   func(*shell)
		want string
		code int
	}{
		"esc":     {func(c *shell) { c.press("\x1b") }, `{"answered":false,"answers":[],"cancelled":true}`, 3},
		"ctrl-c":  {func(c *shell) { c.press("\x03") }, `{"answered":false,"answers":[],"cancelled":true}`, 3},
		"sigterm": {func(c *shell) { _ = c.cmd.Process.Signal(syscall.SIGTERM) }, `{"answered":false,"answers":[],"error":"withdrawn: terminated signal received"}`, 1},
		"hang-up": {func(c *shell) { _ = c.cmd.Process.Signal(syscall.SIGHUP) }, `{"answered":false,"answers":[],"connectionLost":true}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := startOnTerminal(t, t.TempDir(), "ask", file)
			c.see("Go on?")
			tc.do(c)
			require.JSONEq(t, tc.want, c.line())
			require.Equal(t, tc.code, c.end())
		})
	}
}

// While the terminal asks, somebody else answers in the file. That answer stands,
// whatever the terminal says then, and is used once.
func TestFirstAnswerStands(t *testing.T) {
	t.Parallel()
	const first = `{"answer":"Yes"}`
	for name, then := range map[string]func(*shell){
		"answered":   func(c *shell) { c.press("2") },
		"cancelled":  func(c *shell) { c.press("\x1b") },
		"terminated": func(c *shell) { _ = c.cmd.Process.Signal(syscall.SIGTERM) },
		"hung up":    func(c *shell) { _ = c.ptmx.Close() },
	} {
		for _, command := range []string{"ask", "rpc"} {
			t.Run(command+" "+name, func(t *testing.T) {
				t.Parallel()
				store := &pending.Store{Dir: t.TempDir()}
				f := leftBy(t, store, command, firstInSession)
				c := startOnTerminal(t, store.Dir, command)
				c.send(firstInSession)
				if command == "ask" {
					require.NoError(t, c.stdin.Close())
				}
				c.see("First?")
				require.NoError(t, store.Answer(f, []convert.Answer{{Selected: []string{"Yes"}}}, "Bob"))
				then(c)
				require.Contains(t, c.line(), first)
				c.end()
				require.NoFileExists(t, f.Path)
			})
		}
	}
}

// firstInSession is a request that can be claimed, also by acp-bridge rpc.
const firstInSession = `{"jsonrpc":"2.0","id":"2f0d6c1e-77aa-4b1b-9f0e-0c5a1d2e3f40","method":"client/ask_user","params":{"session_id":"7f1c2f0e-5a38-4c55-9d1e-2f6a7b1c9d01","question":"First?","choices":["Yes","No"]}}`

// leftBy is the file that a command has left which was ended while it asked.
func leftBy(t *testing.T, store *pending.Store, command, request string) *pending.File {
	t.Helper()
	c := startOnTerminal(t, store.Dir, command, "--headless")
	c.send(request)
	if command == "ask" {
		require.NoError(t, c.stdin.Close())
	} else {
		require.Eventually(t, func() bool { f, err := store.Open(""); return err == nil && f.Foreign == nil }, patience, time.Millisecond)
		require.NoError(t, c.cmd.Process.Kill())
	}
	_ = c.cmd.Wait()
	return acptest.Must(store.Open(""))
}

// Who cancels at the terminal dismisses what waits in the file, but not what
// somebody has begun to answer.
func TestCancelledAtTheTerminal(t *testing.T) {
	t.Parallel()
	const two = `{"type":"ask_user_request","requestId":"r1","questions":[{"question":"First?"},{"question":"Second?"}]}`
	for command, request := range map[string]string{"ask": two, "rpc": firstInSession} {
		store := &pending.Store{Dir: t.TempDir()}
		f := leftBy(t, store, command, request)
		cancel := func() {
			c := startOnTerminal(t, store.Dir, command)
			c.send(request)
			if command == "ask" {
				require.NoError(t, c.stdin.Close())
			}
			c.see("First?")
			c.press("\x1b")
			require.Contains(t, c.line(), `ancelled`)
			c.end()
		}
		if command == "ask" {
			require.NoError(t, store.Answer(f, []convert.Answer{{Text: "begun"}, {}}, "Bob"))
			cancel()
			now := acptest.Must(store.Open(f.Path))
			require.Equal(t, 1, now.Left(), command)
			require.NoError(t, store.Answer(now, make([]convert.Answer, 2), "Bob"))
		}
		cancel()
		require.NoFileExists(t, f.Path, command)
	}
}

// Ctrl+C in lines is a signal, to those who wait for one, too. It is the user's
// cancel.
func TestCtrlCInLines(t *testing.T) {
	t.Parallel()
	for command, code := range map[string]int{"ask": exitCancelled, "rpc": exitFailed} {
		c := startOnTerminal(t, t.TempDir(), command, "--plain")
		c.send(firstRequest)
		if command == "ask" {
			require.NoError(t, c.stdin.Close())
		}
		c.see("Type cancel to cancel.")
		c.press("\x03")
		require.Contains(t, c.line(), `"cancelled":true`)
		require.Equal(t, code, c.end(), command)
	}
}

// A person answers questions that wait, with a note, which the agent gets.
func TestQuestionsAnswerPicker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call := filepath.Join(dir, "call.json")
	require.NoError(t, os.WriteFile(call, []byte(service), 0o600))
	c := startOnTerminal(t, dir, "ask", "--headless", call)
	require.Contains(t, c.line(), `"pendingFile":".acp-bridge/pending-questions.json"`)
	require.Equal(t, 4, c.end())
	c = startOnTerminal(t, dir, "questions", "answer")
	c.see("Which database?")
	c.press("n")
	c.see("ote")
	c.press("for tests\r")
	c.see("Other")
	c.press("\r")
	c.see("What name?")
	c.press("2\r") // a text that looks like a number
	c.see("Submit")
	c.press("\r")
	require.Contains(t, c.line(), "Answered: .acp-bridge/pending-questions.json")
	require.Equal(t, 0, c.end())
	c = startOnTerminal(t, dir, "ask", call)
	var result struct{ Answers []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(c.line()), &result))
	require.Equal(t, "PostgreSQL", result.Answers[0]["answer"])
	require.Equal(t, "for tests", result.Answers[0]["note"])
	require.Equal(t, map[string]any{"question": "What name?", "answer": "2", "wasCustom": true}, result.Answers[1])
	require.Equal(t, 0, c.end())
}

const (
	firstRequest  = `{"type":"ask_user_request","requestId":"r1","questions":[{"question":"First?","options":["Yes","No"]}]}`
	secondRequest = `{"jsonrpc":"2.0","id":2,"method":"client/ask_user","params":{"session_id":"7f1c2f0e-5a38-4c55-9d1e-2f6a7b1c9d01","question":"Second?"}}`
	thirdRequest  = `{"type":"ask_user_request","requestId":"r3","questions":[{"question":"Third?"}]}`
)

// handsOff is how soon a key is taken for one that was meant for the question
// before.
const handsOff = 400 * time.Millisecond

// pressedTwice answers the first of several requests with a key that is pressed
// twice. If the machine is slower than hands that rest, this is tried again.
func pressedTwice(t *testing.T) *shell {
	for {
		c := startOnTerminalWith(t, []string{rests + "=1"}, t.TempDir(), "rpc")
		c.send(firstRequest, secondRequest, thirdRequest)
		c.see("First?")
		c.mu.Lock()
		require.NotContains(t, c.screen.String(), "Second?")
		c.mu.Unlock()
		time.Sleep(3 * handsOff) // a person reads it first
		began := time.Now()
		c.press("1")
		require.Contains(t, c.line(), `"requestId":"r1","answered":true`)
		c.see("Second?")
		c.press("1")
		if c.see("Typed before this question could be read", "> 1") == 0 {
			return c
		}
		require.GreaterOrEqual(t, time.Since(began), handsOff, "a key pressed twice answers the next question, too")
	}
}

// Requests are asked one at a time, and the end of the input takes the open
// one off the terminal.
func TestRPCPicker(t *testing.T) {
	t.Parallel()
	c := pressedTwice(t)
	time.Sleep(3 * handsOff) // a person reads it first
	c.press("because")
	c.see("because")
	time.Sleep(handsOff) // what comes in one piece is pasted
	c.press("\r")
	require.JSONEq(t, `{"jsonrpc":"2.0","id":2,"result":{"answer":"because"}}`, c.line())
	c.see("Third?")
	require.NoError(t, c.stdin.Close())
	require.JSONEq(t, `{"type":"ask_user_response","requestId":"r3","answered":false,"answers":[],"error":"withdrawn: the input ended before the question was answered"}`, c.line())
	require.Equal(t, 0, c.end())
}

// A terminal that hangs up is lost to the open request and to all after it.
func TestRPCHangUp(t *testing.T) {
	c := startOnTerminal(t, t.TempDir(), "rpc")
	c.send(firstRequest, secondRequest)
	c.see("First?")
	require.NoError(t, c.ptmx.Close())
	both := []string{c.line(), c.line()} // in any order
	slices.Sort(both)
	require.Contains(t, both[0], `"id":2,"error":{"code":-32603,`)
	require.JSONEq(t, `{"type":"ask_user_response","requestId":"r1","answered":false,"answers":[],"connectionLost":true}`, both[1])
	c.send(thirdRequest)
	require.Contains(t, c.line(), `"connectionLost":true`)
	require.Equal(t, 0, c.end())
}
