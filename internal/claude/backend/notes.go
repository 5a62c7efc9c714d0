package backend

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// notes are what the CLI's transcript does not tell: of a question that nobody
// answered, whether the user dismissed it; of a session, the options that the user
// picked. They are files in the user's state folder.
type notes struct {
	dir   string // empty if there is no place for them
	log   *slog.Logger
	swept *atomic.Bool // what is old was removed
}

const (
	// leftOpen is of a question that is open, or was when the editor left or this
	// program was killed. The CLI writes it down as one that was dismissed or refused.
	leftOpen = "open"
	// dismissed is of a question that was asked again and dismissed.
	dismissed = "dismissed"
	// optionNote is before the name of an option, in the place of a call.
	optionNote = "option:"
)

// noteTime is how long a note is kept.
const noteTime = 90 * 24 * time.Hour

func (a *backend) notes(env []string) notes {
	get := func(name string) string {
		if value, ok := lookup(env, name); ok {
			return value
		}
		return a.getenv(name)
	}
	n := notes{log: a.log, swept: &a.swept}
	if dir := get("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		n.dir = filepath.Join(dir, "acp-bridge", "reask")
	} else if dir := get("HOME"); filepath.IsAbs(dir) {
		n.dir = filepath.Join(dir, ".local", "state", "acp-bridge", "reask")
	} else if dir := get("LOCALAPPDATA"); filepath.IsAbs(dir) {
		n.dir = filepath.Join(dir, "acp-bridge", "reask")
	}
	return n
}

func (n notes) path(session, call string) string {
	sum := sha256.Sum256([]byte(session + "\x00" + call))
	return filepath.Join(n.dir, hex.EncodeToString(sum[:16]))
}

// of returns what was noted of a call, or nothing.
func (n notes) of(session, call string) string {
	if n.dir == "" {
		return ""
	}
	data, _ := os.ReadFile(n.path(session, call))
	return string(data)
}

// keep notes something of a call. The first time it forgets what is old.
func (n notes) keep(session, call, what string) {
	if n.dir == "" {
		return
	}
	err := os.MkdirAll(n.dir, 0o700)
	if err == nil {
		err = os.WriteFile(n.path(session, call), []byte(what), 0o600)
	}
	if err != nil {
		n.log.Warn("a note about a session is not kept", "err", err)
		return
	}
	if n.swept.Swap(true) {
		return
	}
	old, _ := os.ReadDir(n.dir)
	for _, f := range old {
		if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > noteTime {
			_ = os.Remove(filepath.Join(n.dir, f.Name()))
		}
	}
}

func (n notes) remove(session, call string) {
	if n.dir != "" {
		_ = os.Remove(n.path(session, call))
	}
}
