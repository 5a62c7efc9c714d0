//go:build !unix

package claude

import "io/fs"

const openNoWait = 0

// ownedBy is false where an open file could not be removed by the CLI: output
// is not followed there.
func ownedBy(fs.FileInfo, int) bool { return false }
