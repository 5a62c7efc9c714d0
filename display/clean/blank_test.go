package clean_test

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// nothing are texts of which a person sees nothing.
var nothing = []string{
	"", " ", "\n\t", "\u00a0", "\u3000", // white space
	"\x00", "\x1b[31m", "\u202e", "\ufeff", "\u200b", // what Line leaves out
	"\u3164", "\uffa0", "\u115f", "\u1160", // Hangul fillers
	"\u2800", "\u034f", "\u17b4", "\u17b5", "\u061c", "\u180e", "\u200d", "\u200e",
	"\ufe0f", "\ufe00", "\U000e0100", "\U000e01ef", // variation selectors
	"\U000e0041", "\U000e0001", "\U000e0fff", // tags, and what is set aside beside them
	"\U0001d159", "\U0001d173", "\U00013430", "\U00013441",
}

func TestBlank(t *testing.T) {
	for _, s := range nothing {
		require.True(t, clean.Blank(s), "%q", s)
	}
	for _, s := range []string{"a", " a", "\u3164a", "⠁", "한", "ㅤx", "👍\ufe0f", "👩\u200d🚀", "\u0301", "\u0600", "\u06dd", "\ufffd", "\xff", "\ufffc", "0", "."} {
		require.False(t, clean.Blank(s), "%q", s)
	}
}

// However much of nothing is put together, it is nothing; with one letter in it,
// it is something.
func TestBlankIsWhatIsSeen(t *testing.T) {
	var ignorable []rune
	for _, table := range []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector} {
		for _, run := range table.R16 {
			ignorable = append(ignorable, rune(run.Lo), rune(run.Hi))
		}
		for _, run := range table.R32 {
			ignorable = append(ignorable, rune(run.Lo), rune(run.Hi))
		}
	}
	unseen := rapid.OneOf(rapid.SampledFrom(nothing), rapid.Map(rapid.SampledFrom(ignorable), func(r rune) string { return string(r) }))
	rapid.Check(t, func(t *rapid.T) {
		var before, after string
		for _, s := range rapid.SliceOfN(unseen, 0, 5).Draw(t, "before") {
			before += s
		}
		for _, s := range rapid.SliceOfN(unseen, 0, 5).Draw(t, "after") {
			after += s
		}
		require.True(t, clean.Blank(before+after), "%q", before+after)
		require.False(t, clean.Blank(before+"字"+after))
		require.Equal(t, clean.Blank(clean.Block(before)), clean.Blank(before))
	})
}

// What leaves no mark is shown where somebody approves a text word for word.
func TestVisibleShowsFillers(t *testing.T) {
	for in, want := range map[string]string{
		"rm\u3164-rf": "rm<U+3164>-rf", "a\u2800b": "a<U+2800>b", "a\U000e0101": "a<U+E0101>", "a\u034fb": "a<U+034F>b",
		"👩\u200d🚀": "👩\u200d🚀", "❤\ufe0f": "❤\ufe0f", "می\u200cخواهم": "می\u200cخواهم",
	} {
		require.Equal(t, want, clean.Visible(in))
	}
}
