package transcript

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrCursor is returned for a cursor that List did not make.
var ErrCursor = errors.New("not a cursor of a session list")

var errNoConfig = errors.New("transcript: no configuration directory: neither CLAUDE_CONFIG_DIR nor a home is set")

const defaultLimit = 50

// Options say which sessions to list.
type Options struct {
	// ConfigDir is the CLI's configuration directory, as ConfigDir returns it.
	ConfigDir string
	// Cwd restricts the list to sessions of that directory; empty means all.
	Cwd string
	// Cursor is where the previous page ended; empty for the first.
	Cursor string
	// Limit is the size of a page; zero means 50.
	Limit int
	// Leave leaves a session out; nil lists all.
	Leave func(Info) bool
}

// Info is a session as a list shows it.
type Info struct {
	ID string
	// Cwd is the directory in which the session runs; empty if its file does
	// not tell.
	Cwd string
	// Title is one line, cleaned: the session's own title, else its first
	// prompt.
	Title string
	// Archived is set if it was archived and no prompt was sent in it since.
	Archived bool
	// Updated is when the file was last written.
	Updated time.Time
	Path    string
	Size    int64
}

// List returns a page of sessions, newest first, and the cursor of the next
// page, empty on the last one. A cursor stays valid while sessions come and
// go: a page begins after the last session of the one before. Sessions without
// a prompt and files that cannot be read are left out.
func List(ctx context.Context, opts Options) (page []Info, next string, err error) {
	if opts.ConfigDir == "" {
		return nil, "", errNoConfig
	}
	limit := cmp.Or(max(opts.Limit, 0), defaultLimit)
	files, err := candidates(ctx, opts)
	if err != nil {
		return nil, "", err
	}
	if opts.Cursor != "" {
		after, err := parseCursor(opts.Cursor)
		if err != nil {
			return nil, "", err
		}
		i, _ := slices.BinarySearchFunc(files, after, newest)
		for i < len(files) && newest(files[i], after) <= 0 {
			i++
		}
		files = files[i:]
	}
	p := newPeeker()
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		info, ok := p.peek(f.path)
		info.ID, info.Path, info.Updated = f.id, f.path, f.updated
		if !ok || opts.Cwd != "" && !belongs(info.Cwd, opts.Cwd, f.strict) || opts.Leave != nil && opts.Leave(info) {
			continue
		}
		if len(page) == limit { // there is one more
			last := page[limit-1]
			return page, base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(last.Updated.UnixNano(), 10) + ":" + last.ID)), nil
		}
		page = append(page, info)
	}
	return page, "", nil
}

// Stat returns what List knows of one session file. It reports false for a
// file that List would leave out.
func Stat(path string) (Info, bool) {
	id, ok := sessionID(path)
	file, err := os.Lstat(path)
	if !ok || err != nil || !file.Mode().IsRegular() {
		return Info{}, false
	}
	info, ok := newPeeker().peek(path)
	info.ID, info.Path, info.Updated = id, path, file.ModTime()
	return info, ok
}

type candidate struct {
	path, id string
	updated  time.Time
	strict   bool
}

// newest orders sessions as a list shows them.
func newest(a, b candidate) int {
	return cmp.Or(b.updated.Compare(a.updated), cmp.Compare(a.id, b.id))
}

// candidates are the session files in question, newest first, each id once.
func candidates(ctx context.Context, opts Options) ([]candidate, error) {
	where, err := folders(opts.ConfigDir, opts.Cwd)
	if err != nil {
		return nil, fmt.Errorf("transcript: list sessions: %w", err)
	}
	var found []candidate
	for _, f := range where {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entries, _ := os.ReadDir(f.path)
		for _, e := range entries {
			id, ok := sessionID(e.Name())
			if !ok || !e.Type().IsRegular() {
				continue
			}
			info, err := e.Info()
			if err != nil || info.Size() == 0 {
				continue
			}
			found = append(found, candidate{filepath.Join(f.path, e.Name()), id, info.ModTime(), f.strict})
		}
	}
	slices.SortFunc(found, newest)
	seen := make(map[string]bool, len(found))
	return slices.DeleteFunc(found, func(c candidate) bool {
		dup := seen[c.id]
		seen[c.id] = true
		return dup
	}), nil
}

// belongs reports whether a session that ran in dir is one of cwd's. Where
// the folder's name alone led to it, a session that began elsewhere and came
// here counts; one of a directory that only shares the folder's name does not.
func belongs(dir, cwd string, strict bool) bool {
	if dir == "" {
		return !strict
	}
	real := realPath(cwd)
	if dir == cwd || dir == real || filepath.Clean(dir) == filepath.Clean(cwd) {
		return true
	}
	if name := dashed(dir); !strict && name != dashed(real) && name != dashed(filepath.Clean(cwd)) {
		return true
	}
	return realPath(dir) == real
}

func parseCursor(s string) (candidate, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	nanos, id, ok := strings.Cut(string(raw), ":")
	n, numErr := strconv.ParseInt(nanos, 10, 64)
	if err != nil || !ok || numErr != nil || !ValidID(id) {
		return candidate{}, fmt.Errorf("transcript: %w: %.80q", ErrCursor, s)
	}
	return candidate{id: id, updated: time.Unix(0, n)}, nil
}
