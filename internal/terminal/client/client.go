package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// Options say where and how the client runs. The zero value runs on the
// process's own streams.
type Options struct {
	// In is where keys or lines come from, Out where everything is shown; nil is
	// standard input and output. Err gets what an agent said on its standard
	// error, if it fails; nil discards it.
	In       io.Reader
	Out, Err io.Writer
	// Plain reads and writes lines, without drawing.
	Plain bool
	// Answers makes answers of the lines that are there when a question comes, if no
	// person types them. Without it they are the prompts that follow.
	Answers bool
	// Environ looks up environment variables; nil is os.Getenv.
	Environ func(string) string
	// Dir is the session's working directory; empty is that of the process.
	Dir string
	// Session is a session of the agent to go on with. With Resume the user
	// chooses one of those that were held in Dir.
	Session string
	Resume  bool
	// Last goes on with the last session that was held in Dir.
	Last bool
	// Version is what the client says of itself.
	Version string
	// Prompt is sent at the start, without being typed. With Once the client
	// leaves when the agent is done with it.
	Prompt string
	Once   bool
	// Hidden does not show the Prompt.
	Hidden bool
	// Rest sends the Prompt only if the agent asks nothing again that was open
	// when Session ended: the answer to that is the turn. A session that is gone,
	// or asks nothing, is replaced by a new one.
	Rest bool
	// Instead sends the Prompt in place of an answer to what is asked again, which
	// the Resolver leaves open until it is withdrawn.
	Instead bool
	// Opened, if not nil, is told the id of the session, and whether the agent asks
	// something again by itself that was open when the session ended.
	Opened func(session string, again bool)
	// Desk, if not nil, gets everything that the agent asks. Who answers there
	// first has answered.
	Desk *desk.Desk
	// Wire shows the lines of the connection between the others.
	Wire bool
	// WireFull shows them whole, with what they hold on lines of its own.
	WireFull bool
	// Resolver answers the agent's questions in the user's place. An outcome that
	// is Disconnected leaves the question without a reply, and the client leaves
	// with the Resolver's error.
	Resolver adapter.Resolver
	// Approver is the Resolver of permission requests; nil is Resolver.
	Approver adapter.Resolver
	// Commands can be typed behind a slash, beside the client's own and the
	// agent's.
	Commands []Command
}

// Command is something that a person can have done in the client. Run gets what
// is typed behind the name and returns what to show; it must not block.
type Command struct {
	Name, Description string
	Run               func(args string) string
}

// ErrCancelled is returned after a turn that was to be the only one and that
// the user cancelled, and where the user chose no session to go on with.
var ErrCancelled = errors.New("cancelled")

// Run talks to an agent that reads from w and writes to r, until the user
// leaves, ctx ends or the agent does. It returns nil when the user left, and
// with Options.Once when the turn was over.
//
// r and w stay the caller's, as those of [conn.New] do.
func Run(ctx context.Context, r io.Reader, w io.Writer, o Options) error {
	o.In, o.Out = cmp.Or[io.Reader](o.In, os.Stdin), cmp.Or[io.Writer](o.Out, os.Stdout)
	if o.Environ == nil {
		o.Environ = os.Getenv
	}
	if o.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		o.Dir = dir
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l := dial(r, w, &o)
	defer l.conn.Close()
	start := func() { go l.open(ctx, &o) }
	if o.Resolver == nil && !o.Plain {
		if err := runWindow(ctx, l, &o, start); !errors.Is(err, tty.ErrNoTerminal) {
			return err
		}
	}
	return runPlain(ctx, l, &o, start)
}

// replays reports whether the agent tells an earlier session first.
func (o *Options) replays() bool { return o.Resume || o.Last || o.Session != "" }

// folder is the working directory as a person writes it.
func (o *Options) folder() string {
	home := strings.TrimSuffix(o.Environ("HOME"), string(filepath.Separator))
	if rest, ok := strings.CutPrefix(o.Dir, home); ok && home != "" && (rest == "" || os.IsPathSeparator(rest[0])) {
		return "~" + rest
	}
	return o.Dir
}
