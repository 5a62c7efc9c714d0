//go:build unix

package terminal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"go.uber.org/goleak"

	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// job is what a child process of a test asks, and report how it went.
type job struct {
	Call   convert.Call
	Choice bool
	Plain  bool
	// Rests says that keys are judged as those of a person.
	Rests bool
}

type report struct {
	Outcome convert.Outcome
	Index   int
	Err     string
	// Restored says that the terminal's settings were put back.
	Restored bool
	// Leak names goroutines that were left.
	Leak string
}

// TestMain is the whole of a child process, which asks on its controlling
// terminal.
func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv("TERMINAL_TEST_JOB"); ok {
		os.Exit(child(text))
	}
	leaktest.Parallel(8)
	leaktest.Main(m)
}

func child(text string) int {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if !j.Rests {
		seen.Hands = -time.Hour // a test types at once
	}
	ask := terminal.Resolver{Plain: j.Plain}
	before, _ := term.GetState(os.Stdin.Fd())
	r := report{Index: -1}
	var err error
	if j.Choice {
		r.Index, r.Outcome, err = ask.Choose(context.Background(), j.Call.Questions[0])
	} else {
		r.Outcome, err = ask.Ask(context.Background(), j.Call)
	}
	if want := r.Outcome.Err(); fmt.Sprint(err) != fmt.Sprint(want) {
		r.Err = fmt.Sprintf("the error is %v, expected %v", err, want)
	}
	if r.Outcome.Status == convert.Disconnected {
		// The hang-up's own signal may come late; it must not end the process.
		_ = syscall.Kill(os.Getpid(), syscall.SIGHUP)
	}
	after, _ := term.GetState(os.Stdin.Fd())
	r.Restored = reflect.DeepEqual(before, after)
	// The runtime keeps a goroutine for signals once one was asked for.
	if err := leaktest.Find(goleak.IgnoreAnyFunction("os/signal.loop")); err != nil {
		r.Leak = err.Error()
	}
	out := os.NewFile(3, "report")
	defer out.Close()
	if err := json.NewEncoder(out).Encode(r); err != nil {
		return 1
	}
	return 0
}
