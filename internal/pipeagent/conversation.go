package pipeagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/child"
	"github.com/acp-bridge/acp-bridge/internal/typed"
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
	typed  typed.Reader // of Read, which is called for one prompt at a time
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
	if text := c.typed.Read(r.Prompt).String(); text != "" {
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

// run runs the command until it has ended. A turn that is over ends it.
func (c *conversation) run(ctx context.Context, prompt string) error {
	argv := append(slices.Clone(c.backend.opts.Command), prompt)
	p, err := child.Start(child.Options{Args: argv, Dir: c.dir, Stderr: c.backend.opts.Stderr, EOFGrace: -1})
	if err != nil {
		return editor.Internal(fmt.Sprintf("%s could not be started: %s", clean.Line(filepath.Base(argv[0])), err))
	}
	defer p.Stdout.Close()
	defer p.End(context.Background())
	defer context.AfterFunc(ctx, p.Finish)()
	server := c.backend.server(c.out)
	server.Else = c.line
	if err := server.Serve(ctx, p.Stdout, p.Stdin); err != nil && ctx.Err() == nil {
		c.backend.log.Debug("the command's pipe broke", "session", c.out.ID(), "err", err)
	}
	_ = p.Stdin.Close()
	_, _ = io.Copy(io.Discard, p.Stdout) // it may write on until it ends
	<-p.Exited()
	if p.State().Success() {
		return nil
	}
	said := strings.Join(p.LastWords(lastLines), " | ")
	return editor.Internal(strings.TrimSuffix(p.Ending()+": "+said, ": "))
}

// lastLines is how much of what a command said on its standard error is shown
// when it fails.
const lastLines = 3

// line takes a line that is no request. What is JSON is not for people.
func (c *conversation) line(line []byte) {
	if clean.ValidJSON(line) && bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		c.backend.log.Debug("a line of the command is no request", "session", c.out.ID())
		return
	}
	c.say(string(line) + "\n")
}
