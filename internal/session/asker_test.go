package session

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/typed"
)

// A reply that was none, with another message right behind it: the question is gone, and its
// user is told of both. Of a question that was never there nothing is said.
func TestWhatIsGoneIsToldToWhoSawIt(t *testing.T) {
	d := &Driven{Askers: map[int]*Asker{}}
	for _, seen := range []bool{true, false} {
		a := d.NewAsker(t.Context(), "s")
		said, shows := "", seen
		p := Parking{Tell: func(remark string) { said += remark }, Show: func(string) (context.Context, func()) {
			if !shows {
				return nil, nil
			}
			return a.Ctx, func() {}
		}}
		if seen {
			a.heard <- spoken{words: typed.Words{}}
			acptest.Must(a.Converse(a.Ctx, "Which?", func(string) bool { return true }, p))
		}
		shows = false
		a.Cancel(ErrNotAsked)
		require.ErrorIs(t, acptest.Err(a.Converse(a.Ctx, "Too early. Which?", func(string) bool { return true }, p)), ErrNotAsked)
		require.Equal(t, seen, strings.Contains(said, "was not taken as an answer"), said)
	}
}
