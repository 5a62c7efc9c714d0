package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/filelock"
	"github.com/acp-bridge/acp-bridge/internal/watch"
	"github.com/acp-bridge/acp-bridge/internal/watch/codex"
)

// watched are the agents that can be watched with nothing installed.
var watched = []string{"codex"}

func watchCommand(fs *flagSet) runner {
	var h hubFlags
	h.flags(fs)
	return func(ctx context.Context, args []string, s streams) error {
		words, err := fs.ParseWords(args)
		if err != nil {
			return err
		}
		if len(words) != 1 || words[0] != watched[0] {
			return misused("expected acp-bridge watch codex")
		}
		h.atLocalHub()
		if err := h.check(0); err != nil {
			return err
		}
		return watchCodex(ctx, h, s)
	}
}

func watchCodex(ctx context.Context, h hubFlags, s streams) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	socket, err := codex.Socket()
	if err != nil {
		return err
	}
	unlock, err := lockWatch()
	if err != nil {
		return err
	}
	defer unlock()
	fmt.Fprintf(s.err, "acp-bridge watch: what Codex asks in any terminal is at %s, too; Ctrl+C ends that\n", clean.Line(h.address))
	w := watch.Start(*h.options(hubLogger("watch", s)))
	defer w.Close()
	codex.Run(ctx, codex.Options{Socket: socket, Version: version(), Watch: w, Say: func(text string) { tell(s, "watch", text) }})
	return nil
}

// lockWatch makes sure that one process watches: two would ask everything twice.
func lockWatch() (unlock func(), err error) {
	name, err := stateFile("watch-codex.lock")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Try(f); err != nil {
		f.Close()
		if errors.Is(err, filelock.ErrLocked) {
			err = errors.New("Codex is watched already, by another acp-bridge watch or by the hub")
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}
