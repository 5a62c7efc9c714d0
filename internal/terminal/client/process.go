package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/group"
)

const (
	// endGrace is how long an agent may take to end after its input has, and
	// again after it was asked to.
	endGrace = 2 * time.Second
	// exitGrace is how long the exit of an agent that closed the connection is
	// waited for, to say what it was.
	exitGrace = time.Second
)

// process is an agent that was started here.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *tail
	exited chan struct{}
}

// RunAgent starts an agent and talks to it as [Run] does. The agent ends with
// the client. If it ends before, the last lines that it wrote on its standard
// error are shown on Options.Err, and the error says how it ended.
func RunAgent(ctx context.Context, argv []string, o Options) error {
	p, err := startProcess(argv, o.Dir)
	if err != nil {
		return err
	}
	err = Run(ctx, p.stdout, p.stdin, o)
	if errors.Is(err, errGone) {
		err = p.explain()
	}
	p.end()
	if err == nil || errors.Is(err, ErrCancelled) || o.Err == nil {
		return err
	}
	for _, l := range p.stderr.last() {
		_, _ = fmt.Fprintf(o.Err, "%s: %s\n", p.name(), l)
	}
	words, err := split(err)
	if words != "" {
		_, _ = fmt.Fprintln(o.Err, words)
	}
	return err
}

func startProcess(argv []string, dir string) (*process, error) {
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), stderr: &tail{}, exited: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = exitGrace // of what the agent left running
	group.Set(p.cmd)
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inR.Close(), inW.Close())
	}
	p.cmd.Stdin, p.cmd.Stdout, p.stdin, p.stdout = inR, outW, inW, outR
	err = p.cmd.Start()
	_ = inR.Close()
	_ = outW.Close()
	if err != nil {
		_ = inW.Close()
		_ = outR.Close()
		return nil, fmt.Errorf("the agent could not be started: %w", err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

func (p *process) name() string { return clean.Line(filepath.Base(p.cmd.Path)) }

// explain says how an agent ended that closed the connection.
func (p *process) explain() error {
	select {
	case <-p.exited:
		return fmt.Errorf("the agent %s ended: %s", p.name(), p.cmd.ProcessState)
	case <-time.After(exitGrace):
		return fmt.Errorf("the agent %s closed the connection", p.name())
	}
}

// end ends the agent and all of its group: by the end of its input first, then
// by a signal, then by force.
func (p *process) end() {
	defer p.stdout.Close()
	_ = p.stdin.Close()
	for _, next := range []func(*exec.Cmd){group.Term, group.Kill} {
		select {
		case <-p.exited:
		case <-time.After(endGrace):
		}
		next(p.cmd) // also for what an agent that has ended left behind; its group keeps its id
	}
	<-p.exited
}
