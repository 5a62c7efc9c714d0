// Package drawing draws what terminals show, for the README.
package drawing

import (
	"fmt"
	"html"
	"strings"
)

// SVG draws a screen, in the colours that its reader likes.
func SVG(screen string) string {
	const line, char, margin = 20, 8.43, 16
	lines := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
	width := 0
	for _, l := range lines {
		width = max(width, len([]rune(l)))
	}
	var b strings.Builder
	w, h := int(float64(width)*char)+2*margin, len(lines)*line+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">
<style>
rect { fill: #f6f8fa; stroke: #d0d7de }
text { fill: #1f2328; font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
.at { fill: #0a7b83; font-weight: bold }
.dim { fill: #59636e }
@media (prefers-color-scheme: dark) {
rect { fill: #0d1117; stroke: #30363d }
text { fill: #e6edf3 }
.at { fill: #56d4dd }
.dim { fill: #9198a1 }
}
</style>
<rect x="0.5" y="0.5" width="%d" height="%d" rx="6"/>
`, w, h, w, h, w-1, h-1)
	for i, l := range lines {
		class := ""
		switch {
		case strings.HasPrefix(l, "  > "):
			class = ` class="at"`
		case strings.HasPrefix(l, "       "), strings.HasPrefix(l, "──"), strings.Contains(l, " • "):
			class = ` class="dim"`
		}
		if l != "" {
			fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\"%s>%s</text>\n", margin, margin+i*line+14, class, html.EscapeString(l))
		}
	}
	return b.String() + "</svg>\n"
}
