package transcript

import (
	"cmp"
	"errors"
	"os"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// SetTitle names a session as the CLI does: with a line at the end of its
// transcript. It may be open in the CLI, which also only appends.
func SetTitle(path, id, title string) error {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return cmp.Or(err, ErrOutside)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	line := clean.JSON(struct {
		Type  string `json:"type"`
		Title string `json:"customTitle"`
		ID    string `json:"sessionId"`
	}{"custom-title", title, id})
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}
