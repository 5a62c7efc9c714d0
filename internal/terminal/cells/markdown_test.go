package cells_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

func TestMarkdown(t *testing.T) {
	style := cells.Style{}
	code, strong := style.Code, style.Strong
	for in, want := range map[string]string{
		"# Title":                        strong("Title"),
		"## A `b` **c**":                 strong("A b c"),
		"#hash":                          "#hash",
		"plain":                          "plain",
		"a **b** c":                      "a " + strong("b") + " c",
		"run `make test` now":            "run " + code("make test") + " now",
		"``a ` b``":                      code("a ` b"),
		"- item **x**":                   "• item " + strong("x"),
		"  * nested":                     "  • nested",
		"> quote":                        "│ quote",
		"2 ** 3 ** 4":                    "2 ** 3 ** 4",
		"*.go and **/*.ts":               "*.go and **/*.ts",
		"snake_case_name":                "snake_case_name",
		"an open `span":                  "an open `span",
		"**":                             "**",
		"```go\nx := `a`\n**b**\n```\nc": "  " + code("x := `a`") + "\n  " + code("**b**") + "\nc",
		"~~~\n```\n~~~":                  "  " + code("```"),
		"````\n```\n````":                "  " + code("```"),
		"``` `` not a fence":             "``` `` not a fence",
	} {
		var m cells.Markdown
		var out []string
		for l := range strings.SplitSeq(in, "\n") {
			if drawn, ok := m.Line(style, l); ok {
				out = append(out, drawn)
			}
		}
		require.Equal(t, want, strings.Join(out, "\n"), "%q", in)
	}
}

// No letter is lost, whatever the markers.
func TestMarkdownLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching("[ab#>\\-*`~ ]{0,20}").Draw(t, "line")
		var m cells.Markdown
		drawn, ok := m.Line(cells.Style{}, line)
		letters := func(s string) string {
			return strings.Map(func(r rune) rune {
				if r == 'a' || r == 'b' {
					return r
				}
				return -1
			}, cells.Plain(s))
		}
		if ok && letters(drawn) != letters(line) {
			t.Fatalf("%q became %q", line, drawn)
		}
	})
}
