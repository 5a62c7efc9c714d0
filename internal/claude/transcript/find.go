package transcript

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// ErrID is returned for a session id that is not a UUID.
var ErrID = errors.New("not a session id")

const extension = ".jsonl"

// ValidID reports whether id has the form of a session id, a UUID. Only such
// an id becomes part of a path.
func ValidID(id string) bool {
	digits, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	return err == nil && len(digits) == 16 && len(id) == 36 && id[8] == '-' && id[13] == '-' && id[18] == '-' && id[23] == '-'
}

// Find returns the file of a session. It looks in the folder of cwd first and
// then, or if cwd is empty, in all others: the CLI resumes a session only in
// the directory it belongs to, which Stat tells. The error is ErrID or
// fs.ErrNotExist.
func Find(configDir, id, cwd string) (string, error) {
	if !ValidID(id) {
		return "", fmt.Errorf("transcript: %w: %q", ErrID, id)
	}
	if configDir == "" {
		return "", errNoConfig
	}
	for _, dir := range slices.Compact([]string{cwd, ""}) {
		where, err := folders(configDir, dir)
		if err != nil {
			return "", fmt.Errorf("transcript: find session %s: %w", id, err)
		}
		for _, f := range where {
			if path := filepath.Join(f.path, id+extension); regular(path) {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("transcript: session %s: %w", id, fs.ErrNotExist)
}

// regular reports whether path is a file with something in it. A link or a
// pipe is not opened: it may lead anywhere or never end.
func regular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// readSmall is what is in a file of at most so many bytes; nil if it is none.
func readSmall(path string, most int64) []byte {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil
	}
	raw, _ := os.ReadFile(path)
	return raw
}

// openRegular opens a file and follows no link, also if one takes its place meanwhile.
func openRegular(path string) (*os.File, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return claude.OpenRegular(root, filepath.Base(path), func() {})
}

// sessionID is the id that a session file is named after.
func sessionID(path string) (string, bool) {
	id, ok := strings.CutSuffix(filepath.Base(path), extension)
	return id, ok && ValidID(id)
}
