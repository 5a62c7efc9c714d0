package look

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/about"
)

func jsonString(s string) (string, error) {
	b, err := json.Marshal(s)
	return string(b), err
}

func toolOf(s string) about.Tool {
	return about.Tool{Kind: s, Text: s, Changes: []about.Change{{Path: s, New: s}, {Path: s, Old: &s, New: s + "x"}}}
}

var (
	tagAt = regexp.MustCompile(`^<(/?)([a-z0-9]+)((?: [a-z-]+="[^"<>]*")*)>`)
	hides = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\u200b\ufeff\u2028]")
	attr  = regexp.MustCompile(` ([a-z-]+)="([^"<>]*)"`)
	tags  = " p div span b em strong s code pre h4 ul ol li hr blockquote table thead tbody tr th td a ins del bdi "
	attrs = " class dir data-n data-lang start tabindex role aria-label scope rel target href "
)

// checkHTML reads what was drawn by the few rules that it keeps: known tags and
// attributes, all closed, addresses of the web, nothing that hides or turns text.
func checkHTML(t *testing.T, h string) {
	var open []string
	rest := h
	for {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			break
		}
		rest = rest[i:]
		m := tagAt.FindStringSubmatch(rest)
		require.NotNil(t, m, "no tag of ours: %.200s", rest)
		if !strings.Contains(tags, " "+m[2]+" ") {
			t.Fatalf("unknown tag: %.200s", rest)
		}
		switch {
		case m[1] == "/":
			if len(open) == 0 || open[len(open)-1] != m[2] {
				t.Fatalf("%v: %.300s", open, h)
			}
			open = open[:len(open)-1]
		case m[2] != "hr":
			open = append(open, m[2])
		}
		for _, a := range attr.FindAllStringSubmatch(m[3], -1) {
			if !strings.Contains(attrs, " "+a[1]+" ") || a[1] == "href" && !strings.HasPrefix(a[2], "http") {
				t.Fatalf("%s: %.300s", a[0], h)
			}
		}
		rest = rest[len(m[0]):]
	}
	require.Empty(t, open, "%.300s", h)
	if hides.MatchString(h) {
		t.Fatalf("it hides or turns text: %.300q", h)
	}
}
