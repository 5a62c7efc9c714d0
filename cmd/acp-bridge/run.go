package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// Exit codes, the same for every subcommand.
const (
	exitOK        = cli.ExitOK
	exitFailed    = cli.ExitFailed
	exitUsage     = cli.ExitUsage
	exitCancelled = 3 // the user did not want to answer
	exitPending   = 4 // the questions wait in a file
)

type (
	flagSet = cli.Flags
	runner  = cli.Runner
	streams = cli.Streams
)

var (
	usagef, misused = cli.Usagef, cli.Misused
	didYouMean      = cli.DidYouMean
	oneLine         = cli.OneLine
	cutArgs         = cli.CutArgs
)

// program is acp-bridge.
func program() *cli.Program {
	return &cli.Program{
		Name:  "acp-bridge",
		Title: "run Claude Code in ACP editors, questions included",
		Description: "Coding agents ask their users questions. acp-bridge asks them in every editor that speaks the Agent Client Protocol: " +
			"as a form, as a permission request, or as a message in the conversation. Editors start it without a command.",
		Lead: `acp-bridge runs Claude Code in ACP editors, questions included.
Usage: acp-bridge [FLAGS] [-- CLAUDE-ARGUMENTS]    speak ACP with an editor
       acp-bridge COMMAND [FLAGS]
`,
		Default: "serve", DefaultFlags: "Flags with an editor",
		Commands: slices.Concat(talking(), checking(), []cli.Command{serving()}), Topics: topics, Variables: variables, Version: version, Data: func() (string, error) { return hublink.StateFile("") },
		Exits: "0 done, 1 failed, 2 bad input or bad usage, 3 cancelled by the user, 4 questions are waiting in a file.",
	}
}

// run is the whole program: it never exits the process itself.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	p, s := program(), streams{In: in, Out: out, Err: errOut}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		if own, flags, ok := cutLogin(args); ok {
			return p.Finish("login", loginAsServed(ctx, own, flags, s), errOut)
		}
	}
	return p.Run(ctx, args, s)
}
