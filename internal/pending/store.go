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

// Post writes the questions of a call into a file, or finds the file where
// they wait already. A file of these questions that cannot be used is an error
// that wraps [ErrDamaged] or [ErrAnswer].
func (s *Store) Post(c convert.Call) (*File, error) {
	if len(c.Questions) == 0 {
		return nil, convert.ErrNoQuestions
	}
	d, err := s.open(true)
	if err != nil {
		return nil, err
	}
	defer d.close()
	unlock, err := d.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	f, err := s.find(d, c)
	if !errors.Is(err, ErrNotFound) {
		return f, err
	}
	id, rec := ID(c), &record{Ticket: newTicket(), Folder: d.name, Asked: s.now()}
	if rec.File, err = d.create(s.names(id), compose(c, rec.Asked, rec.Ticket)); err != nil {
		return nil, err
	}
	if err := d.records.save(id, rec); err != nil {
		return nil, fmt.Errorf("%s: %w", d.path(rec.File), errors.Join(err, d.remove(rec.File)))
	}
	return d.load(rec.File, &wanted{c, id}), nil
}

// names are the names for a file, the best one first.
func (s *Store) names(id string) []string {
	names := []string{prefix + suffix, prefix + "-" + id + suffix}
	for n := 2; n <= 9; n++ { // should these names be taken, by copies perhaps
		names = append(names, fmt.Sprintf("%s-%s-%d%s", prefix, id, n, suffix))
	}
	return names
}

// Find finds the file where the questions of a call wait. Its Answers are read
// as answers to this call. Without one the error is [ErrNotFound]; it is what
// is wrong with the file if it cannot be used.
func (s *Store) Find(c convert.Call) (*File, error) {
	d, err := s.open(false)
	if err != nil {
		return nil, err
	}
	defer d.close()
	return s.find(d, c)
}

// find looks at the file that the record names, and at those that have the
// names that a file of these questions would have: not at all, of which there
// may be many.
func (s *Store) find(d *dir, c convert.Call) (*File, error) {
	want := &wanted{c, ID(c)}
	rec, err := d.records.load(want.id)
	if err != nil {
		return nil, err
	}
	names := s.names(want.id)[:2]
	if rec != nil && !slices.Contains(names, rec.File) {
		names = append(names, rec.File)
	}
	var own error // what is wrong with the file that was these questions'
	for _, name := range names {
		data, _, err := d.read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		_, err = parsed(data, err)
		if err != nil {
			err = damaged(d.path(name), err)
			if rec != nil && rec.File == name && strings.Contains(string(data), encode(want.id)) {
				own = err
			} else {
				s.report(err)
			}
			continue
		}
		f := d.load(name, want)
		switch {
		case errors.Is(f.Err, ErrGone), errors.Is(f.Err, fs.ErrNotExist): // of other questions
		case f.Foreign == nil:
			return f, f.Err
		case f.Err != nil || f.Left() < len(f.Questions) || f.Cancelled:
			s.report(f.Foreign)
		}
	}
	if own != nil { // a second file would have the person answer again
		return nil, own
	}
	return nil, ErrNotFound
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
		if f := d.load(name, nil); !errors.Is(f.Err, fs.ErrNotExist) {
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b *File) int { return a.Asked.Compare(b.Asked) })
	return files, nil
}

// Open returns the file with a path, or whose id begins with the given
// letters; or, for an empty string, the only one that waits. A file that
// cannot be used is returned with its Err set.
func (s *Store) Open(name string) (*File, error) {
	if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, suffix) {
		return s.openPath(name)
	}
	files, err := s.List()
	if err != nil {
		return nil, err
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
		return nil, errors.New("no questions are waiting")
	}
	return nil, fmt.Errorf("%w: %q", ErrNotFound, name)
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
	d, err := s.openDir(filepath.Dir(path))
	if err == nil {
		defer d.close()
		if f := d.load(filepath.Base(path), nil); !errors.Is(f.Err, fs.ErrNotExist) {
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
		switch now := d.load(name, nil); {
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

// Take uses the answers in a file: it calls use while nobody else can take or
// change them, and removes the file if that returns nil. [ErrGone] or
// [ErrChanged] mean that they are not there any more as f has them. An error
// after use returned nil is about removing the file; its answers are used up.
func (s *Store) Take(f *File, use func() error) error {
	if f.Foreign != nil {
		return f.Foreign
	}
	return s.change(f, func(d *dir, name string, doc *document) error {
		switch now := d.load(name, nil); {
		case now.Foreign != nil: // the one that was posted is gone
			return fmt.Errorf("%s: %w", f.Path, ErrGone)
		case now.content != f.content:
			return fmt.Errorf("%s: %w", f.Path, ErrChanged)
		}
		if err := use(); err != nil {
			return err
		}
		return errors.Join(d.records.remove(f.ID), d.remove(name))
	})
}

// Clear removes a file whose questions a program needs no more, if it still
// holds the questions it held when f was read. One that is gone already is no
// error.
func (s *Store) Clear(f *File) error {
	return s.removeFile(f, func(r *records, _ *record) error { return r.remove(f.ID) })
}

// Remove is [Store.Clear] for a person, who does not want the questions: programs
// that wait for answers are told [ErrGone], and not [ErrTaken].
func (s *Store) Remove(f *File) error {
	return s.removeFile(f, func(r *records, old *record) error {
		return r.save(f.ID, &record{Folder: old.Folder, File: old.File, Asked: old.Asked, Removed: s.now()})
	})
}

// removeFile removes a file, after something is done to its record.
func (s *Store) removeFile(f *File, do func(*records, *record) error) error {
	err := s.change(f, func(d *dir, name string, _ *document) error {
		rec, err := d.records.load(f.ID)
		if err == nil && rec != nil && rec.File == name {
			err = do(d.records, rec)
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
	now := new(File)
	if doc.fill(now); now.ID != f.ID && !doc.belongs(f.Call(), f.ID) {
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
