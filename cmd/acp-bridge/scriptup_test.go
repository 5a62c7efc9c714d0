package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// builtHub is the folder with acp-bridge-hub, built once.
var builtHub = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "acp-bridge-hub-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "acp-bridge-hub"), "github.com/acp-bridge/acp-bridge/cmd/acp-bridge-hub").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return dir, err
})

// hubProgram is a script's command:
//
//	program              acp-bridge-hub is on the PATH; what acp-bridge up starts ends with the script
//	program start FLAGS  and runs, beside the script, at $HUB
func hubProgram(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! program")
	}
	if testing.Short() {
		ts.Fatalf("use [!short]")
	}
	dir, err := builtHub()
	ts.Check(err)
	if path := ts.Getenv("PATH"); !strings.HasPrefix(path, dir) {
		ts.Setenv("PATH", dir+string(os.PathListSeparator)+path)
	}
	state := ts.Getenv("XDG_STATE_HOME")
	ts.Defer(func() { endStarted(filepath.Join(state, "acp-bridge", upStateName)) })
	if len(args) == 0 {
		return
	}
	cmd := exec.Command(filepath.Join(dir, "acp-bridge-hub"), args[1:]...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state)
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	drained := make(chan struct{})
	ts.Defer(func() { _ = cmd.Process.Kill(); <-drained; _ = cmd.Wait() })
	said := bufio.NewReader(stderr)
	for line, found := "", false; !found; {
		if line, err = said.ReadString('\n'); err != nil {
			close(drained)
			ts.Fatalf("the hub ended: %s", line)
		}
		if line, found = strings.CutPrefix(line, "The hub listens on "); found {
			ts.Setenv("HUB", strings.TrimSpace(line))
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said); close(drained) }()
}

// endStarted ends a hub that a script has left behind.
func endStarted(name string) {
	var st upState
	data, err := os.ReadFile(name)
	if err != nil || json.Unmarshal(data, &st) != nil || st.PID == 0 {
		return
	}
	if p, err := os.FindProcess(st.PID); err == nil {
		_ = p.Kill()
	}
}
