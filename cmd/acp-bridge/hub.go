package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	drawing "github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// hubFlags say at which hub questions are, too.
type hubFlags struct{ hublink.Named }

func (h *hubFlags) flags(fs *flagSet) {
	fs.FromEnv(&h.Address, "hub", hubEnv, "`URL[,URL]` of a hub to ask at as well; the next is used when one is gone")
	h.tokenFlag(fs)
}

func (h *hubFlags) tokenFlag(fs *flagSet) {
	fs.StringVar(&h.TokenFile, "hub-token-file", "", "`file` with its token (default: $ACP_BRIDGE_HUB_TOKEN, or that of this machine's hub)")
	fs.StringVar(&h.Group, "group", "", "`name` of the questions' group at the hub (default: the token's first)")
}

// check reads the address.
func (h *hubFlags) check(first adapter.Rung) error {
	if h.Address == "" && first == adapter.Elsewhere {
		return misused("--ask hub needs --hub URL or ACP_BRIDGE_HUB")
	}
	if err := h.Read(); err != nil {
		return cli.Usage(err)
	}
	return nil
}

// atLocalHub takes the hub of the environment, or one on this machine, where none
// is named.
func (h *hubFlags) atLocalHub() error {
	h.Address = cmp.Or(h.Address, os.Getenv(hubEnv), hublink.LocalAddress())
	return h.check(0)
}

// hasToken is for those that make a request at once: without a token there is none to make.
func (h *hubFlags) hasToken() error {
	if _, err := h.Token(); err != nil {
		return cli.Usage(err)
	}
	return nil
}

// link joins a desk to the hub, if there is one, until end is called.
func (h *hubFlags) link(d *desk.Desk, agent string, log *slog.Logger) (end func()) {
	if l := h.start(d, agent, log, nil); l != nil {
		return l.Close
	}
	return func() {}
}

// start joins a desk to the hub; it returns nil if there is none.
func (h *hubFlags) start(d *desk.Desk, agent string, log *slog.Logger, tell func(works bool, words string)) *hublink.Link {
	o := h.Options(log)
	if o == nil {
		return nil
	}
	o.Agent, o.Tell = agent, tell
	return hublink.Start(d, *o)
}

// hubLogger tells the person who runs a command of warnings, in sentences.
func hubLogger(command string, s streams) *slog.Logger {
	return slog.New(teller{func(text string) { tell(s, command, text) }})
}

// tell says something to the person who runs a command, beside what is drawn.
func tell(s streams, command, text string) {
	fmt.Fprintf(drawing.Beside(s.Err), "acp-bridge %s: %s\n", command, clean.Line(text))
}

// teller makes sentences of log records, for people: a log is for files.
type teller struct{ tell func(string) }

// Enabled implements [slog.Handler].
func (teller) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements [slog.Handler].
func (t teller) Handle(_ context.Context, r slog.Record) error {
	var details []string
	r.Attrs(func(a slog.Attr) bool {
		details = append(details, a.Value.String())
		return true
	})
	text := r.Message
	if len(details) > 0 {
		text += " (" + strings.Join(details, ": ") + ")"
	}
	t.tell(text)
	return nil
}

// WithAttrs implements [slog.Handler]. A sentence says no more than its record.
func (t teller) WithAttrs([]slog.Attr) slog.Handler { return t }

// WithGroup implements [slog.Handler].
func (t teller) WithGroup(string) slog.Handler { return t }

// hubCommand starts acp-bridge-hub, which is a program of its own: the one that
// every editor window starts stays small.
func hubCommand(*flagSet) runner { return runHub }

func runHub(ctx context.Context, args []string, s streams) error {
	path, err := findHub()
	if err != nil {
		return err
	}
	return inPlace(exec.CommandContext(ctx, path, args...), s, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// findHub finds the program beside this one, or on the path.
func findHub() (string, error) {
	name := "acp-bridge-hub"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is neither beside acp-bridge nor on the PATH: go install github.com/acp-bridge/acp-bridge/cmd/acp-bridge-hub@latest", name)
	}
	return path, nil
}

// inPlace runs a program in this one's place: its exit code is ours, and it is sent these
// signals. Others do nothing here: a terminal sends them to both.
func inPlace(cmd *exec.Cmd, s streams, sent ...os.Signal) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case sig := <-signals:
				if slices.Contains(sent, sig) {
					_ = cmd.Process.Signal(sig)
				}
			case <-ended:
				return
			}
		}
	}()
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return cli.Exit{Code: max(exitFailed, exit.ExitCode())}
	}
	return err
}
