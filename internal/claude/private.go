package claude

import (
	"os"
	"sync"
)

// privateFiles are the files of [Options].Private.
type privateFiles struct {
	paths  []string   // as the CLI finds them
	passed []*os.File // those that it inherits
	err    error

	once sync.Once
	drop []func()
}

func newPrivateFiles(flags []PrivateFlag) *privateFiles {
	p := &privateFiles{}
	for _, f := range flags {
		if p.err == nil {
			p.err = p.add(f.Content)
		}
	}
	return p
}

// forget empties and closes the files. What the CLI has read is its own.
func (p *privateFiles) forget() {
	p.once.Do(func() {
		for _, drop := range p.drop {
			drop()
		}
	})
}
