package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/proc"
	"github.com/acp-bridge/acp-bridge/internal/watch"
)

// upState is what acp-bridge up has done, and acp-bridge down undoes.
type upState struct {
	// PID is that of the hub which it has started.
	PID int `json:"pid,omitempty"`
	// LAN is set if it has opened a hub that ran already to the network.
	LAN bool `json:"lan,omitempty"`
	// Hook is set if it has installed Claude Code's hooks.
	Hook bool `json:"hook,omitempty"`
}

const upStateName = "up.json"

// upCommand is about the hub of this machine's user, whatever hub the environment names
// for questions.
func upCommand(do func(*upState, context.Context, streams) error) func(*flagSet) runner {
	return func(fs *flagSet) runner {
		return fs.Alone(func(ctx context.Context, s streams) error {
			_ = os.Unsetenv(hubEnv)
			_ = os.Unsetenv(tokenEnv)
			var st upState
			if err := hublink.ReadState(upStateName, &st); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return do(&st, ctx, s)
		})
	}
}

func (st *upState) up(ctx context.Context, s streams) error {
	program, err := findHub()
	if err != nil {
		return err
	}
	h, err := hublink.Running(ctx)
	if err != nil {
		if h, err = hublink.StartLocal(ctx, program); err != nil {
			return err
		}
		st.PID, st.LAN = h.PID, false // what is kept is of a hub that is gone
	} else if !h.LAN {
		st.LAN = h.Switchable
	}
	if err := hublink.WriteState(upStateName, st); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "The hub runs at %s\n", h.Address)
	if err := st.hook(ctx, h, s); err != nil {
		return err
	}
	var made struct{ Code string }
	if err := h.Call(ctx, http.MethodPost, "/codes", map[string]string{"name": "owner"}, &made); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "On this machine, open this once, within 15 minutes:\n  %s/login?code=%s\n", h.Address, made.Code)
	if h.LAN || h.Switchable {
		cmd := exec.CommandContext(ctx, program, "lan", "on")
		cmd.Env, cmd.Stdout, cmd.Stderr = proc.Environ(nil), s.Out, s.Err
		if err := cmd.Run(); err != nil {
			return cli.Exit{Code: exitFailed} // it has said why
		}
	}
	_, err = fmt.Fprintln(s.Out, "acp-bridge down undoes this.")
	return err
}

// hook installs the hooks of Claude Code, unless they are there, or go to another hub.
func (st *upState) hook(ctx context.Context, h *hublink.Local, s streams) error {
	old, none := watch.ReadClaude()
	switch {
	case none == nil && !old.Own:
		fmt.Fprintf(s.Out, "Claude Code's hooks are those of another hub, and stay as they are: %s\n", clean.Line(old.Hub))
		return nil
	case none != nil || old.Hub != h.Address || !old.Installed().OK:
		o := watch.Installer{Hub: h.Named, Program: ownPath(), Version: version(), Out: io.Discard, Err: s.Err}
		o.AsSettings = none == nil && old.Settings != ""
		err := o.Install(ctx, watch.Claude)
		if errors.Is(err, claude.ErrNotFound) {
			fmt.Fprintln(s.Out, "Claude Code is not found. Once it is installed, acp-bridge up lets it ask here; acp-bridge hook install AGENT does so for others.")
			return nil
		}
		if err != nil {
			return err
		}
		if st.Hook = st.Hook || none != nil; st.Hook {
			if err := hublink.WriteState(upStateName, st); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(s.Out, "Sessions of Claude Code that you start from now on ask there, too.")
	return err
}

func (st *upState) down(ctx context.Context, s streams) error {
	if *st == (upState{}) {
		return usagef("there is nothing to undo: acp-bridge up has not run, or has found everything as it should be")
	}
	if st.Hook { // while the hub runs, which has a device for them
		if _, err := watch.ReadClaude(); err == nil {
			if err := removeHooks(ctx, watch.Installer{Out: s.Out, Err: s.Err}, watch.Claude); err != nil {
				return err
			}
		}
	}
	h, err := hublink.Running(ctx)
	switch {
	case err != nil: // it does not run
	case h.PID == st.PID:
		if err := h.Stop(ctx); err != nil {
			return err
		}
		fmt.Fprintln(s.Out, "The hub has stopped. Its questions and devices are kept.")
	case st.LAN:
		if err := h.Call(ctx, http.MethodPost, "/lan", map[string]bool{"on": false}, nil); err != nil {
			return err
		}
		fmt.Fprintf(s.Out, "The hub at %s was there before, and goes on; only this machine reaches it now.\n", h.Address)
	default:
		fmt.Fprintf(s.Out, "The hub at %s was started otherwise, and goes on.\n", h.Address)
	}
	return hublink.RemoveState(upStateName)
}
