package transcript

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// The CLI marks a session that is archived in a file beside it. A prompt that was
// sent in it since makes it an ordinary one again.
const (
	archiveMark    = "archived.json"
	maxArchiveMark = 4 << 10
)

// Archive archives a session, or takes that back. A session that is in use must be
// ended first.
func Archive(configDir, path string, archived bool) error {
	return inProjects(configDir, path, "archive", func(root *os.Root, rel, id string) error {
		mark := clean.JSON(struct {
			Archived bool   `json:"archived"`
			At       string `json:"at"`
			By       string `json:"by"`
		}{archived, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "acp-bridge"})
		dir := filepath.Join(filepath.Dir(rel), id)
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		name := filepath.Join(dir, archiveMark) // a reader must not find half of it
		return errors.Join(root.WriteFile(name+".tmp", mark, 0o600), root.Rename(name+".tmp", name))
	})
}

// archivedAt is when a session was archived; zero if it is not.
func archivedAt(path string) time.Time {
	id, _ := sessionID(path)
	raw := readSmall(filepath.Join(filepath.Dir(path), id, archiveMark), maxArchiveMark)
	if !gjson.ValidBytes(raw) || !gjson.GetBytes(raw, "archived").Bool() {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, gjson.GetBytes(raw, "at").Str)
	return at
}

// promptedSince reports whether lines hold a prompt that is later than at.
func promptedSince(data []byte, at time.Time) bool {
	for line := range bytes.Lines(data) {
		typ := gjson.GetBytes(line, "type").Str
		if typ != "user" && typ != "attachment" {
			continue
		}
		r := parseRow(gjson.ParseBytes(line))
		if !r.time().After(at) || r.sidechain || r.notPrompt() {
			continue
		}
		content := r.content
		if typ == "attachment" {
			content = r.queued()
		}
		var c clues
		if c.blocks(content); c.prompted {
			return true
		}
	}
	return false
}
