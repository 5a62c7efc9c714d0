package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

const (
	firstCall  = `{"question":"One?","choices":["a","b"]}`
	secondCall = `{"question":"Two?","choices":["a","b"]}`
	piRequest  = `{"type":"ask_user_request","requestId":"r1","questions":[{"question":"Three?"}]}` + "\n"
	pendingOne = ".acp-bridge/pending-questions.json"
)

// disk is a folder that can run out of room, or become one to read only.
type disk struct {
	*testing.T
	dir string
	// start runs acp-bridge in the folder and returns its exit code.
	start func(stdin io.Reader, stdout, stderr io.Writer, args ...string) int
	// broken makes writing impossible, mended possible again. why is the reason
	// that is given.
	broken, mended func()
	why            string
}

func (d *disk) run(stdin string, args ...string) (stdout, stderr string, code int) {
	out := &firstLine{came: make(chan struct{})}
	var in io.Reader = strings.NewReader(stdin)
	if args[0] == "rpc" { // the end of the input would withdraw the question
		in = io.MultiReader(in, out)
	}
	var errs bytes.Buffer
	code = d.start(in, out, &errs, args...)
	return out.text.String(), errs.String(), code
}

// firstLine is an output that can be waited for: a reader of it comes to the
// end when something was written.
type firstLine struct {
	text bytes.Buffer
	once sync.Once
	came chan struct{}
}

func (f *firstLine) Write(b []byte) (int, error) {
	n, err := f.text.Write(b)
	f.once.Do(func() { close(f.came) })
	return n, err
}

func (f *firstLine) Read([]byte) (int, error) {
	<-f.came
	return 0, io.EOF
}

// content is all files of the folder, so that one is told from another.
func (d *disk) content() map[string]string {
	files := map[string]string{}
	require.NoError(d, filepath.WalkDir(filepath.Join(d.dir, ".acp-bridge"), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == ".gitignore" {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return err
		}
		data, err := os.ReadFile(path)
		files[e.Name()] = string(data)
		return err
	}))
	return files
}

// lives is the life of questions on a disk that cannot be written for a while:
// what was not written is not said to be, what was there stays whole, nothing
// half-made is left, and the error names the file and the reason.
func (d *disk) lives() {
	fails := func(stdin string, args ...string) {
		d.Helper()
		before := d.content()
		stdout, stderr, code := d.run(stdin, args...)
		require.Equal(d, 1, code, stderr)
		require.NotContains(d, stdout, "Answered")
		require.NotContains(d, stdout, "Removed")
		require.NotContains(d, stderr, "waits")
		require.Contains(d, stderr, ".acp-bridge")
		require.Contains(d, stderr, d.why)
		require.Equal(d, 1, strings.Count(stderr, "\n"), stderr)
		require.Equal(d, before, d.content())
	}
	d.broken()
	fails(firstCall, "ask", "--headless")
	d.mended()
	_, stderr, code := d.run(firstCall, "ask", "--headless")
	require.Equal(d, 4, code, stderr)
	require.Len(d, d.content(), 1)

	d.broken()
	fails("", "questions", "answer", "--answers", `{"One?":"b"}`)
	fails(secondCall, "ask", "--headless")
	stdout, stderr, code := d.run(piRequest, "rpc", "--headless")
	require.Equal(d, 0, code, stderr)
	require.Contains(d, stdout, `"requestId":"r1","answered":false`)
	require.Contains(d, stdout, d.why)
	require.Contains(d, stdout, ".acp-bridge")
	require.Len(d, d.content(), 1)

	d.mended()
	stdout, stderr, code = d.run("", "questions", "answer", "--answers", `{"One?":"b"}`)
	require.Equal(d, 0, code, stderr)
	require.Contains(d, stdout, "Answered")

	d.broken() // what is there is of use all the same
	stdout, _, code = d.run(firstCall, "ask", "--headless")
	require.Equal(d, 0, code)
	require.Equal(d, "b\n", stdout)
}

// A process whose files cannot grow. This runs everywhere but on Windows; the
// real thing is TestDisk, where private file systems are allowed.
func TestNoRoom(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: no limit on the size of files")
	}
	limit := ""
	d := &disk{T: t, dir: t.TempDir(), why: "file too large", broken: func() { limit = noRoom + "=1" }, mended: func() { limit = "" }}
	d.start = func(stdin io.Reader, stdout, stderr io.Writer, args ...string) int {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = d.dir, stdin, stdout, stderr
		cmd.Env = append(os.Environ(), asBridge+"=1", "GORACE=atexit_sleep_ms=0", limit)
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode()
	}
	d.lives()
}

// Where the folder should be is a file: no permission helps, not even root's.
func TestFolderIsAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile(".acp-bridge", []byte("mine"), 0o600))
	for _, args := range [][]string{{"ask", "--headless"}, {"questions"}} {
		var stdout, stderr output
		require.Equal(t, 1, run(t.Context(), args, strings.NewReader(firstCall), &stdout, &stderr))
		require.Empty(t, stdout.String())
		require.Contains(t, stderr.String(), ".acp-bridge")
		require.Contains(t, stderr.String(), "not a directory")
	}
	require.Equal(t, "mine", string(acptest.Must(os.ReadFile(".acp-bridge"))))
}

// An answer that could not be written to stdout was not delivered: the file
// keeps it.
func TestStdoutIsFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("SKIPPED:", err)
	}
	defer full.Close()
	t.Chdir(t.TempDir())
	var stdout, stderr bytes.Buffer
	ask := func(out io.Writer) int {
		return run(t.Context(), []string{"ask", "--headless"}, strings.NewReader(firstCall), out, &stderr)
	}
	require.Equal(t, 4, ask(&stdout))
	require.Equal(t, 0, run(t.Context(), []string{"questions", "answer", "--answers", `{"One?":"b"}`}, nil, &stdout, &stderr))
	stderr.Reset()
	require.Equal(t, 1, ask(full))
	require.Contains(t, stderr.String(), "no space left on device")
	require.FileExists(t, pendingOne)
	stdout.Reset()
	require.Equal(t, 0, ask(&stdout))
	require.Equal(t, "b\n", stdout.String())
	require.NoFileExists(t, pendingOne)
}

// Serving goes on when neither the trace nor the log can be written, with one
// warning for each; and a device is no file to be made private.
func TestTraceOnAFullDisk(t *testing.T) {
	t.Parallel()
	before, err := os.Stat("/dev/full")
	if err != nil {
		t.Skip("SKIPPED:", err)
	}
	for name, flags := range map[string][]string{
		"the trace is not complete":  {"--trace", "/dev/full"},
		"the log is not complete":    {"--log-file", "/dev/full", "--log-level", "debug"},
		"the trace and the log both": {"--trace", "/dev/full", "--log-file", "/dev/full", "--log-level", "debug"},
	} {
		t.Run(name, func(t *testing.T) {
			b := startBridge(t, claudetest.Script{Turns: []claudetest.Turn{{Steps: []claudetest.Step{claudetest.Burst(500)}}}}, flags...)
			s, _ := b.session()
			for range 2 {
				acptest.Must(b.conn.Prompt(context.Background(), acp.PromptRequest{SessionId: acp.SessionId(s), Prompt: []acp.ContentBlock{acp.TextBlock("hi")}}))
			}
			b.stdin.Close()
			require.NoError(t, b.cmd.Wait(), b.stderr.String())
			require.Equal(t, 1, strings.Count(b.stderr.String(), "/dev/full"), b.stderr.String())
			require.Contains(t, b.stderr.String(), "no space left on device")
		})
	}
	after := acptest.Must(os.Stat("/dev/full"))
	require.Equal(t, before.Mode(), after.Mode())
}

// A trace or a log that cannot be opened is a mistake in the flags.
func TestTraceCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	path := filepath.Join(dir, "file", "trace")
	for _, flag := range []string{"--trace", "--log-file"} {
		var stdout, stderr output
		require.Equal(t, 2, run(t.Context(), []string{flag, path}, strings.NewReader(""), &stdout, &stderr))
		require.Contains(t, stderr.String(), path)
		require.Contains(t, stderr.String(), "not a directory")
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
	}
}
