package client

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

// How much of what tools put out is kept to be looked at.
const (
	maxOutputs = 50
	maxOutput  = 1 << 20 // bytes of all of them
)

// outputs are what the last tool calls put out, all of it.
type outputs struct {
	list  []output
	bytes int
}

// output is one tool call's.
type output struct {
	lines []string
	signs []byte
	bytes int
}

// keep adds what a tool call put out.
func (o *outputs) keep(title string, content []gjson.Result) {
	var out output
	add := func(text string, sign byte) {
		for l := range strings.SplitSeq(text, "\n") {
			out.lines, out.signs = append(out.lines, l), append(out.signs, sign)
			out.bytes += len(l)
		}
	}
	for _, c := range content {
		switch c.Get("type").Str {
		case "content":
			add(clean.Unfence(strings.Trim(clean.Block(contentText(c.Get("content"))), "\n")), 0)
		case "diff":
			for _, l := range changeOf(c).Plain() {
				add(l.Text, l.Sign)
			}
		}
	}
	if len(out.lines) == 0 {
		return
	}
	out.lines, out.signs = append([]string{"── " + title + " ──"}, out.lines...), append([]byte{0}, out.signs...)
	o.list, o.bytes = append(o.list, out), o.bytes+out.bytes
	for len(o.list) > 1 && (len(o.list) > maxOutputs || o.bytes > maxOutput) {
		o.bytes -= o.list[0].bytes
		o.list = o.list[1:]
	}
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
		lines, signs = append(lines, out.lines...), append(signs, out.signs...)
	}
	p := &cells.Pager{Title: "Tool output", Text: cells.Text{Lines: lines, Paint: func(i int, piece string) string {
		return style.Signed(signs[i], cells.Tabs(piece))
	}}}
	p.End()
	return p
}
