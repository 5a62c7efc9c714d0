package terminal

import (
	"testing"

	"github.com/acp-bridge/acp-bridge/convert"
)

// FuzzParse takes any line: it is an answer or says what is wrong, and only
// one of the two.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"1", "1,2", "other x", "Jest", "", ",", "0", "99999999999999999999", "other", "1, other 2, 3", "\x00"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, multi bool) {
		r := reading{q: convert.Question{Text: "Q", MultiSelect: multi,
			Options: []convert.Option{{Label: "Jest"}, {Label: "Vitest"}, {Label: "2"}}}}
		say := r.parse(text)
		switch a := r.answer(); {
		case say != "" && !a.Empty():
			t.Fatalf("%q is wrong (%s) and an answer: %+v", text, say, a)
		case say == "" && a.Empty() && !r.other:
			t.Fatalf("%q is neither wrong nor an answer", text)
		case !multi && len(a.Items()) > 1:
			t.Fatalf("%q: %+v", text, a)
		}
		for _, r := range say {
			if r < ' ' {
				t.Fatalf("%q in %q", r, say)
			}
		}
	})
}
