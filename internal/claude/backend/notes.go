package backend

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// notes are what the CLI's transcript does not tell: of a question that nobody
// answered, whether the user dismissed it; of a session, the options that the user
// picked, and under which id it goes on. They are files in the user's state folder.
type notes struct {
	dir   string // empty if there is no place for them
	log   *slog.Logger
	swept *atomic.Bool // what is old was removed
}

const (
	// leftOpen is of a question that is open, or was when the editor left or this
	// program was killed. The CLI writes it down as one that was dismissed or refused.
	leftOpen = "open"
	// given is of a question that was asked again, whose answer the agent has.
	given = "given"
	// dismissed is of a question that was asked again and dismissed.
	dismissed = "dismissed"
	// lockNote is before the id of a call whose answer a process gives to the agent.
	lockNote = "lock:"
	// optionNote is before the name of an option, in the place of a call.
	optionNote = "option:"
)

// noteTime is how long a note is kept.
const noteTime = 90 * 24 * time.Hour

func (a *backend) notes(env []string) notes {
	get, n := a.environ(env), notes{log: a.log, swept: &a.swept}
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
	// There is no half of a note, even if this is killed.
	if err := proc.WritePrivate(n.path(session, call), []byte(what)); err != nil {
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

// lock has this process alone give the answer to a call, until release is called or the
// process ends. It returns false if another one does.
func (n notes) lock(session, call string) (release func(), ok bool) {
	if n.dir == "" || os.MkdirAll(n.dir, 0o700) != nil {
		return func() {}, true
	}
	unlock, err := proc.LockFile(n.path(session, lockNote+call))
	if errors.Is(err, proc.ErrLocked) {
		return nil, false
	}
	if err != nil {
		n.log.Warn("a session that is open twice is not noticed", "err", err)
		return func() {}, true
	}
	return unlock, true
}

// flushTime is how long the CLI may take to write down what it was told.
const flushTime = 2 * time.Second

// givenSince reports whether the agent was given the answer to a call by somebody, in a
// prompt that a transcript may not have that was read at began.
func (n notes) givenSince(began time.Time, session, call string) bool {
	if n.of(session, call) != given {
		return false
	}
	info, err := os.Stat(n.path(session, call))
	return err == nil && info.ModTime().After(began.Add(-flushTime))
}

func (n notes) remove(session, call string) {
	if n.dir != "" {
		_ = os.Remove(n.path(session, call))
	}
}
