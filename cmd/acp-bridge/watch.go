package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/watch"
	"github.com/acp-bridge/acp-bridge/internal/watch/codex"
	"github.com/acp-bridge/acp-bridge/internal/watch/opencode"
)

// watched are the agents that can be watched with nothing installed.
var watched = []watch.Terminals{codex.Terminals(version(), codex.Socket), opencode.Terminals()}

func watchCommand(fs *flagSet) runner {
	var h hubFlags
	h.flags(fs)
	return func(ctx context.Context, args []string, s streams) error {
		words, err := fs.ParseWords(args)
		if err != nil {
			return err
		}
		i := -1
		if len(words) == 1 {
			i = slices.IndexFunc(watched, func(t watch.Terminals) bool { return t.Name == words[0] })
		}
		if i < 0 {
			return misused("expected acp-bridge watch codex, or opencode")
		}
		if err := h.atLocalHub(); err != nil {
			return err
		}
		return untilTold(ctx, func(ctx context.Context) error { return watchTerminals(ctx, watched[i], h, s) })
	}
}

func watchTerminals(ctx context.Context, t watch.Terminals, h hubFlags, s streams) error {
	unlock, err := t.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	fmt.Fprintf(s.Err, "acp-bridge watch: what %s asks in any terminal is at %s, too; Ctrl+C ends that\n", t.Agent, clean.Line(h.Address))
	w := watch.Start(*h.Options(hubLogger("watch", s)))
	defer w.Close()
	t.Run(ctx, w, func(text string) { tell(s, "watch", text) })
	return nil
}
