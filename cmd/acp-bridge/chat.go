package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/terminal/client"
)

// chatCommand talks to an ACP agent in the terminal, or runs one turn without one.
func chatCommand(fs *flagSet) runner {
	o := clientOptions()
	var p printOptions
	fs.BoolVar(&o.Plain, "plain", false, "read and write lines, without drawing")
	wireFlag(fs, &o)
	fs.BoolVar(&o.Resume, "resume", false, "choose one of the agent's sessions in this directory and continue it")
	fs.StringVar(&o.Session, "session", "", "continue the session with this `id`")
	fs.BoolVar(&o.Last, "continue", false, "continue the last session in this directory")
	p.flags(fs)
	fs.StringVar(&o.Dir, "cwd", "", "working `directory` for the agent and its session (default: here)")
	return func(ctx context.Context, args []string, s streams) error {
		agent, err := fs.ParseAgent(p.cutWords(args), "acp-bridge")
		if err == nil {
			err = p.check()
		}
		if err != nil {
			return err
		}
		if o.Dir, err = absolute(o.Dir); err != nil {
			return err
		}
		o.In, o.Out, o.Err = s.In, s.Out, s.Err
		o.Answers = p.piped()
		o.Commands = append(o.Commands, chatQuestions(o.Dir))
		ctx, stop := endSignals(ctx)
		defer stop()
		switch {
		case p.given && o.Resume:
			return misused("--resume needs a terminal: with -p use --continue or --session ID")
		case p.given:
			return printTurn(ctx, agent, o, p, s)
		case len(p.hub.URLs) > 0:
			return chatAtHub(ctx, agent, o, p.hub, s)
		}
		return chatResult(client.RunAgent(ctx, agent, o))
	}
}

// wireFlag is the flag that shows the connection, in short or in full.
func wireFlag(fs *flagSet, o *client.Options) {
	fs.BoolFunc("wire", "show the ACP messages, one line each; --wire=full shows them in full", func(v string) error {
		switch v {
		case "true", "full", "false":
		default:
			return errors.New("expected full, or nothing")
		}
		o.Wire, o.WireFull = v != "false", v == "full"
		return nil
	})
}

// chatAtHub is a chat whose questions are at a hub, too. The agent does not put
// them there a second time.
func chatAtHub(ctx context.Context, agent []string, o client.Options, hub hubFlags, s streams) error {
	if err := os.Unsetenv(hubEnv); err != nil {
		return err
	}
	o.Desk = new(desk.Desk)
	defer hub.link(o.Desk, "acp-bridge chat", hubLogger("chat", s))()
	return chatResult(client.RunAgent(ctx, agent, o))
}

func clientOptions() client.Options { return client.Options{Version: version()} }

// endSignals ends the context on signals that end the process. SIGINT is the
// client's: it cancels a turn. A reader of stdout that is gone is no reason to
// leave an agent behind.
func endSignals(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	return signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
}

// chatResult is how a client's end ends the program.
func chatResult(err error) error {
	if errors.Is(err, client.ErrCancelled) {
		return cli.Exit{Code: exitCancelled}
	}
	return err
}
