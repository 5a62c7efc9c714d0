//go:build unix && !linux

package claude

import "os"

func unnamedFile() (*os.File, error) { return unlinkedFile() }
