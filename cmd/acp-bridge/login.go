package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// loginFlag, put behind the arguments of an editor's settings, makes a login of
// them. ACP has an editor do so.
const loginFlag = "--login"

// loginOf is the login of a Claude Code that a flag may name.
func loginOf(explicit string) *backend.Login {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	l := &backend.Login{Command: self, Args: []string{"login"}, Append: []string{loginFlag}}
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
	var o serveOptions
	fs := program().Flags("serve", s.Out)
	o.flags(fs)
	if err := o.parse(fs, args); err != nil {
		return err
	}
	if o.agent.Claude != "" {
		flags = slices.Concat([]string{"--claude", o.agent.Claude}, flags)
	}
	return loginCommand(program().Flags("login", s.Out))(ctx, flags, s)
}

// loginCommand hands the terminal over to Claude Code's own login.
func loginCommand(fs *flagSet) runner {
	explicit := fs.String("claude", "", "`path` of the Claude Code executable (default: found)")
	console := fs.Bool("console", false, "log in with an Anthropic Console account, billed by usage, instead of a Claude plan")
	return fs.Alone(func(ctx context.Context, s streams) error { return login(ctx, *explicit, *console, s) })
}

func login(ctx context.Context, explicit string, console bool, s streams) error {
	path, err := claude.Find(explicit, os.Getenv)
	if err != nil {
		return err
	}
	command := []string{"auth", "login"}
	if console {
		command = append(command, "--console")
	}
	if !hasAuth(ctx, path) {
		command = []string{"/login"}
	}
	cmd := exec.CommandContext(ctx, path, command...)
	cmd.Env = proc.Environ(nil)
	return inPlace(cmd, s, syscall.SIGTERM, syscall.SIGHUP)
}

// hasAuth reports whether Claude Code can log in without its own screen: old
// versions cannot.
func hasAuth(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_, _, err := claude.LoggedIn(ctx, path, nil)
	return !errors.Is(err, claude.ErrNoAuthCommand)
}
