package pipeagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/group"
)

// conversation runs the commands of one session, one for each prompt.
type conversation struct {
	backend *backend
	out     *editor.Session
	dir     string
	turns   sync.WaitGroup

	mu     sync.Mutex
	stop   context.CancelFunc // of the command that runs, nil if none does
	killed bool
}

// Start implements [editor.Conversation].
func (c *conversation) Start(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = false
	return nil
}

// Read implements [editor.Conversation].
func (c *conversation) Read(r acp.PromptRequest) (any, error) {
	if text := promptText(r); text != "" {
		return text, nil
	}
	return nil, nil
}

// Prompt implements [editor.Conversation].
func (c *conversation) Prompt(id string, content any) error {
	ctx, stop := context.WithCancel(c.out.Context())
	c.mu.Lock()
	c.stop = stop
	c.mu.Unlock()
	c.turns.Go(func() {
		defer stop()
		c.out.Began(false)
		err := c.play(ctx, content.(string))
		if ctx.Err() != nil {
			err = nil // it was told to end
		}
		c.out.EndTurn(editor.TurnEnd{Prompts: []string{id}, Reason: acp.StopReasonEndTurn, Err: err}, func(bool) {})
		c.mu.Lock()
		killed := c.killed
		c.mu.Unlock()
		if killed {
			c.out.Exited(errors.New("the command was stopped"), func(bool) {})
		}
	})
	return nil
}

// Interrupt implements [editor.Conversation].
func (c *conversation) Interrupt(context.Context, bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop()
	}
	return nil
}

// Kill implements [editor.Conversation].
func (c *conversation) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	if c.stop != nil {
		c.stop()
	}
}

// Close implements [editor.Conversation].
func (c *conversation) Close(ctx context.Context) error {
	_ = c.Interrupt(ctx, true)
	c.turns.Wait()
	return nil
}

// Request implements [editor.Conversation].
func (c *conversation) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	return c.backend.Request(ctx, method, params)
}

// play is one turn.
func (c *conversation) play(ctx context.Context, prompt string) error {
	if len(c.backend.opts.Command) == 0 {
		c.say("Nothing runs here: what agents ask at " + c.backend.opts.Listener.Addr().String() + " is asked in this session.")
		return nil
	}
	return c.run(ctx, prompt)
}

func (c *conversation) say(text string) { c.out.Text(editor.MessageChunk, text) }

// endGrace is how long a command may take to end when it is told to.
const endGrace = 2 * time.Second

// run runs the command until it has ended.
func (c *conversation) run(ctx context.Context, prompt string) error {
	argv := append(slices.Clone(c.backend.opts.Command), prompt)
	name := clean.Line(filepath.Base(argv[0]))
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	group.Set(cmd)
	var kill *time.Timer
	cmd.Cancel = func() error {
		group.Term(cmd)
		kill = time.AfterFunc(endGrace, func() { group.Kill(cmd) })
		return nil
	}
	cmd.WaitDelay = 2 * endGrace // of what it left running
	last := &tail{}
	cmd.Dir, cmd.Stderr = c.dir, io.MultiWriter(c.backend.opts.Stderr, last)
	in, err := cmd.StdinPipe()
	if err != nil {
		return editor.Internal(err.Error())
	}
	out, w := io.Pipe()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		return editor.Internal(fmt.Sprintf("%s could not be started: %s", name, err))
	}
	exited := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		if kill != nil {
			kill.Stop()
		}
		_ = w.Close()
		exited <- err
	}()
	server := c.backend.server(c.out)
	server.Else = c.line
	served := server.Serve(ctx, out, in)
	_ = in.Close()
	if served != nil && ctx.Err() == nil {
		c.backend.log.Debug("the command's pipe broke", "session", c.out.ID(), "err", served)
	}
	_, _ = io.Copy(io.Discard, out) // it may write on until it ends
	if err := <-exited; err != nil {
		return editor.Internal(strings.TrimSuffix(fmt.Sprintf("%s ended: %s: %s", name, err, last), ": "))
	}
	return nil
}

// line takes a line that is no request. What is JSON is not for people.
func (c *conversation) line(line []byte) {
	if clean.ValidJSON(line) && bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		c.backend.log.Debug("a line of the command is no request", "session", c.out.ID())
		return
	}
	c.say(string(line) + "\n")
}

// tail keeps the end of what a command wrote.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const keepTail = 512

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	t.kept = t.kept[max(0, len(t.kept)-keepTail):]
	return len(b), nil
}

// String is the end in one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return clean.Line(strings.ToValidUTF8(strings.ReplaceAll(strings.TrimSpace(string(t.kept)), "\n", " | "), ""))
}
