package look

import (
	"html/template"
	"strings"

	"github.com/acp-bridge/acp-bridge/display"
)

// Thing is what a permission is for, drawn.
type Thing struct {
	display.View
	parts []part
}

// part is a piece of a thing: lines that can be counted, or something drawn.
type part struct {
	label template.HTML
	class string
	lines []display.Line
	html  template.HTML
	size  int // about how many rows of a screen it takes
}

// Draw draws a view.
func Draw(v display.View) Thing {
	t := Thing{View: v}
	for rest := v.Parts; len(rest) > 0; {
		n := 1
		for rest[0].Kind == "member" && n < len(rest) && rest[n].Kind == "member" {
			n++
		}
		t.parts = append(t.parts, draw(rest[:n])...)
		rest = rest[n:]
	}
	return t
}

// draw draws a part, or members that stand together.
func draw(parts []display.Part) []part {
	switch p := parts[0]; p.Kind {
	case "member":
		return []part{table(parts)}
	case "markdown":
		if p.Label == "" {
			return markdown(p.Text, foldAt)
		}
		return []part{{label: Text(p.Label), class: "md", html: Markdown(p.Text), size: lineCountOf(p.Text)}}
	case "server":
		return []part{{html: `<p class="tool"><b>` + Text(p.Label) + `</b> of the MCP server <b>` + Text(p.Text) + `</b></p>`, size: 1}}
	case "address":
		return []part{{html: `<p class="address" dir="ltr">` + Address(p.Text) + `</p>`, size: 1 + len(p.Text)/100}}
	case "diff":
		label := `<bdi class="path" dir="ltr">` + Text(p.Label) + `</bdi>`
		if p.Stat != "" {
			label += `<span class="stat"> ` + template.HTML(p.Stat) + `</span>`
		}
		return []part{counted(label, "diff", p.Lines())}
	case "title":
		return []part{counted("", "line", p.Lines())}
	default:
		return []part{counted(Text(p.Label), p.Kind, p.Lines())}
	}
}

func counted(label template.HTML, class string, lines []display.Line) part {
	p := part{label: label, class: class, lines: lines}
	for _, l := range lines {
		p.size += rows(l)
	}
	return p
}

// table draws members of an input.
func table(members []display.Part) (p part) {
	var b strings.Builder
	b.WriteString(`<table class="args"><tbody>`)
	for _, m := range members {
		b.WriteString(`<tr><th scope="row" dir="auto">` + string(Text(m.Label)) + `</th><td dir="auto">` + string(Text(m.Text)) + `</td></tr>`)
		p.size += counted("", "", m.Lines()).size
	}
	b.WriteString(`</tbody></table>`)
	p.html = template.HTML(b.String())
	return p
}

// Also adds words that are permitted with it, as they are.
func (t *Thing) Also(label, words string) {
	t.parts = append(t.parts, draw([]display.Part{{Kind: "json", Label: label, Text: strings.TrimSuffix(words, "\n")}})...)
}
