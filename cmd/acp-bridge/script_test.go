package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli/clitest"
	_ "github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/pending"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/watch"
)

// asBridge makes the test binary be acp-bridge, noRoom one that cannot make
// files grow, rests one that expects a person's time between keys.
const (
	asBridge = "ACP_BRIDGE_TEST_MAIN"
	noRoom   = "ACP_BRIDGE_TEST_NO_ROOM"
	rests    = "ACP_BRIDGE_TEST_RESTS"
)

func TestMain(m *testing.M) {
	claudetest.Main()
	watch.HubTime, claude.CommandTime = patience, patience // the hub is in a test that may be busy
	if os.Getenv(asBridge) != "" {
		if os.Getenv(noRoom) != "" {
			limitFiles()
		}
		if os.Getenv(rests) == "" {
			seen.Hands = -time.Hour // a test types at once
		}
		main()
	}
	testscript.Main(withState{m}, map[string]func(){
		"acp-bridge": func() {
			leaveTerminal()
			seen.Hands = -time.Hour
			os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
		"on-terminal": onTerminal,
	})
}

// withState gives the tests a state folder of their own.
type withState struct{ *testing.M }

func (m withState) Run() int {
	dir, err := os.MkdirTemp("", "acp-bridge-state")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("XDG_STATE_HOME", dir); err != nil {
		panic(err)
	}
	leaktest.Parallel(12)
	return m.M.Run()
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else a second for each command
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
			env.Values[scriptHubKey{}] = &scriptHub{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": clitest.Exits, "replace": replace, "asked": askedIn, "hub": hubInScript, "program": hubProgram},
	})
}

// replace edits a file as a person would: replace OLD NEW COUNT FILE
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: replace OLD NEW COUNT FILE")
	}
	text := ts.ReadFile(args[3])
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	if strings.Count(text, args[0]) < n {
		ts.Fatalf("%s holds %q less than %d times", args[3], args[0], n)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(strings.Replace(text, args[0], args[1], n)), 0o600))
}

// askedIn waits until a question waits in a file, and keeps its id: asked VAR
// QUESTION. With a ! it waits until it does no more: ! asked QUESTION
func askedIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg && len(args) != 1 || !neg && len(args) != 2 {
		ts.Fatalf("usage: asked VAR QUESTION, or ! asked QUESTION")
	}
	store := &pending.Store{Dir: ts.MkAbs("."), State: filepath.Join(ts.Getenv("XDG_STATE_HOME"), "acp-bridge")}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		all, err := store.List()
		ts.Check(err)
		i := slices.IndexFunc(all, func(f *pending.File) bool {
			return f.Foreign == nil && len(f.Questions) > 0 && f.Questions[0].Text == args[len(args)-1]
		})
		switch {
		case neg && i < 0:
			return
		case !neg && i >= 0:
			ts.Setenv(args[0], all[i].ID)
			return
		}
	}
	ts.Fatalf("%q is not as it should be", args[len(args)-1])
}
