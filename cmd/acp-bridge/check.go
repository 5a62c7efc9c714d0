package main

import (
	"context"

	"github.com/acp-bridge/acp-bridge/internal/scripted"
)

// checkClientCommand is an agent that checks the client that starts it.
func checkClientCommand(fs *flagSet) runner {
	return fs.Alone(func(ctx context.Context, s streams) error {
		if isTerminal(s.In) {
			return misused("stdin is a terminal: configure this as an agent in your editor, or run acp-bridge chat -- acp-bridge check-client")
		}
		ctx, stop := endSignals(ctx)
		defer stop()
		return scripted.ServeCheck(ctx, s.In, s.Out, scripted.CheckOptions{Version: version()})
	})
}
