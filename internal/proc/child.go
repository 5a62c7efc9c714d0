// Package proc is about this process and others: locks between them, how long others are
// waited for, and children. It runs the programs that acp-bridge starts: Claude Code, proxied
// agents, the agent of a chat, the command of a pipe. It is the one place that
// knows how such a program ends:
//
//	p, err := proc.Start(proc.Options{Args: []string{"agent", "--acp"}})
//	defer p.End(ctx)
//	io.Copy(p.Stdin, …); io.Copy(…, p.Stdout)
//
// What holds for each of them:
//
//	who ends                  what ends with it
//	the child, by itself      its process group. What it put into sessions of their own is
//	                          the user's: a daemon, a terminal multiplexer
//	the child, by a signal    its group and, on Linux, all that it ever started: it could
//	(anybody's, or ours)      not do that itself
//	this process, even by     the same: a watcher outlives it for as long as that takes. On
//	SIGKILL                   other Unixes it ends the group; on Windows a job object ends all
//
// Its standard error is always read, also when nobody wants it, and the last
// lines are kept. Its output is read to the end, but never waited for behind a
// process that inherited it. No signal is sent to a process that was reaped: its
// id may be another's.
package proc

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

const (
	// exitGrace is how long the exit of a child that closed its output is waited
	// for, to say what it was. It is longer than wordsGrace, which is part of it.
	exitGrace = 3 * time.Second
	// wordsGrace is how long the exit waits for a reader of standard error that
	// does not take what was written.
	wordsGrace = 2 * time.Second
	// settleGrace is how long End waits beyond SIGKILL. A busy machine needs some of it.
	settleGrace = 10 * time.Second
)

// Options say what to run.
type Options struct {
	// Args are the program and its arguments.
	Args []string
	// Dir is the working directory; empty is that of this process.
	Dir string
	// Env is the environment; nil is that of this process. What is for acp-bridge
	// alone is taken out of it: see [Environ].
	Env []string
	// Files are inherited, the first as descriptor 3.
	Files []*os.File

	// Stderr gets what the child writes to its standard error, as it is. What it
	// fails to take is lost: a child must not die of a log.
	Stderr io.Writer
	// Said gets each line of it, cleaned for people.
	Said func(line string)
	// Logger is told when a child has to be forced; nil discards that.
	Logger *slog.Logger

	// HangUp ends the child's input; nil closes Stdin.
	HangUp func()
	// EOFGrace is how long End waits after that before SIGTERM, negative for not at
	// all; TermGrace how long after SIGTERM before SIGKILL. Zero is 2 s.
	EOFGrace, TermGrace time.Duration
}

// Child is a running child. End must be called, also when it ended by itself.
type Child struct {
	// Stdin and Stdout are for one user each, who also closes Stdout.
	Stdin  *os.File
	Stdout *Output

	o      Options
	cmd    *exec.Cmd
	tie    *tie
	tail   tail
	exited chan struct{}

	ending sync.Once
	ended  chan struct{} // closed when the stages are over

	mu     sync.Mutex // held while a signal is sent or the process is reaped
	reaped bool
	forced bool // by a signal from here
}

// Start runs a program.
func Start(o Options) (*Child, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.EOFGrace, o.TermGrace = cmp.Or(o.EOFGrace, 2*time.Second), cmp.Or(o.TermGrace, 2*time.Second)
	p := &Child{o: o, tail: tail{to: o.Stderr, seen: o.Said}, exited: make(chan struct{}), ended: make(chan struct{})}
	stderr, err := p.start()
	if err != nil {
		return nil, err
	}
	if p.o.HangUp == nil {
		p.o.HangUp = func() { _ = p.Stdin.Close() }
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		// There may be a hundred children, and few say much: no 32 kB for each.
		_, _ = io.CopyBuffer(&p.tail, &Output{file: stderr}, make([]byte, 2<<10))
	}()
	go p.wait(stderr, read)
	return p, nil
}

// start makes the pipes and the process. The pipes are made here and not by
// os/exec, which would close them under the reader.
func (p *Child) start() (stderr *os.File, err error) {
	var files []*os.File
	defer func() {
		for i, f := range files {
			if err != nil || i%2 == 0 { // the child's ends
				_ = f.Close()
			}
		}
	}()
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		if len(files) > 0 {
			r, w = w, r
		}
		files = append(files, r, w)
	}
	p.cmd = exec.Command(p.o.Args[0], p.o.Args[1:]...)
	p.cmd.Dir, p.cmd.Env, p.cmd.ExtraFiles = p.o.Dir, Environ(p.o.Env), p.o.Files
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = files[0], files[2], files[4]
	if p.tie, err = start(p.cmd); err != nil {
		return nil, err
	}
	p.Stdin, p.Stdout = files[1], &Output{file: files[3], ended: p.exited}
	return files[5], nil
}

// wait collects the exit and takes along what is left of the child.
func (p *Child) wait(stderr *os.File, read <-chan struct{}) {
	awaitExit(p.cmd)
	p.mu.Lock()
	p.tie.kill(p.cmd) // it is a zombie still: the group's id is its own
	_ = p.cmd.Wait()
	p.reaped = true
	forced := p.forced || p.Signal() != ""
	p.mu.Unlock()
	p.tie.release(forced)
	bound(stderr)
	Within(read, wordsGrace)
	_ = stderr.Close()
	close(p.exited)
	bound(p.Stdout.file)
}

// Name is the program's, for people.
func (p *Child) Name() string { return clean.Line(filepath.Base(p.o.Args[0])) }

// Pid is the child's process id, and on Unix that of its group.
func (p *Child) Pid() int { return p.cmd.Process.Pid }

// Exited is closed when the child is gone, and its group with it. What it wrote
// may still be in Stdout.
func (p *Child) Exited() <-chan struct{} { return p.exited }

// State is how the child ended, once Exited is closed.
func (p *Child) State() *os.ProcessState { return p.cmd.ProcessState }

// Signal names the signal that ended the child, if one did.
func (p *Child) Signal() string { return exitSignal(p.cmd.ProcessState) }

// LastWords are the last lines, at most n, that the child wrote to its standard
// error, cleaned for people.
func (p *Child) LastWords(n int) []string { return p.tail.last(n) }

// Ending says of a child that closed its output what became of it.
func (p *Child) Ending() string {
	if Within(p.exited, exitGrace) {
		return fmt.Sprintf("%s ended: %s", p.Name(), p.State())
	}
	return p.Name() + " closed its output"
}

// Kill ends the child at once, with all that it started. It does not wait.
func (p *Child) Kill() { p.signal(p.tie.kill) }

// signal runs send unless the process was reaped.
func (p *Child) signal(send func(*exec.Cmd)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.forced = true
		send(p.cmd)
	}
}

// Finish makes the child end: by the end of its input first, then by SIGTERM to
// its group, then by SIGKILL. It returns at once.
func (p *Child) Finish() {
	p.ending.Do(func() { go p.stages() })
}

func (p *Child) stages() {
	defer close(p.ended)
	p.o.HangUp()
	if p.outlives(p.o.EOFGrace) {
		p.o.Logger.Debug("a program goes on after the end of its input: SIGTERM", "program", p.Name())
		p.signal(p.tie.term)
		if p.outlives(p.o.TermGrace) {
			p.o.Logger.Warn("a program did not end: SIGKILL", "program", p.Name())
			p.Kill()
		}
	}
}

// outlives reports whether the child is there after a grace.
func (p *Child) outlives(d time.Duration) bool { return !Within(p.exited, d) }

// End is Finish, and returns when the child is gone. When ctx ends it kills at
// once. A child that the kernel holds is an error.
func (p *Child) End(ctx context.Context) error {
	p.Finish()
	limit, stop := Context(context.Background(), p.o.EOFGrace+p.o.TermGrace+settleGrace)
	defer stop()
	for cancelled := ctx.Done(); ; {
		select {
		case <-p.exited:
			<-p.ended
			_ = p.Stdin.Close()
			return nil
		case <-cancelled:
			p.Kill()
			cancelled = nil
		case <-limit.Done():
			return fmt.Errorf("%s, process %d, does not end", p.Name(), p.Pid())
		}
	}
}
