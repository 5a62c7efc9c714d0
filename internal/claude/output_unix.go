//go:build unix

package claude

import (
	"io/fs"
	"syscall"
)

// openNoWait keeps a pipe in a file's place from holding up whoever opens it.
const openNoWait = syscall.O_NONBLOCK

func ownedBy(info fs.FileInfo, uid int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == uid
}
