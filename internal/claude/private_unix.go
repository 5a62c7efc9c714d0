//go:build unix

package claude

import (
	"os"
	"strconv"
)

// add makes a file without a name, which the CLI inherits. Its own children do
// not get it: it is emptied, and the CLI closes what it does not know.
func (p *privateFiles) add(content []byte) error {
	f, err := unnamedFile()
	if err != nil {
		return err
	}
	p.drop = append(p.drop, func() {
		_ = f.Truncate(0)
		_ = f.Close()
	})
	if _, err := f.Write(content); err != nil {
		return err
	}
	if _, err := f.Seek(0, 0); err != nil {
		return err
	}
	p.passed = append(p.passed, f)
	p.paths = append(p.paths, "/dev/fd/"+strconv.Itoa(2+len(p.passed)))
	return nil
}

// unlinkedFile is a file whose name is gone before anything is in it.
func unlinkedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "acp-bridge-*") // mode 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
