package drawing

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
)

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// Coloured draws a screen of tmux with its colours.
func Coloured(screen, background string) string {
	const line, char, margin = 20, 8.43, 16
	fg, bg, edge := "#1f2328", "#f6f8fa", "#d0d7de"
	if background == "dark" {
		fg, bg, edge = "#e6edf3", "#0d1117", "#30363d"
	}
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	width := 0
	var body strings.Builder
	for i, l := range lines {
		class, at := "", 0
		text := func(s string) {
			s = strings.TrimRight(s, "\n")
			if strings.TrimSpace(s) != "" {
				fmt.Fprintf(&body, "<text x=\"%.1f\" y=\"%d\"%s>%s</text>\n", margin+float64(at)*char, margin+i*line+14, class, html.EscapeString(s))
			}
			at += len([]rune(s))
			width = max(width, at)
		}
		for l != "" {
			next := sgr.FindStringSubmatchIndex(l)
			if next == nil {
				text(strings.TrimRight(l, " "))
				break
			}
			text(l[:next[0]])
			class = look(l[next[2]:next[3]], class)
			l = l[next[1]:]
		}
	}
	w, h := int(float64(width)*char)+2*margin, len(lines)*line+2*margin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">
<style>text { fill: %s; font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }</style>
<rect x="0.5" y="0.5" width="%d" height="%d" rx="6" fill="%s" stroke="%s"/>
%s</svg>
`, w, h, w, h, fg, w-1, h-1, bg, edge, body.String())
}

// look is the look of a text after a sequence of SGR.
func look(codes, before string) string {
	f := strings.Split(codes, ";")
	out := before
	for i := 0; i < len(f); i++ {
		switch f[i] {
		case "", "0", "39":
			out = ""
		case "1":
			out += ` font-weight="bold"`
		case "48":
			i += 4
		case "38":
			if i+4 < len(f) && f[i+1] == "2" {
				var c [3]int
				for j := range c {
					c[j], _ = strconv.Atoi(f[i+2+j])
				}
				out = fmt.Sprintf(` style="fill:#%02x%02x%02x"`, c[0], c[1], c[2])
				i += 4
			}
		}
	}
	return out
}
