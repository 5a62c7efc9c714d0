package client

import (
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display"
)

// changeOf reads a change of a file from a tool call's content.
func changeOf(c gjson.Result) display.View {
	change := display.Change{Path: c.Get("path").Str, New: c.Get("newText").Str}
	if old := c.Get("oldText"); old.Type == gjson.String {
		change.Old = &old.Str
	}
	return display.View{Parts: []display.Part{change.Part("")}}
}
