package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/drain"
)

const (
	// endGrace is how long an agent may take to end after its input has, and
	// again after it was asked to.
	endGrace = 2 * time.Second
	// exitGrace is how long the exit of an agent that closed its output is waited
	// for, to say what it was.
	exitGrace = time.Second
)

// process is a running agent.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr tail
	exited chan struct{}
}

// startProcess starts an agent that ends with this process, however that ends.
func startProcess(c Command) (*process, error) {
	p := &process{cmd: exec.Command(c.Args[0], c.Args[1:]...), exited: make(chan struct{})}
	p.stderr.to = c.Stderr
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = c.Dir, c.Env, &p.stderr
	p.cmd.WaitDelay = exitGrace // of what the agent left running
	tie(p.cmd)
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inR.Close(), inW.Close())
	}
	p.cmd.Stdin, p.cmd.Stdout, p.stdin, p.stdout = inR, outW, inW, outR
	started := make(chan error, 1)
	go func() {
		// The kernel ends the child with the thread that started it: that has to
		// live as long.
		runtime.LockOSThread()
		defer close(p.exited)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
			killGroup(p.cmd) // what it left behind would hold its output open
			drain.Bound(p.stdout)
		}
	}()
	err = <-started
	_ = inR.Close()
	_ = outW.Close()
	if err != nil {
		_ = inW.Close()
		_ = outR.Close()
		return nil, fmt.Errorf("the agent could not be started: %w", err)
	}
	return p, nil
}

func (p *process) name() string { return clean.Line(filepath.Base(p.cmd.Path)) }

// explain says how an agent ended that closed its output.
func (p *process) explain(why error) error {
	select {
	case <-p.exited:
	case <-time.After(exitGrace):
		return fmt.Errorf("%w: %s closed its output", why, p.name())
	}
	err := fmt.Errorf("%w: %s ended: %s", why, p.name(), p.cmd.ProcessState)
	if last := p.stderr.last(); last != "" {
		err = fmt.Errorf("%w; its last words: %s", err, last)
	}
	return err
}

// end ends the agent and all of its group: by the end of its input first, then
// by a signal, then by force.
func (p *process) end() {
	defer p.stdout.Close()
	_ = p.stdin.Close()
	for _, next := range []func(*exec.Cmd){termGroup, killGroup} {
		select {
		case <-p.exited:
		case <-time.After(endGrace):
		}
		next(p.cmd) // also for what an agent that has ended left behind; its group keeps its id
	}
	<-p.exited
}

// tail passes on what an agent says on its standard error, and keeps the end of
// it.
type tail struct {
	to io.Writer

	mu   sync.Mutex
	kept []byte
}

const keepTail = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.kept = append(t.kept, b...)
	if extra := len(t.kept) - keepTail; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	t.mu.Unlock()
	if t.to != nil {
		_, _ = t.to.Write(b) // an agent must not die of our log
	}
	return len(b), nil
}

// last is the last lines, as one.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for _, l := range bytes.Split(t.kept, []byte("\n")) {
		if text := clean.Line(string(l)); text != "" {
			lines = append(lines, text)
		}
	}
	const few = 3
	return strings.Join(lines[max(0, len(lines)-few):], " | ")
}
