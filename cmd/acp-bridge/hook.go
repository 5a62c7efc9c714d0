package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/proxy"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/watch"
	"github.com/acp-bridge/acp-bridge/internal/watch/opencode"
)

// hookActions are what can be done with hooks; without one it is what Claude Code starts.
var hookActions = []string{"install", "remove"}

func hookCommand(fs *flagSet) runner {
	var h hubFlags
	var o watch.Installer
	show := false
	fs.StringVar(&o.Claude, "claude", "", "`path` of the Claude Code executable (default: found)")
	fs.BoolVar(&o.AsSettings, "settings", false, "install: put them into the user's settings.json, not into a plugin")
	fs.BoolVar(&show, "print", false, "install: print the hooks and change nothing")
	h.flags(fs)
	return func(ctx context.Context, args []string, s streams) error {
		if len(args) == 0 {
			watch.RunClaude(ctx, s.In, s.Out)
			return nil
		}
		words, err := fs.ParseWords(args)
		if err != nil {
			return err
		}
		if a, ok := watch.FindAgent(words[0]); ok && len(words) == 1 {
			watch.RunAgent(ctx, a, s.In, s.Out, opencode.Run)
			return nil
		}
		if len(words) > 2 || !slices.Contains(hookActions, words[0]) {
			return misused("expected acp-bridge hook install or acp-bridge hook remove")
		}
		a, known := watch.Claude, true
		if len(words) == 2 && words[1] != a.Name {
			a, known = watch.FindAgent(words[1])
		}
		o.Program, o.Version, o.Out, o.Err = ownPath(), version(), s.Out, s.Err
		switch {
		case !known:
			return misused("expected claude, %s, got %q", strings.Join(cli.NamesOf(watch.Agents(), func(a watch.Agent) string { return a.Name }), ", "), words[1])
		case words[0] == "remove":
			o.Hub = h.Named
			return removeHooks(ctx, o, a)
		case o.AsSettings && a.Name != watch.Claude.Name:
			return misused("--settings is for Claude Code: %s has a file of its own", a.Title)
		case show:
			_, err := io.WriteString(s.Out, o.Text(a))
			return err
		}
		if err := h.atLocalHub(); err != nil {
			return err
		}
		if err := cmp.Or(refuses(ctx, a), h.hasToken()); err != nil {
			return err
		}
		o.Hub = h.Named
		return o.Install(ctx, a)
	}
}

// removeHooks removes what was installed for an agent.
func removeHooks(ctx context.Context, o watch.Installer, a watch.Agent) error {
	err := o.Remove(ctx, a)
	if errors.As(err, new(watch.NotInstalled)) {
		return cli.Usage(err)
	}
	return err
}

// refuses is why an agent takes nothing that is installed for it: another one has its
// command.
func refuses(ctx context.Context, a watch.Agent) error {
	p := findProfile(a.Name)
	version := p.Replacement(ctx, proxy.Command{Args: []string{a.Name}})
	if version == "" {
		return nil
	}
	return fmt.Errorf("%s %s refuses the plugin, and needs none: a hub on this machine watches its terminals, and acp-bridge watch %s does so for a hub elsewhere", a.Title, version, a.Name)
}

// awayCommand says that nobody sits at the terminal, or that somebody is back.
func awayCommand(away bool) func(*flagSet) runner {
	return func(fs *flagSet) runner {
		var h hubFlags
		h.flags(fs)
		return fs.Alone(func(ctx context.Context, s streams) error {
			err := h.atLocalHub()
			if err == nil {
				err = h.hasToken()
			}
			if err == nil {
				err = h.Call(ctx, http.MethodPost, "/away", map[string]bool{"away": away}, nil)
			}
			if err != nil {
				return err
			}
			said := "Back: questions come to the terminal again.\n"
			if away {
				said = "Away: questions of sub-agents and MCP servers, of Qwen, Copilot and Gemini, and what auto mode blocks wait at the hub, not in the terminal. acp-bridge back ends this.\n"
			}
			_, err = io.WriteString(s.Out, said)
			return err
		})
	}
}
