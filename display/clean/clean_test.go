package clean_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

func TestLine(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "Which one?", "Which one?"},
		{"white space folds", "  a\t\tb\r\n\n c\u00a0\u3000d ", "a b c d"},
		{"only white space", " \n\t", ""},
		{"line separators", "a\u2028b\u2029c\u0085d\ve", "a b c d e"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"private csi", "\x1b[?25lx\x1b[>0c", "x"},
		{"csi with intermediate", "\x1b[1 qx", "x"},
		{"csi cut short", "x\x1b[31", "x"},
		{"csi cut by a letter of another script", "\x1b[31é", "é"},
		{"c1 csi", "\u009b31mred", "red"},
		{"8-bit csi", "\x9b31mred", "red"},
		{"8-bit byte that is no csi", "a\x9b", "a\ufffd"},
		{"osc with bel", "\x1b]0;title\ax", "x"},
		{"osc with st", "\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"osc with c1 st", "\u009d0;title\u009cx", "x"},
		{"8-bit osc", "\x9d0;title\x9cx", "x"},
		{"8-bit osc does not end inside a rune", "\x9d0;Ŝ\ax", "x"},
		{"osc without an end keeps the text", "a \x1b]0;rest of it", "a 0;rest of it"},
		{"osc that a line break ends", "\x1b]0;a\nb\a", "0;a b"},
		{"osc given up", "\x1b]0;a\x18b", "b"},
		{"osc cut short by another escape", "\x1b]0;a\x1b[31mb", "0;ab"},
		{"dcs", "\x1bPq#0\x1b\\x", "x"},
		{"apc, pm, sos", "\x1b_a\x1b\\b\x1b^c\x1b\\d\x1bXe\x1b\\f", "bdf"},
		{"charset", "\x1b(Bx", "x"},
		{"title with the first of the c1 controls", "\x1b]0;a\u0080b\ac", "0;abc"},
		{"two letters", "\x1b7x\x1bc\x1bMy", "xy"},
		{"lone escape", "a\x1b", "a"},
		{"escape before another script", "\x1bé", "é"},
		{"bell, backspace, nul, del", "a\a\b\x00\x7fb", "ab"},
		{"c1 controls", "a\u0080\u009fb", "ab"},
		{"bidi override", "photo\u202egpj.exe", "photogpj.exe"},
		{"bidi embeddings and isolates", "\u202aa\u202bb\u202cc\u202dd\u2066e\u2067f\u2068g\u2069", "abcdefg"},
		{"zero width", "a\u200bb\ufeffc\u2060d\u00ade", "abcde"},
		{"tags", "a\U000e0041\U000e007fb", "ab"},
		{"zero width between spaces", "a \u200b b", "a b"},
		{"joiners stay", "👨‍👩‍👧 می\u200cخواهم ❤️", "👨‍👩‍👧 می\u200cخواهم ❤️"},
		{"directional marks stay", "a\u200eb\u200fc\u061cd", "a\u200eb\u200fc\u061cd"},
		{"right to left text stays", "שלום עולם", "שלום עולם"},
		{"invalid utf-8", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"a real U+FFFD", "a\ufffdb", "a\ufffdb"},
		{"a cut emoji", "\x9f\x98\x80 ok", "\ufffd\ufffd\ufffd ok"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, clean.Line(tc.in))
		})
	}
}

func TestBlock(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"lines and tabs stay", "a\n\n\tb  c \n", "a\n\n\tb  c \n"},
		{"line breaks become one kind", "a\r\nb\rc\u2028d\u0085e\ff", "a\nb\nc\nd\ne\nf"},
		{"two returns", "a\r\r\nb", "a\n\nb"},
		{"escapes", "\x1b[32mok\x1b[0m\n\x1b]0;t\adone", "ok\ndone"},
		{"no-break space stays", "a\u00a0b", "a\u00a0b"},
		{"bidi", "\u202ea\u202c", "a"},
		{"invalid utf-8", "\xff\n", "\ufffd\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, clean.Block(tc.in))
		})
	}
}

func TestVisible(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "ls -l\n\tcat", "ls -l\n\tcat"},
		{"an escape hides nothing", "ls \x1b]0;; rm -rf ~\a", "ls ␛]0;; rm -rf ~␇"},
		{"bidi", "a\u202eb", "a<U+202E>b"},
		{"c1", "a\u009bb\u0085c", "a<U+009B>b<U+0085>c"},
		{"del", "a\x7f", "a␡"},
		{"windows line break", "a\r\nb", "a\nb"},
		{"lone return", "echo hi\rrm", "echo hi␍rm"},
		{"line separator", "a\u2028b", "a<U+2028>b"},
		{"tag", "\U000e0041", "<U+E0041>"},
		{"invalid utf-8", "\xff", "\ufffd"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, clean.Visible(tc.in))
		})
	}
}

func TestTruncate(t *testing.T) {
	const family = "👨‍👩‍👧‍👦"
	for _, tc := range []struct {
		name, in string
		max      int
		want     string
	}{
		{"fits", "abc", 3, "abc"},
		{"one too many", "abcd", 3, "ab…"},
		{"no space before the ellipsis", "ab cd", 4, "ab…"},
		{"one", "abc", 1, "…"},
		{"none", "abc", 0, ""},
		{"negative", "abc", -1, ""},
		{"more bytes than graphemes", "äöü", 3, "äöü"},
		{"combining marks", "e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"families stay whole", strings.Repeat(family, 3), 2, family + "…"},
		{"families fit", strings.Repeat(family, 3), 3, strings.Repeat(family, 3)},
		{"flags stay whole", "🇩🇪🇫🇷🇮🇹", 2, "🇩🇪…"},
		{"a tower of accents is no grapheme", "ab" + strings.Repeat("\u0301", 5000), 10, "a…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, clean.Truncate(tc.in, tc.max))
		})
	}
}

func TestFence(t *testing.T) {
	for _, tc := range []struct{ name, lang, in, want string }{
		{"plain", "console", "ok", "```console\nok\n```"},
		{"its own line end", "", "ok\n", "```\nok\n```"},
		{"empty", "", "", "```\n```"},
		{"a fence inside", "md", "```\nx\n```", "````md\n```\nx\n```\n````"},
		{"a long run inside a line", "", "a `````b", "``````\na `````b\n``````"},
		{"not a language", "a`b c", "x", "```\nx\n```"},
		{"a language", "c++", "x", "```c++\nx\n```"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, clean.Fence(tc.lang, tc.in))
		})
	}
}

func TestSpan(t *testing.T) {
	assert.Equal(t, "`*.go`", clean.Span("*.go"))
	assert.Equal(t, "`` a`b ``", clean.Span("a`b"))
	assert.Equal(t, "``` `` ```", clean.Span("``"))
	assert.Equal(t, "", clean.Span(""))
}

func TestNothingToDoCostsNothing(t *testing.T) {
	for _, s := range []string{"", "Which testing framework?", "日本語のタイトル", strings.Repeat("long ", 200) + "text"} {
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			sink = clean.Line(s)
			sink = clean.Block(s)
			sink = clean.Visible(s)
		}), s)
	}
}

// A megabyte of introducers without an end took minutes when each of them
// looked for its end to the end of the text.
func TestLongTextIsLinear(t *testing.T) {
	for _, s := range []string{"\u009d", "\x1b]", "\x9d", "\x1b[", "\x1bP\u0090x", "\u009b;"} {
		assert.NotContains(t, clean.Line(strings.Repeat(s, 1<<20/len(s))), "\x1b")
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { check(t, text(t), rapid.IntRange(-1, 40).Draw(t, "max")) })
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a b", "\x1b[31mx\x1b[0m", "\x1b]0;t\a", "\u009b1m", "\x9d;\x9c", "\u202e\u2066", "a\r\nb", "```", "🇩🇪🇫🇷", "\xff"} {
		f.Add(s, 5)
	}
	f.Fuzz(func(t *testing.T, s string, max int) { check(t, s, max%1000) })
}

// check states what holds for every text.
func check(t require.TestingT, s string, max int) {
	line, block, visible := clean.Line(s), clean.Block(s), clean.Visible(s)
	for _, out := range []string{line, block, visible} {
		require.True(t, utf8.ValidString(out), "%q", out)
	}
	require.False(t, strings.ContainsFunc(line, func(r rune) bool { return dangerous(r) || r == '\n' || r == '\t' }), "%q", line)
	require.False(t, strings.ContainsFunc(block, dangerous), "%q", block)
	require.False(t, strings.ContainsFunc(visible, dangerous), "%q", visible)
	require.Equal(t, line, clean.Line(line))
	require.Equal(t, block, clean.Block(block))
	require.Equal(t, visible, clean.Visible(visible))
	require.Equal(t, strings.TrimSpace(line), line)
	require.NotContains(t, line, "  ")
	require.Equal(t, line, clean.Line(block), "cleaning as a block first changes nothing")
	require.GreaterOrEqual(t, utf8.RuneCountInString(visible), utf8.RuneCountInString(block), "nothing is hidden")

	cut := clean.Truncate(line, max)
	require.LessOrEqual(t, characters(cut), atLeastZero(max))
	if cut != line && cut != "" {
		require.True(t, strings.HasSuffix(cut, "…"), "%q", cut)
		require.True(t, strings.HasPrefix(line, strings.TrimSuffix(cut, "…")), "%q", cut)
	}

	fenced := strings.Split(clean.Fence("", block), "\n")
	mark := fenced[0]
	require.Equal(t, mark, fenced[len(fenced)-1])
	for _, l := range fenced[1 : len(fenced)-1] {
		require.NotContains(t, l, mark)
	}
}

func atLeastZero(n int) int {
	return max(n, 0)
}

func dangerous(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f ||
		r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0x200b || r == 0xfeff ||
		r >= 0xe0000 && r <= 0xe007f
}

// text draws strings that are mostly trouble.
func text(t *rapid.T) string {
	piece := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{
			"\x1b", "[", "]", "31m", "\a", "\\", "\u009b", "\x9b", "\u009d", "\u009c", "\x9c", "\x18", "P", "X", "(B",
			" ", "\t", "\n", "\r", "\r\n", "\u0085", "\u2028", "\u202e", "\u2066", "\u200b", "\u200d", "\ufeff",
			"\xff", "\xc2", "\xe2\x80", "`", "```", "e\u0301", "🇩", "👨‍👩‍👧", "é",
		}),
	)
	return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "text"), "")
}

var sink string

// characters counts as a person does.
func characters(s string) (n int) {
	for it := graphemes.FromString(s); it.Next(); {
		n++
	}
	return n
}

func TestFirst(t *testing.T) {
	for _, test := range []struct {
		s    string
		max  int
		want string
	}{
		{"short", 60, "short"}, {"", 3, ""}, {"abc", 0, ""}, {"abcd", 3, "abc"}, {"äöü!", 3, "äöü"}, {"🇩🇪🇫🇷🇮🇹", 2, "🇩🇪🇫🇷"},
	} {
		require.Equal(t, test.want, clean.First(test.s, test.max))
	}
}

func TestValidJSON(t *testing.T) {
	long := `"` + strings.Repeat("x", 100_000) + `"`
	for text, want := range map[string]bool{
		`{"a":[1]}`: true, `{`: false, "": false, long: true, long + "}": false,
		strings.Repeat("[", 10<<20):            false, // without a stack of a gigabyte
		`[` + long + `,` + nested(9_999) + `]`: true, `[` + long + `,` + nested(10_000) + `]`: false,
	} {
		require.Equal(t, want, clean.ValidJSON([]byte(text)), "%.20s", text)
		require.Equal(t, want, clean.ValidJSONText(text), "%.20s", text)
	}
}

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestDepth(t *testing.T) {
	for text, want := range map[string]int{
		`1`: 0, `"[[["`: 0, `[]`: 1, `{"a":[1,{"b":2}],"c":[]}`: 3, `["\\"]`: 1, `["\"[["]`: 1, `[[],[[]]]`: 3, nested(70): 70,
	} {
		require.Equal(t, want, clean.Depth(text), text)
		require.Equal(t, want, clean.Depth([]byte(text)), text)
	}
}

func FuzzAppendJSON(f *testing.F) {
	for _, s := range []string{"", "plain <b> & ~", `a "quote"`, `back\slash`, "line\n\x7f\b\f\r\t\x00\x1f", "é\u2028\u2029\ufffd", "\xff\xe2\x80", "😀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		require.Equal(t, "x"+string(clean.JSON(s)), string(clean.AppendJSON([]byte("x"), s)))
	})
}

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
