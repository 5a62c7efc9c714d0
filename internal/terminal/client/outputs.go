package client

import (
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

// How much of what tools put out is kept to be looked at.
const (
	maxOutputs = 50
	maxOutput  = 1 << 20 // bytes of all of them
)

// outputs are what the last tool calls put out, all of it.
type outputs struct {
	list  [][]display.Line
	bytes int
}

// keep adds what a tool call put out.
func (o *outputs) keep(title string, content []gjson.Result) {
	out := []display.Line{{Text: "── " + title + " ──"}}
	for _, c := range content {
		out = append(out, contentLines(c)...)
	}
	if len(out) == 1 {
		return
	}
	o.list, o.bytes = append(o.list, out), o.bytes+size(out)
	for len(o.list) > 1 && (len(o.list) > maxOutputs || o.bytes > maxOutput) {
		o.bytes -= size(o.list[0])
		o.list = o.list[1:]
	}
}

func size(lines []display.Line) (n int) {
	for _, l := range lines {
		n += len(l.Text)
	}
	return n
}

// pager shows them, the last one in view; nil where there are none.
func (o *outputs) pager(style cells.Style) *cells.Pager {
	if len(o.list) == 0 {
		return nil
	}
	var lines []string
	var signs []byte
	for i, out := range o.list {
		if i > 0 {
			lines, signs = append(lines, ""), append(signs, 0)
		}
		for _, l := range out {
			lines, signs = append(lines, l.Text), append(signs, l.Sign)
		}
	}
	p := &cells.Pager{Title: "Tool output", Text: cells.Text{Lines: lines, Paint: func(i int, piece string) string {
		return style.Signed(signs[i], cells.Tabs(piece))
	}}}
	p.End()
	return p
}
