package claude

import "os"

// add makes a file that is removed when it was read: there is no way to pass one
// without a name.
func (p *privateFiles) add(content []byte) error {
	f, err := os.CreateTemp("", "acp-bridge-*.json")
	if err != nil {
		return err
	}
	p.drop = append(p.drop, func() { _ = os.Remove(f.Name()) })
	p.paths = append(p.paths, f.Name())
	_, err = f.Write(content)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
