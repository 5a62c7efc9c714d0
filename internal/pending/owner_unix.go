//go:build unix

package pending

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// stranger says whose a file is that is not this user's; it is empty for ours.
func stranger(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Getuid() {
		return ""
	}
	return "user " + strconv.Itoa(int(st.Uid))
}
