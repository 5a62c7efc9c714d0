package client

import (
	"cmp"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/internal/about"
)

// approved is what a permission request is about, word for word and nothing left out:
// somebody approves it. Paths are those beside dir. A sign says that a line is one of a diff:
// + or -.
func approved(r acp.RequestPermissionRequest, dir string, lost bool) (text string, signs []byte) {
	call := about.ToolTold(r).Call(about.CallOf(r))
	title := strings.TrimSpace(call.Title)
	v := call.View(dir)
	v.Parts = slices.DeleteFunc(v.Parts, func(p display.Part) bool { // they are the title
		return p.Kind == "title" || p.Kind == "command" && p.Label == "" && p.Text == strings.TrimPrefix(title, "$ ")
	})
	v.Parts = slices.Insert(v.Parts, 0, display.Part{Kind: "title", Text: cmp.Or(title, "Tool call")})
	if lost {
		v.Parts = append(v.Parts, display.Part{Kind: "line", Text: "The agent has shown more of this than is kept: it is not all here."})
	}
	var lines []string
	for _, l := range v.Plain() {
		lines, signs = append(lines, l.Text), append(signs, l.Sign)
	}
	return strings.Join(lines, "\n"), signs
}
