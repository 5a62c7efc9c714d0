//go:build unix

package proc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

const (
	parentVariable = "CHILD_TEST_PARENT"
	// patience is how long a test waits for something that must happen.
	patience = 5 * time.Minute
)

func TestMain(m *testing.M) {
	if script := os.Getenv(parentVariable); script != "" {
		parent(script)
	}
	leaktest.Parallel(16)
	leaktest.Main(m)
}

// parent is a process that starts a shell, passes on what that says, and waits to
// be killed.
func parent(script string) {
	proc.HurryWatcher()
	script, unwatched := strings.CutPrefix(script, "unwatched ")
	args := []string{"sh", "-c", script}
	if rest, nested := strings.CutPrefix(script, "nested "); nested {
		os.Setenv(parentVariable, rest)
		args = []string{os.Args[0]}
	} else {
		os.Unsetenv(parentVariable)
	}
	p, err := proc.Start(proc.Options{Args: args, Stderr: os.Stderr})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if old := proc.WatcherPid(); unwatched {
		_ = syscall.Kill(old, syscall.SIGKILL)
		for proc.WatcherPid() == old {
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Println(p.Pid())
	_, _ = fmt.Fprintln(p.Stdin, "go")
	_, _ = io.Copy(os.Stdout, p.Stdout)
	select {}
}

const (
	// sleeper is a command that holds on whatever happens, and says its id. It is one
	// process: a test that ends it leaves nothing of it behind.
	sleeper = `sh -c 'trap "" TERM HUP; echo $$; exec sleep 1000'`
	waits   = `while :; do read line || sleep 1000; done`
)

// ids reads process ids, one a line.
func ids(t *testing.T, r io.Reader, n int) (pids []int) {
	t.Helper()
	lines := bufio.NewReader(r)
	for range n {
		pid := acptest.Must(strconv.Atoi(strings.TrimSpace(acptest.Must(lines.ReadString('\n')))))
		t.Cleanup(func() {
			if runs(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
		pids = append(pids, pid)
	}
	return pids
}

// runs reports whether there is a process of that id that is not a zombie.
func runs(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func gone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		require.Eventually(t, func() bool { return !runs(pid) }, patience, 2*time.Millisecond, "process %d is still there", pid)
	}
}

func startShell(t *testing.T, script string, change ...func(*proc.Options)) *proc.Child {
	t.Helper()
	o := proc.Options{Args: []string{"sh", "-c", script}, Dir: t.TempDir()}
	for _, c := range change {
		c(&o)
	}
	p := acptest.Must(proc.Start(o))
	_, _ = fmt.Fprintln(p.Stdin, "go")
	t.Cleanup(func() {
		require.NoError(t, p.End(context.Background()))
		p.Stdout.Close()
	})
	return p
}

// hurry makes the stages short; noGrace so long that a test which needs one does
// not end.
func hurry(o *proc.Options)   { o.EOFGrace, o.TermGrace = 50*time.Millisecond, 50*time.Millisecond }
func noGrace(o *proc.Options) { o.EOFGrace, o.TermGrace = time.Hour, time.Hour }

// detached are commands that leave the child's group, by what they take along. They
// are started by a child that was told to: it is branded by then.
var detached = map[string]string{
	"its environment": "read line; setsid " + sleeper + " & ",
	"nothing":         "read line; (env -i setsid " + sleeper + " &); ",
}

// A parent that is killed leaves nobody behind.
func TestParentIsKilled(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{
		"a child that waits":             waits,
		"one that ignores signals":       `trap '' TERM HUP INT; ` + waits,
		"one with a child in its group":  sleeper + " & " + waits,
		"one with a child of a child's":  `(` + sleeper + ` &); ` + waits,
		"one whose watcher was killed":   "unwatched trap '' TERM HUP INT; " + waits,
		"an acp-bridge that has a child": "nested " + sleeper + " & " + waits,
	}
	if runtime.GOOS == "linux" {
		for what, script := range detached {
			scripts["one with a session elsewhere, with "+what] = script + waits
			scripts["one that ignores signals, with a session elsewhere, with "+what] = "trap '' TERM; " + script + waits
			scripts["an acp-bridge that has one with a session elsewhere, with "+what] = "nested " + script + waits
		}
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), parentVariable+"="+script)
			out := acptest.Must(cmd.StdoutPipe())
			require.NoError(t, cmd.Start())
			n := 1
			if strings.Contains(script, sleeper) {
				n++
			}
			if strings.HasPrefix(script, "nested") {
				n++
			}
			pids := ids(t, out, n)
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			gone(t, pids...)
		})
	}
}

// A parent may be killed as soon as there is a child: the watcher is there before.
func TestTheWatcherIsFirst(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // what is started beside the child comes behind it
	for range 5 {
		p := acptest.Must(proc.Start(proc.Options{Args: []string{"cat"}}))
		behind := p.Pid() - proc.WatcherPid()
		require.NoError(t, p.End(t.Context()))
		p.Stdout.Close()
		require.True(t, behind > 0 || behind < -1000, "%d", behind) // ids begin again after the highest
	}
}

// A parent may be killed while it starts a child: the watcher knows of it before.
// One that has ended by itself is left alone.
func TestParentIsKilledWhileItStarts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells who started a process")
	}
	for told, ends := range map[string]bool{"start MARK\n": true, "start MARK\nend MARK\n": false, "start 4620000000000000002\n": false} {
		cmd := exec.Command("sh", "-c", sleeper)
		cmd.Env = append(os.Environ(), proc.MarkVariable+"="+proc.AMark)
		out := acptest.Must(cmd.StdoutPipe())
		require.NoError(t, cmd.Start())
		pids := ids(t, out, 1)
		watcher := exec.Command("/bin/sh", "-c", proc.WatchScript, "watch", proc.MarkVariable, "3")
		watcher.Stdin = strings.NewReader(strings.ReplaceAll(told, "MARK", proc.AMark))
		require.NoError(t, watcher.Run())
		if !ends {
			require.True(t, runs(pids[0]), told)
			require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
			require.NoError(t, cmd.Process.Kill())
		}
		_ = cmd.Wait()
		gone(t, pids...)
	}
}

// An acp-bridge that is ended by force by another leaves nobody behind either.
func TestNestedParentIsKilled(t *testing.T) {
	p := acptest.Must(proc.Start(proc.Options{Args: []string{os.Args[0]}, Env: append(os.Environ(), parentVariable+"=trap '' TERM; "+sleeper+" & "+waits)}))
	pids := ids(t, p.Stdout, 2)
	p.Kill()
	require.NoError(t, p.End(t.Context()))
	p.Stdout.Close()
	gone(t, pids...)
}

// The kernel's signal comes when the thread that started the child ends. Go ends
// the thread of a goroutine that is locked to it: the child must survive that.
func TestTheThreadOfTheCallerEnds(t *testing.T) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []*proc.Child
	for range 4 {
		wg.Go(func() {
			runtime.LockOSThread() // and no unlock: the thread ends with this
			p, err := proc.Start(proc.Options{Args: []string{"cat"}})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, p)
		})
	}
	wg.Wait()
	time.Sleep(100 * time.Millisecond) // what must not happen needs time to happen
	for _, p := range all {
		acptest.Must(io.WriteString(p.Stdin, "still here\n"))
		require.Equal(t, "still here\n", acptest.Must(bufio.NewReader(p.Stdout).ReadString('\n')))
		require.NoError(t, p.End(t.Context()))
		p.Stdout.Close()
	}
}

func TestStages(t *testing.T) {
	t.Parallel()
	t.Run("the end of input", func(t *testing.T) {
		p := startShell(t, `cat >/dev/null; exit 3`, noGrace)
		require.NoError(t, p.End(t.Context()))
		require.Equal(t, 3, p.State().ExitCode())
		require.Empty(t, p.Signal())
		p.Kill() // harmless
	})
	t.Run("a hang-up of its own", func(t *testing.T) {
		var p *proc.Child
		p = startShell(t, `read go; read line; echo "$line"; exit 4`, noGrace, func(o *proc.Options) {
			o.HangUp = func() { _, _ = io.WriteString(p.Stdin, "bye\n") }
		})
		require.NoError(t, p.End(t.Context()))
		require.Equal(t, "bye\n", string(acptest.Must(io.ReadAll(p.Stdout))))
	})
	t.Run("SIGTERM", func(t *testing.T) {
		p := startShell(t, `trap 'exit 5' TERM; echo $$; while :; do sleep 0.01; done`, func(o *proc.Options) { o.EOFGrace, o.TermGrace = -1, time.Hour })
		ids(t, p.Stdout, 1)
		require.NoError(t, p.End(t.Context()))
		require.Equal(t, 5, p.State().ExitCode())
	})
	t.Run("SIGKILL, the group included", func(t *testing.T) {
		p := startShell(t, `trap '' TERM; `+sleeper+` & `+waits, hurry)
		other := ids(t, p.Stdout, 1)
		require.NoError(t, p.End(t.Context()))
		require.Equal(t, "killed", p.Signal())
		gone(t, append(other, p.Pid())...)
	})
	t.Run("a stopped one", func(t *testing.T) {
		p := startShell(t, `echo $$; kill -STOP $$`, hurry)
		ids(t, p.Stdout, 1)
		require.NoError(t, p.End(t.Context()))
	})
	t.Run("the context", func(t *testing.T) {
		p := startShell(t, `trap '' TERM; echo $$; `+waits, noGrace)
		ids(t, p.Stdout, 1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		go p.Kill() // from several sides
		require.NoError(t, p.End(ctx))
		require.NoError(t, p.End(ctx), "again")
	})
}

// What a child has put into sessions of their own ends with one that is ended by
// force, and with no other: one that ends by itself knows what is to outlive it.
func TestDetachedCommands(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells who started a process")
	}
	for what, script := range detached {
		t.Run("with "+what, func(t *testing.T) {
			t.Parallel()
			bystander := ids(t, startShell(t, script+waits, hurry).Stdout, 1)
			killed := startShell(t, "trap '' TERM; "+script+waits, hurry)
			pids := ids(t, killed.Stdout, 1)
			require.NoError(t, killed.End(t.Context()))
			gone(t, pids...)

			asked := startShell(t, "trap 'exit 1' TERM; "+script+`while :; do sleep 0.01; done`, func(o *proc.Options) { o.EOFGrace, o.TermGrace = -1, time.Hour })
			pids = ids(t, asked.Stdout, 1)
			require.NoError(t, asked.End(t.Context()))
			gone(t, pids...)

			done := startShell(t, script+`read line`, noGrace)
			pids = ids(t, done.Stdout, 1)
			require.NoError(t, done.End(t.Context()))
			require.True(t, runs(pids[0]))
			require.True(t, runs(bystander[0]))
		})
	}
}

// A child that forks and exits takes its group along; a process elsewhere that
// holds its output keeps nobody waiting, and what was said is read.
func TestForksAndExits(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"in the group": sleeper + ` & `,
		"elsewhere":    `setsid ` + sleeper + ` & `,
	} {
		t.Run(name, func(t *testing.T) {
			p := startShell(t, script+`read go; read line; printf 'last words' >&2; printf done; exit 7`)
			pids := ids(t, p.Stdout, 1)
			acptest.Must(io.WriteString(p.Stdin, "\n"))
			<-p.Exited()
			text, _ := io.ReadAll(p.Stdout)
			require.Equal(t, "done", string(text))
			require.Equal(t, "sh ended: exit status 7", p.Ending())
			require.Equal(t, []string{"last words"}, p.LastWords(3))
			if name == "in the group" {
				gone(t, pids...)
			}
		})
	}
}

func TestClosesItsOutput(t *testing.T) {
	t.Parallel()
	p := startShell(t, `exec >&-; sleep 1000`, hurry)
	require.ErrorIs(t, acptest.Err(p.Stdout.Read(make([]byte, 1))), io.EOF)
	require.Equal(t, "sh closed its output", p.Ending())
	require.NoError(t, p.End(t.Context()))
	require.Equal(t, "sh ended: signal: terminated", p.Ending())
}

type stuck struct{ until chan struct{} }

func (s stuck) Write([]byte) (int, error) { <-s.until; return 0, errors.New("full") }

// Standard error is read whether anybody wants it or not.
func TestFloodsStandardError(t *testing.T) {
	t.Parallel()
	var said int
	p := startShell(t, `i=0; while [ $i -lt 30 ]; do i=$((i+1)); printf 'line %d\033[2J ' $i; head -c 100000 /dev/zero | tr '\0' y; echo; done >&2; head -c 300000 /dev/zero | tr '\0' z >&2; exit 1`,
		func(o *proc.Options) { o.Said = func(string) { said++ } })
	<-p.Exited()
	require.Equal(t, 30, said)
	words := p.LastWords(50)
	require.Len(t, words, 20)
	for _, w := range words {
		require.LessOrEqual(t, len(w), 504)
	}
	require.Equal(t, strings.Repeat("z", 499)+"…", p.LastWords(1)[0])

	until := make(chan struct{})
	defer close(until)
	p = startShell(t, `echo one >&2; echo two >&2`, func(o *proc.Options) { o.Stderr = stuck{until} })
	<-p.Exited() // a log that takes nothing holds nobody
	require.Equal(t, "one", p.LastWords(9)[0])
}

func TestCannotBeStarted(t *testing.T) {
	for range 2 {
		require.ErrorIs(t, acptest.Err(proc.Start(proc.Options{Args: []string{"/does/not/exist"}})), os.ErrNotExist)
	}
}

func TestFiles(t *testing.T) {
	r, w := acptest.Must2(os.Pipe())
	p := startShell(t, `echo passed on >&3`, func(o *proc.Options) { o.Files = []*os.File{w} })
	w.Close()
	require.Equal(t, "passed on\n", string(acptest.Must(io.ReadAll(r))))
	<-p.Exited()
}

// What is for acp-bridge alone stays with it, wherever the environment is from.
func TestEnvironment(t *testing.T) {
	t.Setenv("ACP_BRIDGE_HUB_TOKEN", "secret")
	t.Setenv("CHILD_TEST", "kept")
	for name, env := range map[string][]string{
		"its own":   nil,
		"another's": append(os.Environ(), "ACP_BRIDGE_TOOL=secret", "Acp_Bridge_Hub_Token=secret"),
	} {
		t.Run(name, func(t *testing.T) {
			p := startShell(t, `env`, func(o *proc.Options) { o.Env = env })
			text := acptest.Must(io.ReadAll(p.Stdout))
			require.NotContains(t, string(text), "secret")
			require.Contains(t, string(text), "CHILD_TEST=kept\n")
		})
	}
}
