package claudetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// built is the program that Build has made; empty if there is none.
var built string

// Build makes a program of the stand-in, for packages that start it a thousand
// times: a test binary takes several times as long to start, and far longer with
// the race detector, which has nothing to look for in a stand-in. Without Build, or
// where nothing can be built, the test binary plays. Call it in TestMain, behind
// Main; remove what it has made with the function it returns.
func Build() (remove func()) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "claudetest-")
	path, out := filepath.Join(dir, "standin"), []byte(nil)
	if err == nil {
		_ = os.Setenv("XDG_STATE_HOME", dir) // notes of the tests are not the user's
		out, err = exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", path, "github.com/acp-bridge/acp-bridge/internal/claude/claudetest/standin").CombinedOutput()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "claudetest: the test binary plays, more slowly: %v: %s\n", err, out)
	} else {
		built = path
	}
	return func() { _ = os.RemoveAll(dir) }
}

// Beside plays the script in the folder of this program, and ends the process.
func Beside() {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "claudetest:", err)
		os.Exit(3)
	}
	child()
	os.Exit(play(filepath.Dir(self), os.Args[1:]))
}
