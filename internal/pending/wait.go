package pending

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

const (
	// defaultInterval is short for a person and long for a disk.
	defaultInterval = 250 * time.Millisecond
	// absence is how long a file has to be missing to be written again. Editors
	// move a file away before they write it anew.
	absence = 2 * time.Second
)

// Wait waits until the file is settled, see [File.Settled], and returns it. It
// returns [ErrGone] when a person has removed the file with [Store.Remove], and the
// cause of ctx when that ends, after a last look. A file that is missing otherwise
// is waited for: whoever cleans a work tree dismisses no question. What is wrong
// with the file in the meantime goes to Report, once for each change.
func (s *Store) Wait(ctx context.Context, f *File) (*File, error) {
	return s.wait(ctx, f, func(*File) (*File, error) { return nil, nil })
}

// wait is Wait. again is called while the file is missing, and may write it anew: then
// it returns that one. Its error ends the wait.
func (s *Store) wait(ctx context.Context, f *File, again func(*File) (*File, error)) (*File, error) {
	tick := time.NewTicker(cmp.Or(s.Interval, defaultInterval))
	defer tick.Stop()
	w := watch{store: s, file: f, report: s.Report, again: again}
	for {
		now, err := w.look()
		if now != nil || err != nil {
			return now, err
		}
		select {
		case <-ctx.Done(): // it may have been settled since the last look
			if now, err := w.look(); now != nil || err != nil {
				return now, err
			}
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// watch is what is known of a file that is waited for.
type watch struct {
	store  *Store
	file   *File // as it was posted
	report func(error)
	again  func(*File) (*File, error)

	seen    string // the hash of what was read last
	problem error  // of what was read last
	told    string // the problem that was reported last
	missing time.Time
}

// look returns the file when it is answered. It reads the file each time: size
// and time may stay the same when it changes.
func (w *watch) look() (*File, error) {
	d, err := w.store.openDir(filepath.Dir(w.file.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, w.absent()
	case err != nil: // it may pass, such as too many open files
		w.found("", err)
		return nil, nil
	}
	defer d.close()
	name := filepath.Base(w.file.Path)
	data, _, err := d.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, w.absent()
	}
	now := hash(data) + fmt.Sprint(err)
	if now == w.seen && w.problem == nil { // and is ours: else it is absent
		return nil, nil
	}
	f := d.load(name)
	problem := f.Err
	switch {
	case errors.Is(f.Err, ErrDamaged):
	case f.ID != w.file.ID && (f.ID != "" || !sameTexts(f.Questions, w.file.Questions)):
		return nil, w.absent()
	case f.Err == nil && f.Foreign != nil && f.Left() < len(f.Questions):
		problem = f.Foreign
	}
	w.missing = time.Time{}
	if f.Settled() && f.Foreign == nil {
		return f, nil
	}
	w.found(now, problem)
	return nil, nil
}

// found notes what was read. A problem is reported once, when the file stays as it
// is: an editor may be at work. It is looked into each time: it may be none of the
// file's.
func (w *watch) found(now string, problem error) {
	if problem == nil {
		w.told = ""
	} else if now == w.seen && problem.Error() != w.told && w.report != nil {
		w.told = problem.Error()
		w.report(problem)
	}
	w.seen, w.problem = now, problem
}

// absent is called while the file is missing, or other questions are in its place.
func (w *watch) absent() error {
	w.seen = ""
	if rec, err := w.file.records.load(w.file.ID); err == nil && rec.cleared() {
		return fmt.Errorf("%s: %w", w.file.Path, ErrGone)
	}
	if w.missing.IsZero() {
		w.missing = time.Now()
	}
	if time.Since(w.missing) < absence {
		return nil
	}
	now, err := w.again(w.file)
	if now != nil {
		w.file, w.missing = now, time.Time{}
	}
	return err
}
