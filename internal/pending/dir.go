package pending

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
)

// maxFile bounds what is read of a file: questions are kilobytes.
const maxFile = 16 << 20

// dir is an open directory with files in it. Nothing outside it is read or
// written, whatever links it holds.
type dir struct {
	root    *os.Root // nil if the directory is gone, see [Store.openKept]
	name    string   // as it is shown
	records *records
}

// open opens the store's folder. Without one, and when it is not to be made,
// the error is ErrNotFound.
func (s *Store) open(create bool) (*dir, error) {
	parent, err := os.OpenRoot(cmp.Or(s.Dir, "."))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	if create {
		if err := parent.Mkdir(Folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make %s: %w", filepath.Join(s.Dir, Folder), reason(err))
		}
	}
	root, err := parent.OpenRoot(Folder)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !create:
		return nil, ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("%s cannot be used: %w", filepath.Join(s.Dir, Folder), err)
	}
	return s.withRecords(root, filepath.Join(s.Dir, Folder))
}

// openDir opens a directory that a person named.
func (s *Store) openDir(path string) (*dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return s.withRecords(root, path)
}

// openKept opens the directory of a file. One that is gone, as after git clean, has
// no files; the records of what was asked there are kept all the same.
func (s *Store) openKept(f *File) (*dir, error) {
	path := filepath.Dir(f.Path)
	d, err := s.openDir(path)
	if errors.Is(err, fs.ErrNotExist) && f.records != nil {
		return &dir{nil, path, f.records}, nil
	}
	return d, err
}

func (s *Store) withRecords(root *os.Root, path string) (*dir, error) {
	r, err := s.records(path)
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return &dir{root, path, r}, nil
}

func (d *dir) close() {
	if d.root != nil {
		_ = d.root.Close()
	}
}

func (d *dir) path(name string) string { return filepath.Join(d.name, name) }

// names lists the files that may hold questions.
func (d *dir) names() ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if isPending(e.Name()) && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// read reads a file. What is no regular file, a link among others, is not
// read: it may lead elsewhere, or never end.
func (d *dir) read(name string) (data []byte, info fs.FileInfo, err error) {
	if d.root == nil {
		return nil, nil, fs.ErrNotExist
	}
	for range 10 { // it may be replaced meanwhile
		var same bool
		if data, info, same, err = d.tryRead(name); same || err != nil {
			return data, info, err
		}
	}
	return nil, info, errors.New("it changes all the time")
}

func (d *dir) tryRead(name string) (data []byte, info fs.FileInfo, same bool, err error) {
	if info, err = d.root.Lstat(name); err != nil {
		return nil, nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, false, errors.New("it is not a regular file")
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, info, false, err
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil || !os.SameFile(opened, info) {
		return nil, info, false, err
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return data, info, true, err
}

// load reads a file and its answers: as answers to the questions that were asked,
// or to its own if it was not posted here.
func (d *dir) load(name string) *File {
	f := &File{Path: d.path(name), records: d.records}
	data, info, err := d.read(name)
	if info != nil {
		f.Changed = info.ModTime()
	}
	doc, err := parsed(data, err)
	if err != nil {
		f.Err = damaged(f.Path, err)
		return f
	}
	f.ID, f.Session, f.Asked, f.Questions = doc.id, doc.session, doc.asked, doc.questions
	f.content = hash(data)
	d.vouch(f, name, doc, info)
	f.Answers, err = doc.read(f.Questions)
	switch {
	case doc.dismissed, errors.Is(err, convert.ErrCancelled):
		f.Cancelled = true
	case err != nil:
		f.Err = fmt.Errorf("%s: %w", f.Path, err)
	}
	return f
}

// vouch notes why the answers in a file do not count, or what was asked, by whom,
// and who gave them.
func (d *dir) vouch(f *File, name string, doc *document, info fs.FileInfo) {
	rec, err := d.records.load(f.ID)
	if err != nil {
		f.Foreign = fmt.Errorf("%w: %w", ErrForeign, err)
		return
	}
	if f.Foreign = rec.vouch(d, name, doc, stranger(info)); f.Foreign != nil {
		return
	}
	f.Session, f.Agent, f.Questions = rec.Session, rec.Agent, rec.Questions
	if rec.Content == f.content {
		f.By, f.Changed = rec.By, rec.At
	}
}

// create writes a new file under the first name that is free.
func (d *dir) create(names []string, data []byte) (string, error) {
	tmp, err := d.temp(data)
	if err != nil {
		return "", d.unwritten(names[0], err)
	}
	defer func() { _ = d.root.Remove(tmp) }()
	for _, name := range names {
		err = d.place(tmp, name)
		if err == nil {
			d.ignore()
			d.sync()
			return name, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return "", d.unwritten(names[0], err)
}

// ignore keeps the folder out of git: it is of this machine alone. Without it
// the questions wait all the same.
func (d *dir) ignore() {
	f, err := d.root.OpenFile(".gitignore", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = f.WriteString("*\n")
		_ = f.Close()
	}
}

// unwritten says that a file could not be written, and why. The names of files
// in between are of no use to a person.
func (d *dir) unwritten(name string, err error) error {
	return fmt.Errorf("write %s: %w", d.path(name), reason(err))
}

// reason is an error without the file that it was about.
func reason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}

// place gives a complete file its name, unless the name is taken.
func (d *dir) place(tmp, name string) error {
	err := d.root.Link(tmp, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// No links on this file system: take the name first, then fill it.
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = f.Close()
	if err == nil {
		err = d.root.Rename(tmp, name)
	}
	if err != nil { // an empty file would be a damaged one
		_ = d.root.Remove(name)
	}
	return err
}

// replace gives a file other content, at once.
func (d *dir) replace(name string, data []byte) error {
	tmp, err := d.temp(data)
	if err != nil {
		return d.unwritten(name, err)
	}
	if err := d.root.Rename(tmp, name); err != nil {
		_ = d.root.Remove(tmp)
		return d.unwritten(name, err)
	}
	d.sync()
	return nil
}

func (d *dir) remove(name string) error {
	if err := d.root.Remove(name); err != nil {
		return fmt.Errorf("remove %s: %w", d.path(name), reason(err))
	}
	return nil
}

// temp writes a file that has no name yet that anyone looks for.
func (d *dir) temp(data []byte) (string, error) {
	name := ".pending-" + rand.Text() + ".tmp"
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		_ = d.root.Remove(name)
		return "", err
	}
	return name, nil
}

// sync makes a new name last; where a directory cannot be synced it lasts
// anyway, or nothing can be done.
func (d *dir) sync() {
	if f, err := d.root.Open("."); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// isPending reports whether a name is one of a pending file.
func isPending(name string) bool {
	return strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix)
}
