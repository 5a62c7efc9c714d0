// Package claudetest is a stand-in for the Claude Code CLI. It speaks the
// protocol as the real one was observed to (2.1.325) and does what a script
// says, so that tests need nothing but Go.
//
// The test binary plays the CLI itself:
//
//	func TestMain(m *testing.M) {
//		claudetest.Main() // does not return in a process that is the stand-in
//		os.Exit(m.Run())
//	}
//
//	func TestQuestion(t *testing.T) {
//		cli := claudetest.New(t, claudetest.Script{Turns: []claudetest.Turn{{Steps: []claudetest.Step{
//			claudetest.Message(claudetest.Question("toolu_1", claudetest.Q("Which?", "Pick", false, "A", "B"))),
//			claudetest.Text("Thanks."),
//		}}}})
//		p, err := claude.Start(ctx, claude.Options{Path: cli.Path, …})
//		…
//		reply := cli.Reply("toolu_1") // what the CLI was told
//	}
package claudetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// CLI is a scripted stand-in, seen from the test.
type CLI struct {
	// Path is an executable: give it to whatever starts Claude Code.
	Path string

	t   testing.TB
	dir string

	mu    sync.Mutex
	lines []Line
	read  int64 // of the record
}

// Line is one line that the stand-in received, or its start.
type Line struct {
	Pid int // of the process
	// Start is set on the first line of a process.
	Start *Start          `json:",omitempty"`
	Raw   json.RawMessage `json:",omitempty"`
	// EOF is set when the input ended, Mute when the output was closed by a
	// signal.
	EOF  bool `json:",omitempty"`
	Mute bool `json:",omitempty"`
}

// Start says how a process was started. The environment is not in it.
type Start struct {
	Args []string
	Env  []string
	Dir  string
	Pid  int
	// Child is the pid of the grandchild, if the script wants one.
	Child int `json:",omitempty"`
}

// New makes a stand-in for the time of the test.
func New(t testing.TB, script Script) *CLI {
	t.Helper()
	c := &CLI{t: t, dir: t.TempDir()}
	var err error
	if c.Path, err = Install(c.dir, script); err != nil {
		t.Fatal(err)
	}
	return c
}

// Install makes a stand-in without a test: an executable in dir, an existing
// directory, that starts this program again, whose main begins with Main. It
// returns the executable's path. What the stand-in writes stays in dir.
func Install(dir string, script Script) (path string, err error) {
	data, err := json.Marshal(script)
	if err != nil {
		return "", fmt.Errorf("claudetest: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, scriptFile), data, 0o600); err != nil {
		return "", fmt.Errorf("claudetest: %w", err)
	}
	path = filepath.Join(dir, "claude")
	if built != "" && (exists(path) || os.Link(built, path) == nil) {
		return path, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("claudetest: %w", err)
	}
	// A wrapper, so that the caller's environment decides nothing. GORACE: a
	// binary with the race detector would sleep a second at its end.
	wrapper := fmt.Sprintf("#!/bin/sh\nGORACE=atexit_sleep_ms=0 %s=%s exec %s \"$@\"\n", dirVariable, quote(dir), quote(self))
	if err := writeExecutable(path, wrapper); err != nil {
		return "", fmt.Errorf("claudetest: %w", err)
	}
	return path, nil
}

// writeExecutable writes while nothing is forked: a file that is still open for
// writing, in a child that has not yet got to its program, cannot be run.
func writeExecutable(path, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, []byte(text), 0o755)
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Release lets a Wait of that name go on.
func (c *CLI) Release(name string) {
	if err := os.WriteFile(filepath.Join(c.dir, "release-"+name), nil, 0o600); err != nil {
		c.t.Error("claudetest:", err)
	}
}

// Lines returns what the stand-in received so far, over all its processes. The
// record only grows: what was read of it once is kept, because tests look often.
func (c *CLI) Lines() []Line {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, err := os.Open(filepath.Join(c.dir, receivedFile)); err == nil {
		defer f.Close()
		more, size := c.readOn(io.NewSectionReader(f, c.read, math.MaxInt64-c.read))
		c.lines, c.read = append(c.lines, more...), c.read+size
	}
	return slices.Clone(c.lines)
}

// readOn reads the lines that are new, which are of that size.
func (c *CLI) readOn(from io.Reader) (lines []Line, size int64) {
	for r := bufio.NewReader(from); ; {
		raw, err := r.ReadBytes('\n')
		if err != nil {
			return lines, size // a last line without newline is still being written
		}
		var l Line
		if err := json.Unmarshal(raw, &l); err != nil {
			c.t.Error("claudetest: its record is broken:", err)
			return lines, size
		}
		lines, size = append(lines, l), size+int64(len(raw))
	}
}

// patience is how long a test waits for what must come, on a busy machine.
const patience = 5 * time.Minute

// Await waits until ok accepts what was received, and returns it. It fails
// the test if that does not come.
func (c *CLI) Await(what string, ok func([]Line) bool) []Line {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		lines := c.Lines()
		if ok(lines) {
			return lines
		}
		if time.Now().After(deadline) {
			received, _ := json.Marshal(lines)
			c.t.Fatalf("claudetest: %s: not within %s; received: %s", what, patience, received)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Starts returns how its processes were started, in order.
func (c *CLI) Starts() []Start {
	var starts []Start
	for _, l := range c.Lines() {
		if l.Start != nil {
			starts = append(starts, *l.Start)
		}
	}
	return starts
}

// Prompts returns the texts of the user messages received.
func (c *CLI) Prompts() []string {
	var prompts []string
	for _, l := range c.Lines() {
		if gjson.GetBytes(l.Raw, "type").String() == "user" {
			prompts = append(prompts, promptText(l.Raw))
		}
	}
	return prompts
}

// Reply returns the answer to the last permission request for a tool call:
// the response object of a success, or {"error":…}. It is nil if there was
// none.
func (c *CLI) Reply(toolUseID string) json.RawMessage {
	return replyIn(c.Lines(), toolUseID)
}

// AwaitReply waits for the answer to the permission request for a tool call.
func (c *CLI) AwaitReply(toolUseID string) json.RawMessage {
	c.t.Helper()
	lines := c.Await("a reply for "+toolUseID, func(l []Line) bool { return replyIn(l, toolUseID) != nil })
	return replyIn(lines, toolUseID)
}

func replyIn(lines []Line, toolUseID string) json.RawMessage {
	var reply json.RawMessage
	for _, l := range lines {
		r := gjson.GetBytes(l.Raw, "response")
		id := r.Get("request_id").String()
		if gjson.GetBytes(l.Raw, "type").String() != "control_response" || toolOf(id) != toolUseID {
			continue
		}
		if r.Get("subtype").String() == "success" {
			reply = json.RawMessage(r.Get("response").Raw)
		} else {
			reply = raw(map[string]string{"error": r.Get("error").String()})
		}
	}
	return reply
}

// Controls returns the control requests of that subtype, the request part.
func (c *CLI) Controls(subtype string) []json.RawMessage {
	var out []json.RawMessage
	for _, l := range c.Lines() {
		r := gjson.GetBytes(l.Raw, "request")
		if gjson.GetBytes(l.Raw, "type").String() == "control_request" && r.Get("subtype").String() == subtype {
			out = append(out, json.RawMessage(r.Raw))
		}
	}
	return out
}

func promptText(line []byte) string {
	content := gjson.GetBytes(line, "message.content")
	if content.Type == gjson.String {
		return content.Str
	}
	var texts []string
	for _, b := range content.Array() {
		if b.Get("type").String() == "text" {
			texts = append(texts, b.Get("text").String())
		}
	}
	return strings.Join(texts, "\n")
}
