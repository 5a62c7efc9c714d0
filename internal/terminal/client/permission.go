package client

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
)

// approval is what a permission request is about, word for word and nothing
// left out: somebody approves it.
type approval struct {
	title   string
	content []gjson.Result
	input   gjson.Result // shown where there is no content
	lost    bool         // it is more than that, and not known here
}

func newApproval(a *about.Asked) approval {
	return approval{a.Shown("title").Str, a.Shown("content").Array(), a.Shown("rawInput"), a.Lost()}
}

// lines are what is approved. A sign says that a line is one of a diff: + or -.
func (a approval) lines() (lines []string, signs []byte) {
	add := func(text string, sign byte) {
		for l := range strings.SplitSeq(text, "\n") {
			lines, signs = append(lines, l), append(signs, sign)
		}
	}
	title := strings.TrimSpace(clean.Visible(a.title))
	add(cmp.Or(title, "Tool call"), 0)
	shown := false
	for _, c := range a.content {
		switch c.Get("type").Str {
		case "content":
			text := unfence(clean.Visible(contentText(c.Get("content"))))
			if shown = shown || strings.TrimSpace(text) != ""; strings.TrimSpace(text) != title {
				add(text, 0)
			}
		case "diff":
			shown = true
			for _, l := range changeOf(c).Plain() {
				add(l.Text, l.Sign)
			}
		}
	}
	if !shown {
		for _, l := range inputLines(a.input, title) {
			add(l, 0)
		}
	}
	if a.lost {
		add("The agent has shown more of this than is kept: it is not all here.", 0)
	}
	return lines, signs
}

// unfence takes the fences off a text that is one block of code.
func unfence(text string) string {
	text = strings.Trim(text, "\n")
	first, rest, ok := strings.Cut(text, "\n")
	fence := first[:len(first)-len(strings.TrimLeft(first, "`"))]
	if !ok || len(fence) < 3 {
		return text
	}
	body, found := strings.CutSuffix(rest, fence)
	if !found || body != "" && !strings.HasSuffix(body, "\n") || strings.Contains("\n"+body, "\n"+fence) {
		return text
	}
	return strings.TrimSuffix(body, "\n")
}

// inputLines are the fields of a tool's input that the title does not show.
func inputLines(input gjson.Result, title string) (lines []string) {
	if !input.IsObject() {
		if text := strings.TrimSpace(clean.Visible(input.String())); input.Exists() && input.Type != gjson.Null && text != "" {
			lines = append(lines, text)
		}
		return lines
	}
	input.ForEach(func(key, value gjson.Result) bool {
		text := clean.Visible(value.String())
		if strings.TrimSpace(text) != "" && !strings.Contains(title, strings.TrimSpace(text)) {
			lines = append(lines, fmt.Sprintf("%s: %s", clean.Line(clean.Visible(key.Str)), text))
		}
		return true
	})
	return lines
}
