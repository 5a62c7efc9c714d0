package proxy

import (
	"log/slog"

	"github.com/acp-bridge/acp-bridge/adapter"
)

// Options say how the editor is asked. The zero value goes by what the editor
// says of itself.
type Options struct {
	// First is the rung to begin with; see [adapter.Options].
	First adapter.Rung
	// Guard distrusts answers that come faster than a person can read.
	Guard bool
	// Agent is what is known of the agent before it says its name; the zero value
	// is an agent that nobody knows.
	Agent Profile
	// Logger gets what goes wrong; nil discards it. Content is never logged.
	Logger *slog.Logger
}
