package display

import (
	"path"
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// maxPath is the most graphemes of a path in a title. Of a longer one the end
// is kept: the file's name tells more than the root it hangs from.
const maxPath = 90

// at is the location of a file, none without a path. Line 0 means none.
func at(file, cwd string, line int) []acp.ToolCallLocation {
	if file == "" {
		return nil
	}
	l := acp.ToolCallLocation{Path: absolute(file, cwd)}
	if line > 0 {
		l.Line = &line
	}
	return []acp.ToolCallLocation{l}
}

// absolute resolves a relative path against cwd and leaves every other one as
// it is: absolute paths of either system, ~ (whose home is not known here) and
// URLs.
func absolute(file, cwd string) string {
	switch {
	case file == "" || cwd == "" || rooted(file):
		return file
	case windows(cwd):
		return strings.TrimRight(cwd, `\/`) + `\` + file
	case strings.HasPrefix(cwd, "/"):
		return path.Join(cwd, file)
	}
	return file
}

// shown is a path for a title: relative to cwd if it is inside, absolute if
// not, with dots resolved so that /app/../etc cannot pass for a part of /app.
func shown(file, cwd string) string {
	return shorten(clean.Line(clean.Visible(within(absolute(file, cwd), cwd))))
}

func within(file, cwd string) string {
	if windows(file) {
		return withinWindows(file, cwd)
	}
	if !strings.HasPrefix(file, "/") {
		return file
	}
	file = path.Clean(file)
	if !strings.HasPrefix(cwd, "/") {
		return file
	}
	cwd = path.Clean(cwd)
	switch {
	case file == cwd:
		return "."
	case strings.HasPrefix(file, cwd+"/"): // never for a cwd of "/"
		return file[len(cwd)+1:]
	}
	return file
}

// withinWindows compares as Windows does, either slash and any case, but does
// not resolve dots: a path that has them is shown as it is.
func withinWindows(file, cwd string) string {
	cwd = strings.TrimRight(cwd, `\/`)
	if !windows(cwd+`\`) || len(file) < len(cwd) || strings.Contains(file, "..") {
		return file
	}
	slashes := strings.NewReplacer("/", `\`)
	if !strings.EqualFold(slashes.Replace(file[:len(cwd)]), slashes.Replace(cwd)) {
		return file
	}
	rest := file[len(cwd):]
	switch {
	case strings.Trim(rest, `\/`) == "":
		return "."
	case rest[0] == '\\' || rest[0] == '/':
		return rest[1:]
	}
	return file
}

// rooted reports a path that does not depend on a working directory.
func rooted(file string) bool {
	return strings.HasPrefix(file, "/") || windows(file) ||
		file == "~" || strings.HasPrefix(file, "~/") || strings.Contains(file, "://")
}

// windows reports a path with a drive (C:\ or C:/) or a share (\\host).
func windows(file string) bool {
	if strings.HasPrefix(file, `\\`) {
		return true
	}
	if len(file) < 3 || file[1] != ':' || file[2] != '\\' && file[2] != '/' {
		return false
	}
	c := file[0] | 0x20
	return c >= 'a' && c <= 'z'
}

// shorten drops directories from the front of a path that is too long.
func shorten(file string) string {
	if len(file) <= maxPath {
		return file
	}
	left := count(file)
	if left <= maxPath {
		return file
	}
	name := file
	for it := graphemes.FromString(file); it.Next(); left-- {
		if it.Value() == "/" || it.Value() == `\` {
			from := file[it.Start():]
			if left < maxPath {
				return "…" + from
			}
			name = from
		}
	}
	// Even the file's name alone is too long.
	return clean.Truncate(name, maxPath)
}

// count is the number of characters as a person counts them.
func count(s string) (n int) {
	for it := graphemes.FromString(s); it.Next(); {
		n++
	}
	return n
}
