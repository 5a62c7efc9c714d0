package claude_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

func TestTheCLIDoesNotOutliveTheBridge(t *testing.T) {
	cli := claudetest.New(t, claudetest.Script{IgnoreEOF: true})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), bridgeVariable+"="+cli.Path)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "pid "); ok {
			pid, err = strconv.Atoi(text)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, pid)
	require.NoError(t, syscall.Kill(pid, 0), "it runs")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	gone(t, pid)
}

// The kernel's signal comes when the thread that started the child ends. Go
// ends the thread of a goroutine that is locked to it: the CLI must survive
// that.
func TestTheCLISurvivesTheThreadOfItsCaller(t *testing.T) {
	cli := claudetest.New(t, claudetest.Script{IgnoreEOF: true})
	var processes []*claude.Process
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			runtime.LockOSThread() // and no unlock: the thread ends with this
			p, err := claude.Start(context.Background(), claude.Options{Path: cli.Path, EOFGrace: time.Millisecond})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			processes = append(processes, p)
			mu.Unlock()
		})
	}
	wg.Wait()
	time.Sleep(200 * time.Millisecond) // time for threads to end
	for _, p := range processes {
		_, err := p.Initialize(testContext(t))
		require.NoError(t, err)
		require.NoError(t, p.Close(context.Background()))
	}
}

// What a CLI that was killed has started ends with it, also in a session of its
// own: nobody would show it any more.
func TestCommandsOfAKilledCLIEnd(t *testing.T) {
	for name, kill := range map[string]func(*session){
		"by somebody": func(s *session) { require.NoError(t, syscall.Kill(s.Pid(), syscall.SIGKILL)) },
		"by Kill":     func(s *session) { s.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			other := run(t, claudetest.Script{Escapee: true})
			s := run(t, claudetest.Script{Escapee: true})
			for _, x := range []*session{s, other} {
				_, err := x.Initialize(x.ctx)
				require.NoError(t, err)
			}
			kill(s)
			require.ErrorIs(t, s.end(), claude.ErrExited)
			gone(t, s.cli.Starts()[0].Child)
			stays := other.cli.Starts()[0].Child
			goesOn(t, stays)
			require.NoError(t, syscall.Kill(stays, syscall.SIGKILL))
		})
	}
}

// goesOn requires that a command of another CLI runs, and is not only there until it
// is reaped.
func goesOn(t *testing.T, pid int) {
	t.Helper()
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	require.NoError(t, err)
	require.NotEmpty(t, line, "that of another CLI goes on")
}

// bare is a CLI that, told to, runs a command with nothing of its own: neither its
// session nor its environment, and a parent that is gone.
const bare = `#!/bin/sh
read line
(env -i setsid /bin/sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 1000' &)
exec cat >/dev/null
`

// Such a command, too, ends with a CLI that is killed.
func TestBareCommandOfAKilledCLIEnds(t *testing.T) {
	start := func() (*claude.Process, int) {
		dir := t.TempDir()
		syscall.ForkLock.RLock() // a file that a child has open for writing cannot be run
		err := os.WriteFile(filepath.Join(dir, "claude"), []byte(bare), 0o755)
		syscall.ForkLock.RUnlock()
		require.NoError(t, err)
		p, err := claude.Start(t.Context(), claude.Options{Path: filepath.Join(dir, "claude"), Dir: dir})
		require.NoError(t, err)
		require.NoError(t, p.Prompt("go"))
		var text []byte
		require.Eventually(t, func() bool { text, err = os.ReadFile(filepath.Join(dir, "pid")); return err == nil }, time.Minute, time.Millisecond)
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		require.NoError(t, err)
		return p, pid
	}
	for name, kill := range map[string]func(*claude.Process){
		"by somebody": func(p *claude.Process) { require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGKILL)) },
		"by Kill":     (*claude.Process).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			_, other := start()
			p, pid := start()
			kill(p)
			require.ErrorIs(t, p.Wait(t.Context()), claude.ErrExited)
			gone(t, pid)
			goesOn(t, other)
			require.NoError(t, syscall.Kill(other, syscall.SIGKILL))
		})
	}
}

// A private file is there for the CLI, and empty as soon as that has read it: what
// the CLI starts may inherit it.
func TestPrivateFileIsEmptied(t *testing.T) {
	s := run(t, claudetest.Script{}, func(o *claude.Options) {
		o.Private = []claude.PrivateFlag{{Flag: "--mcp-config", Content: []byte(`{"secret":1}`)}}
	})
	file := "/proc/" + strconv.Itoa(s.Pid()) + "/fd/3"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, `{"secret":1}`, string(text))
	_, err = s.Initialize(s.ctx)
	require.NoError(t, err)
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Empty(t, text)
}
