package look

import (
	"fmt"
	"html/template"
	"strings"

	godiff "github.com/rogpeppe/go-internal/diff"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
)

// changes draws changes of files that the agent shows beside its input.
func (t *Thing) changes(list []about.Change) {
	for _, c := range list {
		t.diff(c.Path, c.Old, c.New)
	}
}

// maxDiff is how much text is compared line by line. More is shown as if all of it
// had changed.
const maxDiff = 2 << 20

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
	if len(old)+len(text) > maxDiff {
		return append(signed(old, '-'), signed(text, '+')...)
	}
	d := string(godiff.Diff("old", ended(old), "new", ended(text)))
	for range 3 { // diff, ---, +++
		_, d, _ = strings.Cut(d, "\n")
	}
	for l := range strings.SplitSeq(strings.TrimSuffix(d, "\n"), "\n") {
		switch {
		case l == "":
		case l[0] == '@':
			if len(rows) > 0 {
				rows = append(rows, row{line: line{text: "⋯"}, gap: true})
			}
		case l[0] == '+' || l[0] == '-':
			rows = append(rows, row{line: line{text: l[1:]}, sign: l[0]})
		default:
			rows = append(rows, row{line: line{text: l[1:]}})
		}
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

func signed(s string, sign byte) (rows []row) {
	for _, l := range split(strings.TrimSuffix(s, "\n")) {
		rows = append(rows, row{line: l, sign: sign})
	}
	return rows
}

func ended(text string) []byte {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return []byte(text)
}
