//go:build !unix

package claude

import "os"

// readNow has nothing to do where a pipe has no deadline.
func readNow(*os.File, []byte) (int, bool) { return 0, false }
