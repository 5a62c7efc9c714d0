package pipeagent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// conversation runs the commands of one session, one for each prompt.
type conversation struct {
	backend *backend
	out     *editor.Session
	dir     string
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
	p, err := proc.Start(proc.Options{Args: argv, Dir: c.dir, Stderr: c.backend.opts.Stderr, EOFGrace: -1})
	if err != nil {
		return conn.Internal(fmt.Sprintf("%s could not be started: %s", clean.Line(filepath.Base(argv[0])), err))
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
	return conn.Internal(strings.TrimSuffix(p.Ending()+": "+said, ": "))
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
