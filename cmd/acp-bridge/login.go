package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/claude"
	"github.com/acp-bridge/acp-bridge/adapter/claude/agent"
)

// loginFlag, put behind the arguments of an editor's settings, makes a login of
// them. ACP has an editor do so.
const loginFlag = "--login"

// loginOf is the login of a Claude Code that a flag may name.
func loginOf(explicit string) *agent.Login {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	l := &agent.Login{Command: self, Args: []string{"login"}, Append: []string{loginFlag}}
	if explicit != "" {
		if path, err := claude.Find(explicit, os.Getenv); err == nil {
			explicit = path // the terminal may be in another folder
		}
		l.Args = append(l.Args, "--claude", explicit)
	}
	return l
}

// cutLogin takes the login that an editor asks for off the end of its arguments.
// They may end in those of Claude Code, which has no such flag.
func cutLogin(args []string) (own, flags []string, ok bool) {
	for i := max(0, len(args)-2); i < len(args); i++ {
		if args[i] == loginFlag {
			return args[:i], args[i+1:], true
		}
	}
	return nil, nil, false
}

func loginAsServed(ctx context.Context, args, flags []string, s streams) error {
	o, _, _, err := parseServe(args, s)
	if err != nil {
		return err
	}
	if o.Claude != "" {
		flags = slices.Concat([]string{"--claude", o.Claude}, flags)
	}
	return runLogin(ctx, flags, s)
}

// runLogin hands the terminal over to Claude Code's own login.
func runLogin(ctx context.Context, args []string, s streams) error {
	fs := newFlags("login", "[FLAGS]", s)
	explicit := fs.String("claude", "", "`path` of the Claude Code executable (default: found)")
	console := fs.Bool("console", false, "with an Anthropic Console account, billed for use, and not a Claude plan")
	if file, err := fs.parse(args); err != nil || file != "" {
		if err == nil {
			err = usagef("unexpected argument %q", file)
		}
		return err
	}
	path, err := claude.Find(*explicit, os.Getenv)
	if err != nil {
		return err
	}
	command := []string{"auth", "login"}
	if *console {
		command = append(command, "--console")
	}
	if !hasAuth(ctx, path) {
		command = []string{"/login"}
	}
	return handOver(ctx, path, command, s)
}

// hasAuth reports whether Claude Code can log in without its own screen: old
// versions cannot.
func hasAuth(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_, _, err := claude.LoggedIn(ctx, path, nil)
	return !errors.Is(err, claude.ErrNoAuthCommand)
}

// handOver runs a program in this one's place: its exit code is ours, and Ctrl+C
// is for it.
func handOver(ctx context.Context, path string, args []string, s streams) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.out, s.err
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exitError{max(exitFailed, exit.ExitCode())}
	case err != nil:
		return fmt.Errorf("Claude Code does not run: %w", err)
	}
	return nil
}
