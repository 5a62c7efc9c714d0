package claudetest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

const (
	dirVariable   = "CLAUDETEST_DIR"
	childVariable = "CLAUDETEST_CHILD"
	scriptFile    = "script.json"
	receivedFile  = "received.ndjson"
	childReady    = "ready"
)

// Main plays the CLI and ends the process if New's or Install's executable
// started it; else it returns at once. Call it first in TestMain, or in main.
func Main() {
	child()
	dir := os.Getenv(dirVariable)
	if dir == "" {
		return
	}
	os.Unsetenv(dirVariable) // not for what this process starts
	os.Exit(play(dir, os.Args[1:]))
}

// child is what a process does that startGrandchild has started.
func child() {
	kind := os.Getenv(childVariable)
	if kind == "" {
		return
	}
	if kind == "escape" {
		leaveGroup()
	}
	fmt.Fprintln(os.Stderr, childReady)
	time.Sleep(time.Hour)
	os.Exit(0)
}

func play(dir string, args []string) int {
	data, err := os.ReadFile(filepath.Join(dir, scriptFile))
	if err != nil {
		fmt.Fprintln(os.Stderr, "claudetest:", err)
		return 3
	}
	e := newEngine(dir, parseArgs(args))
	if err := json.Unmarshal(data, &e.script); err != nil {
		fmt.Fprintln(os.Stderr, "claudetest:", err)
		return 3
	}
	if e.record, err = os.OpenFile(filepath.Join(dir, receivedFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "claudetest:", err)
		return 3
	}
	e.watchSignals()
	start := &Start{Args: args, Env: os.Environ(), Pid: os.Getpid()}
	start.Dir, _ = os.Getwd()
	if e.script.Grandchild || e.script.Escapee {
		start.Child = startGrandchild(e.script.Escapee)
	}
	e.note(Line{Start: start})
	return e.play()
}

// startGrandchild returns when the child is as it shall be.
func startGrandchild(escape bool) int {
	self, err := os.Executable()
	if err != nil {
		return 0
	}
	cmd := exec.Command(self)
	kind := "stay"
	if escape {
		kind = "escape"
	}
	cmd.Env = append(os.Environ(), childVariable+"="+kind)
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	ready, err := cmd.StderrPipe()
	if err != nil || cmd.Start() != nil {
		return 0
	}
	_, _ = io.ReadFull(ready, make([]byte, len(childReady)))
	return cmd.Process.Pid
}

type arguments struct {
	session, resume, mode, model string
	fork, bypass                 bool
}

func parseArgs(args []string) arguments {
	a := arguments{mode: "default", model: "claude-opus-5-5"}
	values := map[string]*string{"--session-id": &a.session, "--resume": &a.resume, "--permission-mode": &a.mode, "--model": &a.model}
	for i, arg := range args {
		if p := values[arg]; p != nil && i+1 < len(args) {
			*p = args[i+1]
		}
	}
	a.fork = slices.Contains(args, "--fork-session")
	a.bypass = slices.Contains(args, "--dangerously-skip-permissions") || slices.Contains(args, "--allow-dangerously-skip-permissions")
	return a
}

func (e *engine) watchSignals() {
	e.watchPipes()
	if e.script.IgnoreTerm {
		signal.Ignore(syscall.SIGTERM)
	} else {
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		go func() {
			<-term
			os.Exit(143)
		}()
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	go func() {
		for range interrupts {
			e.interrupt("", false)
		}
	}()
}
