package hublink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Local is the hub of this user that runs on this machine.
type Local struct {
	Named
	PID int
	// LAN says that this machine's networks reach it, and Switchable that they can be let in.
	LAN, Switchable bool
}

// Running finds it where it has said that it is. Whoever else listens there does not
// know its token.
func Running(ctx context.Context) (*Local, error) {
	h := &Local{Named: Named{Address: LocalAddress()}}
	if err := h.Read(); err != nil {
		return nil, err
	}
	var st struct {
		PID int
		LAN string
	}
	if err := h.Call(ctx, http.MethodGet, "/status", nil, &st); err != nil {
		return nil, err
	}
	h.PID, h.LAN, h.Switchable = st.PID, st.LAN == "on", st.LAN != ""
	return h, nil
}

// Ports at which a hub is started: the first may be that of another user.
const firstPort, lastPort = 7717, 7726

// startTime is how long a hub may take until it answers, or ends, and waitTime how often it
// is looked at meanwhile.
const (
	startTime = time.Minute
	waitTime  = 100 * time.Millisecond
)

// StartLocal starts a hub that outlives this process and its terminal.
func StartLocal(ctx context.Context, program string) (*Local, error) {
	name, err := StateFile("hub.log")
	if err != nil {
		return nil, err
	}
	for p := firstPort; p <= lastPort; p++ {
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(p))
		l, err := net.Listen("tcp", at)
		if err != nil {
			continue
		}
		l.Close()
		h, err := startAt(ctx, program, at, name)
		if err == nil || !strings.Contains(err.Error(), "address already in use") { // somebody was faster
			return h, err
		}
	}
	return nil, fmt.Errorf("the ports %d to %d of this machine are taken: start the hub at another one with acp-bridge-hub --lan --listen 127.0.0.1:PORT, and run acp-bridge up again", firstPort, lastPort)
}

func startAt(ctx context.Context, program, at, logName string) (*Local, error) {
	if err := proc.WritePrivate(logName, nil); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(logName, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(program, "--lan", "--no-link", "--listen", at)
	cmd.Env = proc.Environ(nil)
	cmd.Dir = filepath.Dir(logName) // no folder of anybody's is kept in use
	cmd.Stdout, cmd.Stderr = log, log
	proc.OwnSession(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for late := time.After(startTime); ; {
		h, err := Running(ctx)
		if err == nil {
			return h, nil // its own, or that of one that was started at the same time
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ended:
			said, _ := os.ReadFile(logName)
			return nil, fmt.Errorf("the hub did not start: %s", strings.TrimSpace(string(said)))
		case <-late:
			return nil, fmt.Errorf("the hub does not answer: %w; its log is %s", err, logName)
		case <-time.After(waitTime):
		}
	}
}

// Stop ends it, and waits until it has given its folder back.
func (h *Local) Stop(ctx context.Context) error {
	p, err := os.FindProcess(h.PID)
	if err != nil {
		return err
	}
	if p.Signal(syscall.SIGTERM) != nil { // Windows has none
		if err := p.Kill(); err != nil {
			return err
		}
	}
	dir, err := DataDir()
	if err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(dir, LockName))
	if err != nil {
		return err
	}
	defer proc.Unlock(f)
	for late := time.After(startTime); ; {
		if err := proc.TryLock(f); !errors.Is(err, proc.ErrLocked) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return errors.New("the hub does not stop: requests are under way")
		case <-time.After(waitTime):
		}
	}
}
