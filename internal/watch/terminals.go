package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Terminals are those of an agent that can be watched with nothing installed.
type Terminals struct {
	Agent string // for people
	Name  string // the word of a command
	// Serve watches those that are there, until they or ctx end.
	Serve func(ctx context.Context, w *Watch) error
}

// Problem says for people why terminals are not watched. It stays until they do something.
type Problem string

func (p Problem) Error() string { return string(p) }

// AgainTime is how often terminals are looked for that are not there, and problemTime how
// often if there is a problem with them.
const (
	AgainTime   = 2 * time.Second
	problemTime = 30 * time.Second
)

// Run watches, whenever there are terminals, until ctx ends. Say is told of a problem,
// once; it must not block.
func (t Terminals) Run(ctx context.Context, w *Watch, say func(string)) {
	var said Problem
	for ctx.Err() == nil {
		err := t.Serve(ctx, w)
		w.EndAll(t.Agent+" has ended, or does not talk to us any more", func(desk.Item) bool { return true })
		again := AgainTime
		if p := Problem(""); errors.As(err, &p) {
			if p != said {
				said = p
				say(t.Agent + "'s terminals are not watched: " + p.Error())
			}
			again = problemTime
		}
		proc.Sleep(ctx, again)
	}
}

// Lock makes sure that one process of a user watches: two would ask everything twice.
// It fails with [proc.ErrLocked] if another does.
func (t Terminals) Lock() (unlock func(), err error) {
	name, err := hublink.StateFile("watch-" + t.Name + ".lock")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	if unlock, err = proc.LockFile(name); errors.Is(err, proc.ErrLocked) {
		err = fmt.Errorf("the terminals of %s are watched already, by the hub or by another acp-bridge watch: %w", t.Agent, err)
	}
	return unlock, err
}
