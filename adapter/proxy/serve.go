package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Command is how an agent is started.
type Command struct {
	// Args are the program and its arguments.
	Args []string
	// Env is the environment; nil is that of this process.
	Env []string
	// Dir is the working directory; empty is that of this process.
	Dir string
	// Stderr gets what the agent says on its standard error; nil discards it.
	Stderr io.Writer
}

// Serve starts an agent and stands between it and an editor, which speaks on in
// and listens on out, until one of them ends. The agent ends with it, and all
// that the agent has started. An agent that ends by itself is an error; the end
// of in is none.
func Serve(ctx context.Context, in io.Reader, out io.Writer, c Command, o Options) error {
	if len(c.Args) == 0 {
		return errors.New("no agent is named")
	}
	started := launched{profile: o.Agent}
	if started.profile.Name == "" {
		started.profile = profileOf(c.Args[0])
	}
	var err error
	if c, started.side, err = started.profile.launch(ctx, c); err != nil {
		return err
	}
	if started.profile.Until > 0 && started.side == nil && o.Tool != ToolNever {
		started.plugin, err = c.plug()
		defer os.RemoveAll(started.plugin)
		if err != nil {
			return fmt.Errorf("the agent's question tool could not be written: %w", err)
		}
	}
	p, err := proc.Start(proc.Options{Args: c.Args, Env: c.Env, Dir: c.Dir, Stderr: c.Stderr})
	if err != nil {
		return fmt.Errorf("the agent could not be started: %w", err)
	}
	defer p.Stdout.Close()
	defer p.End(context.Background())
	started.explain = func(why error) error { return explain(p, why) }
	return relay(ctx, Stream{in, out}, Stream{p.Stdout, p.Stdin}, o, started)
}

// explain says how an agent ended that closed its output.
func explain(p *proc.Child, why error) error {
	err := fmt.Errorf("%w: %s", why, p.Ending())
	if last := p.LastWords(3); len(last) > 0 {
		err = fmt.Errorf("%w; its last words: %s", err, strings.Join(last, " | "))
	}
	return err
}

// profileOf is that of an agent that is started by this program.
func profileOf(program string) Profile {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	return profileWith(func(p Profile) bool { return slices.Contains(p.Programs, name) })
}
