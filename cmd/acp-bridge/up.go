package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/proc"
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

func readUpState() (st upState, err error) {
	if err = hublink.ReadState(upStateName, &st); errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return st, err
}

// upCommand is about the hub of this machine's user, whatever hub the environment names
// for questions.
func upCommand(do func(*upState, context.Context, streams) error) func(*flagSet) runner {
	return func(fs *flagSet) runner {
		return func(ctx context.Context, args []string, s streams) error {
			if err := fs.ParseFlags(args, ""); err != nil {
				return err
			}
			_ = os.Unsetenv(hubEnv)
			_ = os.Unsetenv(tokenEnv)
			st, err := readUpState()
			if err != nil {
				return err
			}
			return do(&st, ctx, s)
		}
	}
}

func (st *upState) up(ctx context.Context, s streams) error {
	program, err := findHub()
	if err != nil {
		return err
	}
	h, err := runningHub(ctx)
	if err != nil {
		if st.PID, err = startHub(ctx, program); err != nil {
			return err
		}
		st.LAN = false // of a hub that is gone
		if h, err = runningHub(ctx); err != nil {
			return err
		}
	} else if !h.lan {
		st.LAN = h.switchable
	}
	if err := hublink.WriteState(upStateName, st); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "The hub runs at %s\n", h.address)
	if err := st.hook(ctx, h, s); err != nil {
		return err
	}
	var made struct{ Code string }
	if err := h.call(ctx, http.MethodPost, "/codes", map[string]string{"name": "owner"}, &made); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "On this machine, open this once, within 15 minutes:\n  %s/login?code=%s\n", h.address, made.Code)
	if h.lan || h.switchable {
		cmd := exec.CommandContext(ctx, program, "lan", "on")
		cmd.Stdout, cmd.Stderr = s.Out, s.Err
		if err := cmd.Run(); err != nil {
			return cli.Exit{Code: exitFailed} // it has said why
		}
	}
	_, err = fmt.Fprintln(s.Out, "acp-bridge down undoes this.")
	return err
}

// hook installs the hooks of Claude Code, unless they are there, or go to another hub.
func (st *upState) hook(ctx context.Context, h *localHub, s streams) error {
	old, none := readHookState()
	switch {
	case none == nil && !old.Own:
		fmt.Fprintf(s.Out, "Claude Code's hooks are those of another hub, and stay as they are: %s\n", clean.Line(old.Hub))
		return nil
	case none != nil || old.Hub != h.address || !installedAt(old).OK:
		o := hookOptions{own: ownPath()}
		o.hub.address = h.address
		o.asSettings = none == nil && old.Settings != ""
		err := o.install(ctx, streams{In: s.In, Out: io.Discard, Err: s.Err})
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
		if _, err := readHookState(); err == nil {
			if err := new(hookOptions).remove(ctx, s); err != nil {
				return err
			}
		}
	}
	h, err := runningHub(ctx)
	switch {
	case err != nil: // it does not run
	case h.pid == st.PID:
		if err := h.stop(ctx); err != nil {
			return err
		}
		fmt.Fprintln(s.Out, "The hub has stopped. Its questions and devices are kept.")
	case st.LAN:
		if err := h.call(ctx, http.MethodPost, "/lan", map[string]bool{"on": false}, nil); err != nil {
			return err
		}
		fmt.Fprintf(s.Out, "The hub at %s was there before, and goes on; only this machine reaches it now.\n", h.address)
	default:
		fmt.Fprintf(s.Out, "The hub at %s was started otherwise, and goes on.\n", h.address)
	}
	return hublink.RemoveState(upStateName)
}

// localHub is the hub of this user that runs on this machine.
type localHub struct {
	hubFlags
	pid             int
	lan, switchable bool
}

// runningHub finds it where it has said that it is. Whoever else listens there does not
// know its token.
func runningHub(ctx context.Context) (*localHub, error) {
	h := &localHub{hubFlags: hubFlags{address: hublink.LocalAddress()}}
	if err := h.check(0); err != nil {
		return nil, err
	}
	var st struct {
		PID int
		LAN string
	}
	if err := h.call(ctx, http.MethodGet, "/status", nil, &st); err != nil {
		return nil, err
	}
	h.pid, h.lan, h.switchable = st.PID, st.LAN == "on", st.LAN != ""
	return h, nil
}

// Ports at which a hub is started: the first may be that of another user.
const firstPort, lastPort = 7717, 7726

// startTime is how long a hub may take until it answers, or ends.
const startTime = time.Minute

// startHub starts a hub that outlives this process and its terminal.
func startHub(ctx context.Context, program string) (pid int, err error) {
	name, err := hublink.StateFile("hub.log")
	if err != nil {
		return 0, err
	}
	for p := firstPort; p <= lastPort; p++ {
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(p))
		l, err := net.Listen("tcp", at)
		if err != nil {
			continue
		}
		l.Close()
		pid, err := startHubAt(ctx, program, at, name)
		if err == nil || !strings.Contains(err.Error(), "address already in use") { // somebody was faster
			return pid, err
		}
	}
	return 0, fmt.Errorf("the ports %d to %d of this machine are taken: start the hub at another one with acp-bridge-hub --lan --listen 127.0.0.1:PORT, and run acp-bridge up again", firstPort, lastPort)
}

func startHubAt(ctx context.Context, program, at, logName string) (pid int, err error) {
	if err := proc.WritePrivate(logName, nil); err != nil {
		return 0, err
	}
	log, err := os.OpenFile(logName, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	cmd := exec.Command(program, "--lan", "--no-link", "--listen", at)
	cmd.Env = proc.Environ(nil)
	cmd.Dir = filepath.Dir(logName) // no folder of anybody's is kept in use
	cmd.Stdout, cmd.Stderr = log, log
	proc.OwnSession(cmd)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for late := time.After(startTime); ; {
		h, err := runningHub(ctx)
		if err == nil {
			return h.pid, nil // its own, or that of one that was started at the same time
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-ended:
			said, _ := os.ReadFile(logName)
			return 0, fmt.Errorf("the hub did not start: %s", strings.TrimSpace(string(said)))
		case <-late:
			return 0, fmt.Errorf("the hub does not answer: %w; its log is %s", err, logName)
		case <-time.After(lookTime):
		}
	}
}

// stop ends it, and waits until it has given its folder back.
func (h *localHub) stop(ctx context.Context) error {
	p, err := os.FindProcess(h.pid)
	if err != nil {
		return err
	}
	if p.Signal(syscall.SIGTERM) != nil { // Windows has none
		if err := p.Kill(); err != nil {
			return err
		}
	}
	dir, err := hublink.DataDir()
	if err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(dir, hublink.LockName))
	if err != nil {
		return err
	}
	defer f.Close()
	for late := time.After(startTime); ; {
		if err := proc.TryLock(f); !errors.Is(err, proc.ErrLocked) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return errors.New("the hub does not stop: requests are under way")
		case <-time.After(lookTime):
		}
	}
}
