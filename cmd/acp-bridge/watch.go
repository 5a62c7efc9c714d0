package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
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
		if err := h.atLocalHub(); err != nil {
			return err
		}
		return untilTold(ctx, func(ctx context.Context) error { return watchCodex(ctx, h, s) })
	}
}

func watchCodex(ctx context.Context, h hubFlags, s streams) error {
	socket, err := codex.Socket()
	if err != nil {
		return err
	}
	dir, err := hublink.DataDir()
	if err != nil {
		return err
	}
	unlock, err := codex.Lock(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer unlock()
	fmt.Fprintf(s.Err, "acp-bridge watch: what Codex asks in any terminal is at %s, too; Ctrl+C ends that\n", clean.Line(h.Address))
	w := watch.Start(*h.Options(hubLogger("watch", s)))
	defer w.Close()
	codex.Run(ctx, codex.Options{Socket: socket, Version: version(), Watch: w, Say: func(text string) { tell(s, "watch", text) }})
	return nil
}
