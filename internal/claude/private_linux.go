package claude

import (
	"os"

	"golang.org/x/sys/unix"
)

// unnamedFile is a file in memory.
func unnamedFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("acp-bridge", unix.MFD_CLOEXEC)
	if err != nil {
		return unlinkedFile()
	}
	return os.NewFile(uintptr(fd), "private"), nil
}
