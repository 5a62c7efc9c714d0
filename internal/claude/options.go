package claude

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// Options say which CLI to start and how.
type Options struct {
	// Path is the CLI's executable, as Find returns it.
	Path string
	// Dir is the working directory of the session. It must exist.
	Dir string
	// SessionID, a UUID, names a new session.
	SessionID string
	// Resume is the id of a session to go on with. SessionID is then ignored,
	// unless Flags hold --fork-session.
	Resume string
	// Mode is the permission mode to start in; empty for the CLI's own choice.
	Mode string
	// Model is the model to start with; empty for the CLI's own choice.
	Model string
	// Flags are further flags of the bridge's own, such as --mcp-config.
	Flags []string
	// Private are flags that name a file which nobody but the CLI can read.
	Private []PrivateFlag
	// Args are the user's extra arguments. They come last, so they win.
	Args []string
	// Env is the environment; nil means that of this process.
	Env []string

	// OnMessage gets the CLI's messages in order, on the goroutine that reads
	// them: at thousands of messages a second this saves the hand-over to another
	// goroutine, a third of the cost. Replies to Control are not among them. It
	// may block, which slows the CLI down, but not for ever: Close waits for it.
	// It must not wait for a Control of its own, whose reply it would hold up. If
	// it panics, the CLI is ended and Wait returns ErrPanic; the same holds for
	// Trace. Nil drops the messages.
	OnMessage func(Message)
	// OnDrained, if set, is called behind OnMessage when the CLI has written
	// nothing more yet. What OnMessage has put aside can go on then.
	OnDrained func()
	// Hooks are those that the CLI calls back, in the form of its initialize
	// request: event names with matchers and hookCallbackIds. The callbacks come
	// as control requests hook_callback, which Surface has to list.
	Hooks map[string]any
	// Opening are further fields of the initialize request, such as systemPrompt
	// and agents. Unlike a command line, nobody else can read them.
	Opening map[string]any
	// Surface lists the inbound control requests besides can_use_tool that
	// OnMessage gets and the caller answers. All others are refused.
	Surface []string

	// Trace, if set, sees every line in both directions; those of the CLI are
	// [ndjson.In].
	Trace ndjson.Trace
	// Logger gets what goes wrong and, at debug level, the CLI's stderr. Nil
	// discards it.
	Logger *slog.Logger

	// EOFGrace is how long Close waits after the end of input before SIGTERM,
	// TermGrace how long after SIGTERM before SIGKILL. Zero means 2 s and 3 s:
	// after SIGTERM the CLI takes 1.5 s to end the commands it runs.
	EOFGrace, TermGrace time.Duration
	// MaxLine is the longest line that is read; longer ones are skipped. Zero
	// means 256 MB.
	MaxLine int
}

func (o Options) withDefaults() Options {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.EOFGrace = cmp.Or(o.EOFGrace, 2*time.Second)
	o.TermGrace = cmp.Or(o.TermGrace, 3*time.Second)
	o.MaxLine = cmp.Or(o.MaxLine, defaultMaxLine)
	return o
}

// PrivateFlag is a flag whose value is a file with that content. The file has no
// name on the disk, so that it is gone with the process, however that ends; on
// Windows it is removed when the CLI has answered initialize.
type PrivateFlag struct {
	Flag    string
	Content []byte
}

// commandLine is the arguments that make the CLI speak the protocol. Without
// --permission-prompt-tool stdio it would not offer AskUserQuestion at all. files
// are the paths of the private ones.
func (o Options) commandLine(files []string) []string {
	args := []string{
		"--output-format", "stream-json", "--verbose",
		"--input-format", "stream-json",
		"--permission-prompt-tool", "stdio",
		"--include-partial-messages",
	}
	if o.Resume != "" {
		args = append(args, "--resume", o.Resume)
	}
	if o.SessionID != "" && (o.Resume == "" || slices.Contains(o.Flags, "--fork-session")) {
		args = append(args, "--session-id", o.SessionID)
	}
	if o.Mode != "" {
		args = append(args, "--permission-mode", o.Mode)
	}
	if o.Model != "" {
		args = append(args, "--model", o.Model)
	}
	args = append(args, o.Flags...)
	for i, p := range o.Private {
		args = append(args, p.Flag, files[i])
	}
	return append(args, o.Args...)
}

// NewSessionID returns a random UUID, the form that --session-id takes.
func NewSessionID() string { return life.UUID() }
