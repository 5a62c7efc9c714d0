package pending

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
)

// Folder is the directory that the files are in.
const Folder = ".acp-bridge"

const (
	prefix = "pending-questions"
	suffix = ".json"
)

// Store is the questions that wait in one directory. The zero value is that
// of the current directory.
type Store struct {
	// Dir is the directory that has, or gets, the [Folder].
	Dir string
	// State is where records of what was posted are kept, outside of projects;
	// empty is the user's state folder.
	State string
	// Report is told of files that are passed over because they are damaged, or
	// because their answers do not count.
	Report func(error)
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// Interval is how often [Store.Wait] looks; 0 stands for a quarter of a
	// second.
	Interval time.Duration
}

// names are the names for a file, the best one first.
func names(id string) []string {
	return []string{prefix + suffix, prefix + "-" + id + suffix}
}

func (s *Store) report(err error) {
	if s.Report != nil {
		s.Report(err)
	}
}

func parsed(data []byte, err error) (*document, error) {
	if err != nil {
		return nil, err
	}
	return parse(data)
}

// List returns all files, the oldest first. Those that cannot be used have
// their Err set.
func (s *Store) List() ([]*File, error) {
	d, err := s.open(false)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.close()
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	var files []*File
	for _, name := range names {
		if f := d.load(name); !errors.Is(f.Err, fs.ErrNotExist) {
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b *File) int { return a.Asked.Compare(b.Asked) })
	return files, nil
}

// leastName is how many letters of an id name it. Fewer may be those of another, which
// was answered a moment ago.
const leastName = 8

// Open returns the file with a path, or whose id begins with the given
// letters, of which there are enough; or, for an empty string, the only one that waits.
// A file that cannot be used is returned with its Err set.
func (s *Store) Open(name string) (*File, error) {
	if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, suffix) {
		return s.openPath(name)
	}
	files, err := s.List()
	if err != nil {
		return nil, err
	}
	if name != "" && len(name) < leastName {
		return nil, fmt.Errorf("%w: %q is too short: at least %d letters of an id are its name", ErrNotFound, name, leastName)
	}
	var found []*File
	for _, f := range files {
		if name == "" || f.ID != "" && strings.HasPrefix(f.ID, name) {
			found = append(found, f)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fmt.Errorf("%w: name one of %s", ErrAmbiguous, nameAll(found))
	case name == "":
		return nil, errors.New("no open questions")
	}
	return nil, fmt.Errorf("%w %q", ErrNotFound, name)
}

func nameAll(files []*File) string {
	names := make([]string, len(files))
	for i, f := range files {
		if names[i] = f.ID; f.ID == "" {
			names[i] = f.Path
		}
	}
	return strings.Join(names, ", ")
}

func (s *Store) openPath(path string) (*File, error) {
	if !isPending(filepath.Base(path)) { // what is opened may be changed or removed
		return nil, fmt.Errorf("%w: %q is not named %s…%s", ErrNotFound, path, prefix, suffix)
	}
	if d, err := s.openDir(filepath.Dir(path)); err == nil {
		defer d.close()
		if f := d.load(filepath.Base(path)); !errors.Is(f.Err, fs.ErrNotExist) {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrNotFound, path)
}

// Answer writes answers into a file, one per question, and keeps everything
// else that is in it. The zero Answer leaves a question open. The first answers
// stand: for a file that has them the error is a [desk.SettledError], and
// [ErrChanged] for one that is not as it was when f was read.
func (s *Store) Answer(f *File, answers []convert.Answer, by string) error {
	if len(answers) != len(f.Questions) {
		return fmt.Errorf("%s: %d answers for %d questions", f.Path, len(answers), len(f.Questions))
	}
	return s.settle(f, by, func(doc *document) []byte { return doc.write(answers) })
}

// Dismiss writes into a file that a person does not want its questions answered.
// Its errors are those of [Store.Answer].
func (s *Store) Dismiss(f *File, by string) error {
	return s.settle(f, by, (*document).dismiss)
}

// settle writes into a file that nobody has settled or changed meanwhile.
func (s *Store) settle(f *File, by string, write func(*document) []byte) error {
	return s.change(f, func(d *dir, name string, doc *document) error {
		switch now := d.load(name); {
		case doc == nil:
			return f.Err
		case now.Settled():
			return fmt.Errorf("%s: %w", f.Path, now.SettledError())
		case now.content != f.content:
			return fmt.Errorf("%s: %w", f.Path, ErrChanged)
		}
		data := write(doc)
		if back, err := parse(data); err != nil || len(back.questions) != len(doc.questions) {
			return fmt.Errorf("%s: the answers cannot be written into it: %w", f.Path, errors.Join(ErrDamaged, err))
		}
		if err := d.sign(f, data, by, s.now()); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		return d.replace(name, data)
	})
}

// sign records who gives the answers that a file is about to have.
func (d *dir) sign(f *File, data []byte, by string, now time.Time) error {
	rec, err := d.records.load(f.ID)
	if err != nil || rec == nil || f.Foreign != nil {
		return err
	}
	rec.By, rec.At, rec.Content = by, now, hash(data)
	return d.records.save(f.ID, rec)
}

// Remove removes a file for a person who does not want its questions, if it still
// holds those that it held when f was read: a program that waits for answers is
// told [ErrGone]. One that is gone already is no error.
func (s *Store) Remove(f *File) error {
	err := s.change(f, func(d *dir, name string, _ *document) error {
		rec, err := d.records.load(f.ID)
		if err == nil && rec != nil && rec.File == name {
			rec.Ticket, rec.Removed = "", s.now()
			err = d.records.save(f.ID, rec)
		}
		return errors.Join(err, d.remove(name))
	})
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// change does something to a file while no other program of ours does. The
// document is nil for a file that was damaged when f was read.
func (s *Store) change(f *File, do func(d *dir, name string, doc *document) error) error {
	d, err := s.openDir(filepath.Dir(f.Path))
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, errors.Join(ErrGone, err))
	}
	defer d.close()
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()
	name := filepath.Base(f.Path)
	if errors.Is(f.Err, ErrDamaged) {
		return do(d, name, nil)
	}
	data, _, err := d.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", f.Path, ErrGone)
	}
	doc, err := parsed(data, err)
	if err != nil {
		return damaged(f.Path, err)
	}
	if doc.id != f.ID || doc.id == "" && !sameTexts(doc.questions, f.Questions) {
		return fmt.Errorf("%s: %w", f.Path, ErrGone)
	}
	return do(d, name, doc)
}

func (s *Store) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}
