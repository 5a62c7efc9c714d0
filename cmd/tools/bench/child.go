package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// child is a process that speaks lines on its stdin and stdout.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr tail
	read   chan struct{} // closed by whoever has read out to its end
}

const (
	maxLine = 16 << 20
	// endGrace is how long a child may take to end after the end of its input.
	endGrace = 5 * time.Second
)

func startChild(ctx context.Context, command, env []string, dir string) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, command[0], command[1:]...), read: make(chan struct{})}
	c.cmd.Env, c.cmd.Dir, c.cmd.Stderr = env, dir, &c.stderr
	c.cmd.WaitDelay = time.Second // grandchildren may hold stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewScanner(out)
	c.out.Buffer(make([]byte, 0, 64<<10), maxLine)
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) write(line string) error {
	_, err := io.WriteString(c.in, line+"\n")
	return err
}

// end closes the input and waits for the process, which it kills after a grace.
func (c *child) end() error {
	c.in.Close()
	timer := time.AfterFunc(endGrace, func() { c.cmd.Process.Kill() })
	defer timer.Stop()
	<-c.read
	if err := c.cmd.Wait(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%s: %w: %s", c.cmd.Path, err, c.stderr.String())
	}
	return nil
}

// tail keeps the last of what a child says on stderr.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const keep = 2000
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - keep; over > 0 {
		t.data = bytes.Clone(t.data[over:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.data))
}

// environment is what children get: nothing of the user's but the PATH.
func environment(home string, more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir()}, more...)
}
