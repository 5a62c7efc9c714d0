package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli/clitest"
)

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else a second for each command
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": clitest.Exits, "hub": background, "post": post},
	})
}

// background starts a hub and waits until it listens: hub DATA [FLAGS...]
func background(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: hub DATA [FLAGS...]")
	}
	cmd := exec.Command(os.Args[0], append([]string{"--listen", "127.0.0.1:0", "--data", ts.MkAbs(args[0])}, args[1:]...)...)
	cmd.Env = append(os.Environ(), "ACP_BRIDGE_HUB_TEST=1")
	cmd.Dir = ts.MkAbs(".")
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	drained := make(chan struct{})
	ts.Defer(func() { _ = cmd.Process.Kill(); <-drained; _ = cmd.Wait() })
	said := bufio.NewReader(stderr)
	for line := ""; !strings.HasPrefix(line, "The hub listens on "); {
		if line, err = said.ReadString('\n'); err != nil {
			close(drained)
			ts.Fatalf("the hub ended: %s", line)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said); close(drained) }()
}

// post sends a file to a hub as its owner: post DATA PATH FILE
func post(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: post DATA PATH FILE")
	}
	read := func(name string) string {
		line, _, _ := strings.Cut(ts.ReadFile(filepath.Join(args[0], name)), "\n")
		return line
	}
	req, err := http.NewRequest(http.MethodPost, read("address")+args[1], strings.NewReader(ts.ReadFile(args[2])))
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+read("token"))
	req.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer reply.Body.Close()
	if body, _ := io.ReadAll(reply.Body); reply.StatusCode >= 300 {
		ts.Fatalf("%s: %s", reply.Status, body)
	}
}
