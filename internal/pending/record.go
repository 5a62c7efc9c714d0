package pending

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// record is what this user's acp-bridge keeps of a question that it posted,
// outside of the project: answers count in the file that it names, if that has
// the ticket. A project cannot bring one along.
type record struct {
	Ticket string
	Folder string // of the file
	File   string // its name
	Asked  time.Time
	// Questions are those that were asked, whatever the file says of them.
	Questions []convert.Question
	// Session is the agent's, where it has one.
	Session string `json:",omitempty"`
	// Agent is who asked, for people. Sessions are the names by which a successor
	// may claim the questions: without one nobody but the asker gets the answers.
	Agent    string   `json:",omitempty"`
	Sessions []string `json:",omitempty"`
	// By and At say who gave the answers whose file has the hash Content.
	By      string    `json:",omitempty"`
	At      time.Time `json:",omitzero"`
	Content string    `json:",omitempty"`
	// Removed is when a person removed the file: no program has used it up. Then
	// there is no Ticket.
	Removed time.Time `json:",omitzero"`

	id string // of the question, as the record's own file has it for a name
}

// cleared reports whether a person has removed the file, see [Store.Remove]. That it
// is missing is no person's word: agents and scripts clean work trees.
func (r *record) cleared() bool { return r != nil && r.Ticket == "" }

// newID makes the name of an asking, short enough to be typed.
func newID() string { return strings.ToLower(life.Mint()[:12]) }

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

const recordSuffix = ".json"

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
		return "", fmt.Errorf("there is nowhere to keep a record of the question: set XDG_STATE_HOME (%w)", err)
	}
	return filepath.Join(home, ".local", "state", "acp-bridge"), nil
}

func (r *records) path(id string) string { return filepath.Join(r.dir, id+recordSuffix) }

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
	rec := &record{id: id}
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
	if err := proc.WritePrivate(r.path(id), data); err != nil {
		return fmt.Errorf("keep a record of the question in %s: %w", r.dir, reason(err))
	}
	return nil
}

func (r *records) remove(id string) error {
	_ = os.Remove(r.alive(id))
	if err := os.Remove(r.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the record of the question in %s: %w", r.dir, reason(err))
	}
	return nil
}

// all returns the records of a folder in the order of asking.
func (r *records) all() (recs []*record, err error) {
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), recordSuffix)
		if !ok {
			continue
		}
		rec, err := r.load(id)
		if err != nil {
			return nil, err
		}
		if rec != nil {
			recs = append(recs, rec)
		}
	}
	slices.SortStableFunc(recs, func(a, b *record) int { return a.Asked.Compare(b.Asked) })
	return recs, nil
}

// isID reports whether a string has the form of what [newID] makes: it is a name
// of a file.
func isID(s string) bool {
	return len(s) == 12 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// vouch says why the answers in a file do not count; nil if they do.
func (r *record) vouch(d *dir, name string, doc *document, owner string) error {
	switch {
	case owner != "":
		return fmt.Errorf("%w: %s belongs to %s", ErrForeign, clean.Line(d.path(name)), owner)
	case r == nil && d.posted(name):
		return fmt.Errorf("%w: %s has lost its id: write the answers and leave the rest as it was", ErrForeign, clean.Line(d.path(name)))
	case r != nil && r.File == name && doc.ticket == "" && r.Ticket != "":
		return fmt.Errorf("%w: %s has lost its ticket: write the answers and leave the rest as it was", ErrForeign, clean.Line(d.path(name)))
	case r == nil || r.File != name || doc.ticket == "" || r.Ticket != doc.ticket:
		return fmt.Errorf("%w: your acp-bridge did not ask the questions in %s", ErrForeign, clean.Line(d.path(name)))
	}
	return nil
}

// posted reports whether a file of this name holds a question that was posted.
func (d *dir) posted(name string) bool {
	recs, _ := d.records.all()
	return slices.ContainsFunc(recs, func(r *record) bool { return r.File == name && r.Ticket != "" })
}
