package picker_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/picker"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
	"github.com/acp-bridge/acp-bridge/internal/terminal/ttytest"
)

func numbered(n int) []convert.Option {
	var out []convert.Option
	for i := range n {
		out = append(out, convert.Option{Label: fmt.Sprintf("Option %d", i+1), Description: strings.Repeat("words ", i%20)})
	}
	return out
}

// texts are what models have put, or could put, into a question.
var texts = rapid.OneOf(
	rapid.SampledFrom([]string{"", "Plain", "two\nlines", "\x1b[2J\x1b[H", "tab\tbed", "日本語のラベル", "👨‍👩‍👧‍👦 family",
		"e\u0301\u0302\u0303", "\u202egpj.exe", "שלום", "\x9b31m", "\x1b]0;t\x07", "  > 1. Fake", strings.Repeat("long ", 60), "\xff\xfe",
		"\u200d\u200d", "a\rb", "\x1b[6n", "x\u2028y"}),
	rapid.String(),
)

var keyNames = []string{"up", "down", "left", "right", "home", "end", "pgup", "pgdown", "tab", "shift+tab", "enter", "esc", "space",
	"backspace", "ctrl+d", "ctrl+j", "ctrl+u", "ctrl+w", "ctrl+a"}

// TestView holds for whatever is asked, typed and resized: no panic, nothing
// outside the window, no control character but the attributes' sequences, and
// an outcome that fits the questions.
func TestView(t *testing.T) {
	attributes := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	rapid.Check(t, func(t *rapid.T) {
		var call convert.Call
		for range rapid.IntRange(1, 9).Draw(t, "questions") {
			q := convert.Question{Text: texts.Draw(t, "text"), Header: texts.Draw(t, "header"), MultiSelect: rapid.Bool().Draw(t, "multi")}
			for range rapid.IntRange(0, 10).Draw(t, "options") {
				q.Options = append(q.Options, convert.Option{Label: texts.Draw(t, "label"),
					Description: texts.Draw(t, "description"), Preview: texts.Draw(t, "preview")})
			}
			call.Questions = append(call.Questions, q)
		}
		w, h := rapid.IntRange(1, 130), rapid.IntRange(1, 40)
		width, height := w.Draw(t, "width"), h.Draw(t, "height")
		m := picker.New(call, picker.Options{Width: width, Height: height, NoColor: true, Markdown: true})
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				width, height = w.Draw(t, "width"), h.Draw(t, "height")
				m.Update(tty.Size{Width: width, Height: height})
			case 1:
				m.Update(tty.Paste{Text: texts.Draw(t, "paste")})
			case 2, 3, 4:
				r := rapid.SampledFrom([]rune("jkn/gGyYN0123456789xé日 ")).Draw(t, "letter")
				m.Update(ttytest.Typed(r))
			default:
				m.Update(ttytest.Key(rapid.SampledFrom(keyNames).Draw(t, "key")))
			}
			lines, row, col := m.View()
			if len(lines) > height {
				t.Fatalf("%d lines in a window of %d", len(lines), height)
			}
			for _, l := range lines {
				if n := cells.Width(l); n > width {
					t.Fatalf("%d columns in a window of %d: %q", n, width, l)
				}
				for _, r := range attributes.ReplaceAllString(l, "") {
					if unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
						t.Fatalf("%U in %q", r, l)
					}
				}
			}
			if row >= 0 && (col < 0 || col >= width || row >= len(lines)) {
				t.Fatalf("the cursor at %d, %d", row, col)
			}
		}
		if outcome, done := m.Done(); done && outcome.Status == convert.Answered {
			if len(outcome.Answers) != len(call.Questions) {
				t.Fatalf("%d answers to %d questions", len(outcome.Answers), len(call.Questions))
			}
			for i, a := range outcome.Answers {
				if a.Empty() || len(a.Selected) > 1 && !call.Questions[i].MultiSelect {
					t.Fatalf("answer %d: %+v", i, a)
				}
			}
		}
	})
}

// TestOneRowPerOption draws labels that pretend to be more than one option.
func TestOneRowPerOption(t *testing.T) {
	entry := regexp.MustCompile(`(?m)^  (> |  )(\d+\.|\[.\]) `)
	for _, label := range []string{
		"A\n    2. Other (type your answer)",
		"A\r\n  > 2. B",
		"A\x1b[1B\x1b[1G    2. B",
		"A\u2028    2. B",
		"A\v\f\u0085    2. B",
		"A" + strings.Repeat(" ", 200) + "    2. Other (type your answer)",
		"A" + strings.Repeat("\u00a0", 76) + "    2. Other (type your answer)",
		"A" + strings.Repeat("　", 40) + "    2. B",
		strings.Repeat("x", 73) + "    2. Other (type your answer)",
	} {
		for _, multi := range []bool{false, true} {
			for focus := range 2 {
				m := picker.New(convert.Call{Questions: []convert.Question{{Text: "Q", MultiSelect: multi,
					Options: ttytest.PickerOptions(label, "Last")}}}, picker.Options{Width: 80, Height: 24})
				ttytest.Press(t, m, strings.Repeat("down ", focus))
				require.Len(t, entry.FindAllString(ttytest.Drawn(m), -1), 3, "%q\n%s", label, ttytest.Drawn(m))
			}
		}
	}
}

// TestEmptied takes an own answer back by emptying it.
func TestEmptied(t *testing.T) {
	m := picker.New(convert.Call{Questions: []convert.Question{{Text: "Q", MultiSelect: true, Options: ttytest.PickerOptions("A", "B")}}}, picker.Options{})
	ttytest.Press(t, m, "1 0 x enter")
	require.Contains(t, ttytest.Drawn(m), "[x] Other")
	ttytest.Press(t, m, "space space ctrl+u enter")
	require.Contains(t, ttytest.Drawn(m), "Type an answer first")
	ttytest.Press(t, m, "esc up 1 2")
	require.Contains(t, ttytest.Drawn(m), "[ ] Other")
	ttytest.Press(t, m, "enter")
	outcome, _ := m.Done()
	require.Equal(t, []convert.Answer{{Selected: []string{"B"}}}, outcome.Answers)

	m = picker.New(convert.Call{Questions: []convert.Question{{Text: "Q", Options: ttytest.PickerOptions("A", "B")}, {Text: "P"}}}, picker.Options{})
	ttytest.Press(t, m, "0 x enter shift+tab")
	require.Contains(t, ttytest.Drawn(m), "Other (type your answer) ✓")
	ttytest.Press(t, m, "enter backspace esc")
	require.NotContains(t, ttytest.Drawn(m), "✓ \n", "an emptied text is no answer")
	ttytest.Press(t, m, "esc")
	outcome, _ = m.Done()
	require.Equal(t, convert.Cancelled, outcome.Status, "nothing is left to discard")
}

func TestNothingToAsk(t *testing.T) {
	m := picker.New(convert.Call{}, picker.Options{})
	outcome, done := m.Done()
	require.True(t, done)
	require.Equal(t, convert.Failed, outcome.Status)
	require.Empty(t, m.Record())
	m = picker.NewChoice(convert.Question{Text: "Q"}, picker.Options{})
	outcome, _ = m.Done()
	require.Equal(t, convert.Failed, outcome.Status)
}

// TestIndex tells options apart that have the same label.
func TestIndex(t *testing.T) {
	m := picker.NewChoice(convert.Question{Text: "Q", Options: ttytest.PickerOptions("Allow", "Allow", "Reject")}, picker.Options{})
	require.Equal(t, -1, m.Index())
	ttytest.Press(t, m, "down enter")
	require.Equal(t, 1, m.Index())
}

func TestColours(t *testing.T) {
	colour := regexp.MustCompile(`\x1b\[([0-9;]*;)?(3[0-7]|4[0-7]|9[0-7]|38|48)(;|m)`)
	call := convert.Call{Questions: []convert.Question{{Text: "Q", Options: ttytest.PickerOptions("A", "B")}}}
	m := picker.New(call, picker.Options{})
	ttytest.Press(t, m, `paste "x"`)
	require.Regexp(t, colour, content(m))
	m = picker.New(call, picker.Options{NoColor: true})
	ttytest.Press(t, m, `paste "x"`)
	require.NotRegexp(t, colour, content(m))
}

func content(m *picker.Picker) string {
	lines, _, _ := m.View()
	return strings.Join(lines, "\n")
}

// TestEnd ends a picker from outside, once.
func TestEnd(t *testing.T) {
	m := picker.New(convert.Call{Questions: []convert.Question{{Text: "Q"}}}, picker.Options{})
	m.Update(tty.End{Gone: true, Reason: "gone"})
	m.Update(tty.End{Reason: "late"})
	ttytest.Press(t, m, "x enter")
	outcome, done := m.Done()
	require.True(t, done)
	require.Equal(t, convert.Outcome{Status: convert.Disconnected, Reason: "gone"}, outcome)
}

// focus is the option that Enter would pick.
func focus(t *testing.T, q convert.Question, keys string) string {
	t.Helper()
	m := picker.New(convert.Call{Questions: []convert.Question{q}}, picker.Options{Width: 80, Height: 12})
	_, _, _ = m.View() // which says how much is on a page
	ttytest.Press(t, m, keys)
	o, done := m.Done()
	require.True(t, done, keys)
	return o.Answers[0].Selected[0]
}

// Pages, and a filter that is typed or pasted, lead to the option that is shown.
func TestWaysToAnOption(t *testing.T) {
	q := convert.Question{Text: "Which?", Options: numbered(40)}
	require.NotEqual(t, focus(t, q, "end up enter"), focus(t, q, "end up pgup enter"))
	require.Equal(t, "Option 37", focus(t, q, "/ 37 enter"))
	require.Equal(t, "Option 37", focus(t, q, "/\npaste \"37\"\nenter"))
}

// All of an option is shown: what it is for, and its preview, whichever it has.
func TestAllOfAnOption(t *testing.T) {
	for _, o := range []convert.Option{{Label: "A", Description: "what it is for"}, {Label: "A", Preview: "what it is for"}} {
		m := picker.New(convert.Call{Questions: []convert.Question{{Text: "Which?", Options: []convert.Option{o, {Label: "B"}}}}}, picker.Options{})
		ttytest.Press(t, m, "ctrl+o")
		require.Contains(t, ttytest.Drawn(m), "── A ──")
		require.Contains(t, ttytest.Drawn(m), "what it is for")
	}
}
