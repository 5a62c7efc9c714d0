package proxy

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/drain"
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
	if c, started.side, err = started.profile.launch(c); err != nil {
		return err
	}
	p, err := startProcess(c)
	if err != nil {
		return err
	}
	defer p.end()
	started.explain = p.explain
	return relay(ctx, Stream{in, out}, Stream{&drain.Reader{File: p.stdout, Ended: p.exited}, p.stdin}, o, started)
}

// profileOf is that of an agent that is started by this program.
func profileOf(program string) Profile {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	for _, known := range Profiles() {
		if slices.Contains(known.Programs, name) {
			return known
		}
	}
	return Profile{}
}
