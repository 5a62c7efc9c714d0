package pending

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// record is what this user's acp-bridge keeps of a question that it posted,
// outside of the project: answers count in the file that it names, if that has
// the ticket. A project cannot bring one along.
type record struct {
	Ticket string
	Folder string // of the file
	File   string // its name
	Asked  time.Time
	// By and At say who gave the answers whose file has the hash Content.
	By      string    `json:",omitempty"`
	At      time.Time `json:",omitzero"`
	Content string    `json:",omitempty"`
	// Removed is when a person removed the file: no program has used it up. Then
	// there is no Ticket.
	Removed time.Time `json:",omitzero"`
}

func newTicket() string { return rand.Text() }

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// records are the records of the questions in one folder.
type records struct{ dir string }

// records returns those of a folder, by its real path.
func (s *Store) records(folder string) (*records, error) {
	state := s.State
	if state == "" {
		var err error
		if state, err = stateDir(); err != nil {
			return nil, err
		}
	}
	path, err := filepath.Abs(folder)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, err
	}
	return &records{filepath.Join(state, "questions", hash([]byte(path))[:16])}, nil
}

// stateDir is where programs keep what is neither settings nor cache.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "acp-bridge"), nil
	}
	if runtime.GOOS == "windows" {
		dir, err := os.UserCacheDir() // which is local, and kept
		return filepath.Join(dir, "acp-bridge"), err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("there is no place for a record of the question: set XDG_STATE_HOME (%w)", err)
	}
	return filepath.Join(home, ".local", "state", "acp-bridge"), nil
}

func (r *records) path(id string) string { return filepath.Join(r.dir, id+".json") }

// load returns nil if there is no such record.
func (r *records) load(id string) (*record, error) {
	if !isID(id) {
		return nil, nil
	}
	data, err := os.ReadFile(r.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rec := new(record)
	if json.Unmarshal(data, rec) != nil { // cut short, perhaps: it vouches for nothing
		return nil, nil
	}
	return rec, nil
}

func (r *records) save(id string, rec *record) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	tmp := filepath.Join(r.dir, "."+rand.Text()+".tmp")
	err = os.WriteFile(tmp, data, 0o600)
	if err == nil {
		err = os.Rename(tmp, r.path(id))
	}
	if err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("keep a record of the question in %s: %w", r.dir, reason(err))
	}
	return nil
}

func (r *records) remove(id string) error {
	if err := os.Remove(r.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the record of the question in %s: %w", r.dir, reason(err))
	}
	return nil
}

// isID reports whether a string has the form of what [ID] makes.
func isID(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == 6
}

// vouch says why the answers in a file do not count; nil if they do.
func (r *record) vouch(d *dir, name string, doc *document, owner string) error {
	switch {
	case owner != "":
		return fmt.Errorf("%w: %s belongs to %s", ErrForeign, clean.Line(d.path(name)), owner)
	case r == nil || r.File != name || doc.ticket == "" || r.Ticket != doc.ticket:
		return fmt.Errorf("%w: your acp-bridge did not ask the questions in %s", ErrForeign, clean.Line(d.path(name)))
	}
	return nil
}
