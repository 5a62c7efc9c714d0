package hublink

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxBranch is more than the name of a branch takes.
const maxBranch = 1 << 10

// BranchOf is the branch of git that a folder is on, or the beginning of the commit
// where it is on none. Git is not started for it: two small files say it.
func BranchOf(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	for range 40 {
		git := filepath.Join(dir, ".git")
		if info, err := os.Lstat(git); err == nil {
			if info.Mode().IsRegular() { // a worktree, or a submodule
				at, ok := strings.CutPrefix(firstLine(git), "gitdir: ")
				if !ok {
					return ""
				}
				if git = at; !filepath.IsAbs(at) {
					git = filepath.Join(dir, at)
				}
			}
			head := firstLine(filepath.Join(git, "HEAD"))
			if name, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
				return name
			}
			return head[:min(len(head), 10)]
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}

// firstLine reads a small file that is one.
func firstLine(name string) string {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() { // a pipe would never end
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxBranch/2))
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}
