package convert_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func question(multi bool, labels ...string) convert.Question {
	return given(multi, labels...).Questions[0]
}

// The golden cases in testdata/golden/message have the plain ones.
func TestReadReply(t *testing.T) {
	type m = convert.Meaning
	one, many := question(false, "PostgreSQL", "SQLite"), question(true, "Auth", "Cache", "Logs")
	counts, several := question(false, "2", "4", "8"), question(true, "2", "4", "8")
	closed := question(true, "a", "b")
	closed.Closed = true
	beside := question(false, "8080")
	beside.OwnWords = true
	lone := question(true, "a", "b", "None")
	lone.Options[2].Effect = convert.EffectAlone
	clash := `"2" is the label of option 1 and the number of another. Write the label in quotes, or the number as #2.`
	own := "Write your own words behind `other`."
	for _, tc := range []struct {
		q     convert.Question
		reply string
		want  m
	}{
		// Numbers that are labels.
		{counts, "2", m{Unclear: clash}},
		{counts, "2.", m{Unclear: clash}},
		{counts, "2)", m{Unclear: clash}},
		{counts, "２", m{Unclear: clash}},
		{counts, "#2", m{Picks: []int{1}}},
		{counts, "#2.", m{Picks: []int{1}}},
		{counts, `"2"`, m{Picks: []int{0}}},
		{counts, "“2”", m{Picks: []int{0}}},
		{counts, "'4'", m{Picks: []int{1}}},
		{counts, "4", m{Picks: []int{1}}},
		{counts, "3", m{Picks: []int{2}}},
		{counts, "８", m{Picks: []int{2}}},
		{counts, "9", m{Text: "9", OffList: "9"}},
		{counts, `"3"`, m{Text: `"3"`}},
		{counts, "2,2", m{Unclear: clash}},
		{several, "2", m{Unclear: clash}},
		{several, "2,3", m{Unclear: clash}},
		{several, "3 2", m{Unclear: clash}},
		{several, "2,4", m{Unclear: clash}},
		{several, "2 8", m{Unclear: clash}},
		{several, "1-2", m{Unclear: clash}},
		{many, "3-1", m{Text: "3-1"}},
		{several, "2-3", m{Unclear: clash}},
		{several, "4,8", m{Picks: []int{1, 2}}},
		{several, "4 8", m{Picks: []int{1, 2}}},
		{several, "#1-#3", m{Picks: []int{0, 1, 2}}},
		{several, "#2,#3", m{Picks: []int{1, 2}}},
		{several, `"2","4"`, m{Picks: []int{0, 1}}},
		{several, `"2" , "8", #2`, m{Picks: []int{0, 1, 2}}},
		{several, "2 of them", m{Text: "2 of them"}},
		{question(false, "1", "2", "3"), "2", m{Picks: []int{1}}},
		{question(false, "#2", "x"), "#2", m{Unclear: `"#2" is the label of option 1 and the number of another. Write the label in quotes, or the number as 2.`}},
		{question(false, "#2", "x"), "2", m{Picks: []int{1}}},
		{question(false, "2", `"2"`), `"2"`, m{Unclear: `""2"" fits more than one option. Write one of them exactly, or its number.`}},
		{question(true, "x", "y", "1,2"), "1,2", m{Unclear: `"1,2" is a label, and it could be a list of numbers. Write the label in quotes, or the numbers as #1, #2.`}},
		{question(true, "x", "y", "1,2"), `"1,2"`, m{Picks: []int{2}}},
		{question(false, "x", "y", "1-2"), "1-2", m{Picks: []int{2}}},

		// Labels that are alike.
		{question(false, "go", "GO"), "Go", m{Unclear: `"Go" fits more than one option. Write one of them exactly, or its number.`}},
		{question(false, "a ", " a"), "a", m{Unclear: `"a" fits more than one option. Write one of them exactly, or its number.`}},
		{question(false, " a", "a"), "a", m{Picks: []int{1}}},
		{question(false, "a", "A"), "A", m{Picks: []int{1}}},

		// Own words.
		{one, "other Redis, or so", m{Text: "Redis, or so"}},
		{one, "OTHER:  Redis", m{Text: "Redis"}},
		{one, "other\nRedis", m{Text: "Redis"}},
		{one, "other: \u200b", m{Other: true, Unclear: own}},
		{one, "other 2", m{Text: "2"}},
		{one, "Other people should decide", m{Text: "Other people should decide"}},
		{one, "OTHER: people", m{Text: "people"}},
		{one, "Other ", m{Other: true, Unclear: own}},
		{many, "1, Other things matter", m{Text: "1, Other things matter"}},
		{one, "otherwise Redis", m{Text: "otherwise Redis"}},
		{one, "any other", m{Text: "any other"}},
		{one, "1, other Redis", m{Text: "1, other Redis"}},
		{one, "other", m{Other: true, Unclear: own}},
		{one, "Other: ", m{Other: true, Unclear: own}},
		{many, "1, other x, y", m{Picks: []int{0}, Text: "x, y"}},
		{many, "Auth,other: x", m{Picks: []int{0}, Text: "x"}},
		{many, "1,, other x", m{Picks: []int{0}, Text: "x"}},
		{many, "logs 1, Other x", m{Text: "logs 1, Other x"}},
		{many, "3 1, other", m{Picks: []int{0, 2}, Other: true, Unclear: own}},
		{many, "maybe, other x", m{Text: "maybe, other x"}},
		{several, "2, other x", m{Unclear: clash}},
		{several, "2, other", m{Unclear: clash}},
		{lone, "a, None", m{Unclear: "One of these options cannot be combined with others."}},
		{lone, "None, other x", m{Unclear: "One of these options cannot be combined with others."}},
		{lone, "none", m{Picks: []int{2}}},
		{question(false, "Other", "x"), "other", m{Picks: []int{0}}},
		{closed, "other x", m{Unclear: "This question accepts only its options."}},
		{closed, "a, other x", m{Unclear: "This question accepts only its options."}},
		{question(false), "other names", m{Text: "other names"}},
		{beside, "other names", m{Text: "other names"}},
		{beside, "1", m{Text: "1"}},
		{beside, "8080", m{Picks: []int{0}}},

		// One answer.
		{one, "PostgreSQL, SQLite", m{Unclear: "This question takes one answer."}},
		{one, "1 - 2", m{Unclear: "This question takes one answer."}},
		{one, "1,1", m{Picks: []int{0}}},
		{many, "1 - 3", m{Picks: []int{0, 1, 2}}},
		{many, "1 -", m{Text: "1 -"}},
		{many, "- 1", m{Text: "- 1"}},
		{many, "Auth;Logs", m{Text: "Auth;Logs"}},
		{many, "Auth，Logs", m{Picks: []int{0, 2}}},
		{question(true, "a", "b,c"), "a, b,c", m{Picks: []int{0, 1}}},
		{question(true, "a", "b, c"), `a, "b, c"`, m{Picks: []int{0, 1}}},

		// Cancel.
		{many, "cancel", m{Cancel: true}},
		{question(false), "Cancel", m{Cancel: true}},
		{closed, "cancel", m{Cancel: true}},
		{beside, "cancel", m{Cancel: true}},
		{question(false, "Cancel it", "cancel"), "CANCEL", m{Picks: []int{1}}},
		{many, "other cancel", m{Text: "cancel"}},
	} {
		require.Equal(t, tc.want, tc.q.ReadReply(tc.reply), "%q", tc.reply)
	}
}

// There is a way to name each option, and the ways that the hint tells never
// name another.
func TestEveryOptionCanBeNamed(t *testing.T) {
	number := rapid.Map(rapid.IntRange(0, 5), strconv.Itoa)
	label := rapid.OneOf(number, number, rapid.SampledFrom([]string{"a", "#1", "#2", "1.", "2)", "1,2", "1-2", "cancel", "other", "other 1"}), acptest.Labels)
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfNDistinct(label, 1, 4, clean.Line).Draw(t, "labels")
		q := question(rapid.Bool().Draw(t, "multi"), labels...)
		for i, o := range q.Options {
			ways := 0
			for _, way := range []string{fmt.Sprintf("#%d", i+1), strconv.Itoa(i + 1), string(clean.JSON(o.Label))} {
				said := q.ReadReply(way)
				if said.Unclear != "" || said.Text != "" {
					continue
				}
				require.Equal(t, convert.Meaning{Picks: []int{i}}, said, "%q for %q", way, o.Label)
				ways++
			}
			require.NotZero(t, ways, "%q", o.Label)
		}
	})
}

// A word that is one option's label and another's number picks neither.
func TestNoGuessBetweenLabelAndNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfNDistinct(rapid.IntRange(1, 6), 2, 5, rapid.ID[int]).Draw(t, "labels")
		labels := make([]string, len(numbers))
		for i, n := range numbers {
			labels[i] = strconv.Itoa(n)
		}
		q := question(true, labels...)
		words := rapid.SliceOfN(rapid.IntRange(1, 6), 1, 3).Draw(t, "reply")
		reply := make([]string, len(words))
		clash, fits := false, true
		for i, n := range words {
			reply[i] = strconv.Itoa(n)
			at := -1
			for j, l := range numbers {
				if l == n {
					at = j
				}
			}
			clash = clash || at >= 0 && n <= len(numbers) && at != n-1
			fits = fits && (at >= 0 || n <= len(numbers))
		}
		text := strings.Join(reply, rapid.SampledFrom([]string{",", ", ", " ", " , "}).Draw(t, "between"))
		said := q.ReadReply(text)
		switch {
		case !fits:
			require.Equal(t, text, said.Text)
			require.NotEmpty(t, said.OffList)
		case clash:
			require.NotEmpty(t, said.Unclear)
			require.Empty(t, said.Picks)
		default:
			require.NotEmpty(t, said.Picks)
			require.Empty(t, said.Unclear)
		}
	})
}
