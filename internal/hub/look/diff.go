package look

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
)

// changes draws changes of files that the agent shows beside its input.
func (t *Thing) changes(c Call) {
	for _, change := range c.Changes {
		t.diff(c.within(change.Path), change.Old, change.New)
	}
}

// diff draws a change of a file. Without the text before it, all of it is new;
// whether the file is there already nobody has said.
func (t *Thing) diff(path string, old *string, text string) {
	p := part{class: "diff"}
	plus, minus := 0, 0
	if old == nil {
		for _, l := range split(strings.TrimSuffix(text, "\n")) {
			p.rows = append(p.rows, row{line: l, sign: '+'})
			plus += max(l.blank, 1)
		}
	} else {
		p.rows = compare(*old, text)
		for _, r := range p.rows {
			switch r.sign {
			case '+':
				plus += max(r.blank, 1)
			case '-':
				minus += max(r.blank, 1)
			}
		}
		if *old != text && strings.TrimSuffix(*old, "\n") == strings.TrimSuffix(text, "\n") {
			p.rows = append(p.rows, row{line: line{text: "(the line break at the end changes)"}, gap: true})
		}
		for i := range p.rows { // where in the file it is, an edit does not say
			p.rows[i].n = 0
		}
	}
	count := fmt.Sprintf(" +%d −%d", plus, minus)
	if old == nil {
		count = fmt.Sprintf(" %s", lineCount(plus))
	}
	p.label = pathLabel(path) + template.HTML(`<span class="stat">`+count+`</span>`)
	t.add(p)
}

func pathLabel(path string) template.HTML {
	return `<bdi class="path" dir="ltr">` + Text(clean.Line(clean.Visible(path))) + `</bdi>`
}

// compare is the lines of a diff.
func compare(old, text string) (rows []row) {
	for _, l := range about.Diff(old, text) {
		r := row{line: line{text: l.Text}, sign: l.Sign}
		if l.Sign == '@' {
			r = row{line: line{text: "⋯"}, gap: true}
		}
		rows = append(rows, r)
	}
	return folded(rows)
}

// folded has one row for each long run of blank ones.
func folded(rows []row) (out []row) {
	for i := 0; i < len(rows); {
		n := i
		for n < len(rows) && rows[n].sign == rows[i].sign && !rows[n].gap && Blank(rows[n].text) {
			n++
		}
		if n-i > mostBlank {
			out = append(out, row{line: line{blank: n - i}, sign: rows[i].sign})
			i = n
			continue
		}
		out = append(out, rows[i:max(n, i+1)]...)
		i = max(n, i+1)
	}
	return out
}
