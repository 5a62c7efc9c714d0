//go:build unix

package terminal_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/terminal/ttytest"
)

// lines asks with typed lines and returns the outcome and what was printed.
func lines(t *testing.T, typed string, questions ...convert.Question) (convert.Outcome, string) {
	t.Helper()
	var out strings.Builder
	outcome, err := terminal.Resolver{In: strings.NewReader(typed), Out: &out}.Ask(t.Context(), convert.Call{Questions: questions})
	require.Equal(t, outcome.Err(), err)
	return outcome, out.String()
}

func TestPlain(t *testing.T) {
	single := convert.Question{Text: "Which?", Options: ttytest.PickerOptions("Jest", "Vitest", "2", "Other things", "a, b")}
	multi := single
	multi.MultiSelect = true
	free := convert.Question{Text: "Name?"}
	pick := func(labels ...string) convert.Answer { return convert.Answer{Selected: labels} }
	text := func(s string) convert.Answer { return convert.Answer{Text: s} }
	for _, tc := range []struct {
		name  string
		q     convert.Question
		typed string
		want  convert.Answer
	}{
		{"a number", single, "1\n", pick("Jest")},
		{"a number with a dot", single, " 3. \n", pick("2")},
		{"a label in any case", single, "vitest\n", pick("Vitest")},
		{"a label that is a number", single, "2\n\"2\"\n", pick("2")},
		{"a number that is a label", single, "2\n#2\n", pick("Vitest")},
		{"a label that begins like other", single, "other things\n", pick("Other things")},
		{"a label with a comma", multi, "A, B\n", pick("a, b")},
		{"other", single, "other Mocha, or none\n", text("Mocha, or none")},
		{"other in capitals", single, "OTHER: x\n", text("x")},
		{"other, then text", single, "other\nMocha\n", text("Mocha")},
		{"own words", single, "Mocha, or none\n", text("Mocha, or none")},
		{"several numbers", multi, "4,1\n", pick("Jest", "Other things")},
		{"numbers and labels", multi, " vitest , 1,, \n", pick("Jest", "Vitest")},
		{"several and other", multi, "1, other x, y\n", convert.Answer{Selected: []string{"Jest"}, Text: "x, y"}},
		{"several and other, then text", multi, "1, other\nx\n", convert.Answer{Selected: []string{"Jest"}, Text: "x"}},
		{"several with spaces", multi, "4 1\n", pick("Jest", "Other things")},
		{"a range", multi, "3-5\n", pick("2", "Other things", "a, b")},
		{"no newline at the end", single, "1", pick("Jest")},
		{"a carriage return", single, "1\r\n", pick("Jest")},
		{"free text", free, "  order-processor \n", text("order-processor")},
		{"free text that looks like more", free, "1, other\n", text("1, other")},
		{"again after nothing", single, "\n  \t\n1\n", pick("Jest")},
		{"again after several of one", single, "1,3\n1\n", pick("Jest")},
		{"long text", free, strings.Repeat("x", 2001) + "\n\n", text(strings.Repeat("x", 2001))},
		{"long text, not sent", free, strings.Repeat("x", 2001) + "\nn\nshort\n", text("short")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			outcome, out := lines(t, tc.typed, tc.q)
			require.Equal(t, convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{tc.want}}, outcome, out)
		})
	}
}

func TestPlainEnds(t *testing.T) {
	q := convert.Question{Text: "Which?", Options: ttytest.PickerOptions("A", "B")}
	for _, tc := range []struct {
		name, typed string
		want        convert.Status
	}{
		{"the word", "Cancel\n", convert.Cancelled},
		{"an empty line does not cancel", "\n", convert.Disconnected},
		{"the end of the input does not", "", convert.Disconnected},
		{"discarding answers is asked about", "1\ncancel\ny\n", convert.Cancelled},
		{"and can be taken back", "1\ncancel\nn\n2\n", convert.Answered},
		{"the word, then the end", "1\ncancel\n", convert.Cancelled},
		{"half of the answers", "1\n", convert.Disconnected},
		{"other without words", "other\n\n1\n1\n", convert.Answered},
		{"a number that is not on the list is no answer", "9\n", convert.Disconnected},
		{"nor is it another one", "9\n8\n", convert.Disconnected},
		{"said twice it is one", "9\n9\n1\n", convert.Answered},
		{"back is no answer", "1\nback\n", convert.Disconnected},
		{"back asks again", "1\nback\n2\n1\n", convert.Answered},
	} {
		t.Run(tc.name, func(t *testing.T) {
			outcome, out := lines(t, tc.typed, q, q)
			require.Equal(t, tc.want, outcome.Status, out)
			require.Equal(t, tc.want == convert.Answered, len(outcome.Answers) == 2)
		})
	}
}

// TestPlainScreen is what a screen reader reads.
func TestPlainScreen(t *testing.T) {
	_, out := lines(t, "other\nMocha\nx\n",
		convert.Question{Header: "Test\x1b[2Jing", Text: "Which?\nPick one.", Options: []convert.Option{
			{Label: "Jest\n2. Fake", Description: "Popular", Preview: "a\n\tb\x07"}, {Label: "Vitest"}}},
		convert.Question{Header: "Name", Text: "Name?"})
	require.Equal(t, `Testing (question 1 of 2)
Which?
Pick one.
1. Jest 2. Fake: Popular
   | a
   |     b
2. Vitest
Type a number, a label or your own words. Type cancel to cancel.
> Your answer: Your own words: Mocha
Name (question 2 of 2)
Name?
Type your answer. Type cancel to cancel. Type back for the previous question.
> `, out)
}

func TestPlainChoice(t *testing.T) {
	q := convert.Question{Text: "Run it?", Options: ttytest.PickerOptions("Allow", "Allow", "Reject")}
	for typed, want := range map[string]int{"2\n": 1, "reject\n": 2, "other x\n1\n": 0, "0\n4\nallow\n1\n": 0, "\n": -1, "cancel\n": -1} {
		i, outcome, err := terminal.Resolver{In: strings.NewReader(typed), Out: io.Discard}.Choose(t.Context(), q)
		require.Equal(t, outcome.Err(), err)
		require.Equal(t, want, i, "%q", typed)
		require.Equal(t, want < 0, outcome.Status != convert.Answered)
	}
}

// TestPlainLeavesTheRest reads no more than it needs from a stream that others
// read on from.
func TestPlainLeavesTheRest(t *testing.T) {
	r, w := acptest.Must2(os.Pipe())
	defer r.Close()
	acptest.Must(io.WriteString(w, "1\nrest\n"))
	require.NoError(t, w.Close())
	outcome := acptest.Must(terminal.Resolver{In: r, Out: io.Discard}.Ask(t.Context(), one(database).Call))
	require.Equal(t, convert.Answered, outcome.Status)
	require.Equal(t, "rest\n", string(acptest.Must(io.ReadAll(r))))
}

// TestPlainFile answers from a regular file, which cannot be polled.
func TestPlainFile(t *testing.T) {
	name := t.TempDir() + "/answers"
	require.NoError(t, os.WriteFile(name, []byte("sqlite\n"), 0o600))
	f := acptest.Must(os.Open(name))
	defer f.Close()
	outcome := acptest.Must(terminal.Resolver{In: f, Out: io.Discard}.Ask(t.Context(), one(database).Call))
	require.Equal(t, []string{"SQLite"}, outcome.Answers[0].Selected)
}
