package display

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// cut keeps the beginning and the end of a text of more than limit bytes and
// says between them how much is left out. It cuts between lines where it can
// and between graphemes where a line is too long for that.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head := boundary(text, limit/2, true)
	tail := boundary(text, len(text)-limit/2, false)
	gone := text[head:tail]
	size := bytesText(len(gone))
	if n := strings.Count(gone, "\n"); n > 1 {
		size += fmt.Sprintf(" (%d lines)", n)
	}
	return strings.TrimRight(text[:head], "\n") + "\n… " + size + " left out …\n" + text[tail:]
}

// lineSlack is how far a cut moves to fall between two lines.
const lineSlack = 2_000

// boundary moves off to a place where text may be cut: back for the end of the
// head, forward for the start of the tail.
func boundary(text string, off int, back bool) int {
	if back {
		if i := strings.LastIndexByte(text[max(0, off-lineSlack):off], '\n'); i >= 0 {
			return max(0, off-lineSlack) + i + 1
		}
	} else if i := strings.IndexByte(text[off:min(len(text), off+lineSlack)], '\n'); i >= 0 {
		return off + i + 1
	}
	return graphemeBoundary(text, off, back)
}

// graphemeBoundary looks for graphemes from a little before off: from the
// start of a long text it would take too long.
func graphemeBoundary(text string, off int, back bool) int {
	at := runeStart(text, max(0, off-256))
	end := runeStart(text, min(len(text), off+1_000))
	for it := graphemes.FromString(text[at:end]); at < off && it.Next(); {
		cluster := it.Value()
		if back && at+len(cluster) > off {
			return at
		}
		at += len(cluster)
	}
	return at
}

// runeStart moves off back to the start of the rune it is in.
func runeStart(text string, off int) int {
	for off > 0 && off < len(text) && !utf8.RuneStart(text[off]) {
		off--
	}
	return off
}
