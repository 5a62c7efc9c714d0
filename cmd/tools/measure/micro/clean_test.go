package micro_test

import (
	"strings"
	"testing"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

func BenchmarkLine(b *testing.B) {
	for name, s := range map[string]string{
		"clean-ascii":   "Which testing framework should we use for the new package?",
		"clean-unicode": "どのテストフレームワークを使いますか？",
		"escapes":       "\x1b[1mWhich\x1b[0m testing\nframework\u202e?",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				sink = clean.Line(s)
			}
		})
	}
}

func BenchmarkBlock(b *testing.B) {
	plain := strings.Repeat("ok  \tgithub.com/acp-bridge/acp-bridge/display\t0.012s\n", 400)
	for name, s := range map[string]string{
		"clean":   plain,
		"escapes": strings.ReplaceAll(plain, "ok", "\x1b[32mok\x1b[0m"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				sink = clean.Block(s)
			}
		})
	}
}

func BenchmarkTruncate(b *testing.B) {
	s := strings.Repeat("go test ./... && ", 300)
	b.ReportAllocs()
	for b.Loop() {
		sink = clean.Truncate(s, 120)
	}
}

var sink string
