package hublink_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

// smallStore is a server elsewhere that takes short messages only.
func smallStore(t *testing.T) hubstore.Options {
	t.Helper()
	return hubstore.Options{URL: netfault.NATS(t, 64<<10).ClientURL()}
}

func askSized(t *testing.T, d *desk.Desk, id, text string) *desk.Ticket {
	t.Helper()
	ticket := d.Post(t.Context(), desk.Item{Kind: desk.Question, Call: convert.Call{
		Session: session, ID: id, Questions: []convert.Question{{Text: text}},
	}})
	t.Cleanup(ticket.Leave)
	require.NoError(t, ticket.Turn())
	return ticket
}

// A question that the hub cannot take stays with the editor, with one warning,
// and the next one is asked at both.
func TestAQuestionThatIsTooLarge(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"for any hub":    strings.Repeat("x", 1<<20),
		"for this store": strings.Repeat("x", 100<<10),
	} {
		t.Run(name, func(t *testing.T) {
			h, d, log := newHubs(t), new(desk.Desk), new(acptest.Written)
			board, heard := h.startAt(smallStore(t)), make(chan error, 2)
			h.heard = func(_ desk.Entry, err error) { heard <- err }
			h.link(d, log, token)
			large := askSized(t, d, "toolu_large", text)
			require.Eventually(t, func() bool { return log.Count("level=WARN") == 1 }, patience, time.Millisecond)
			require.Equal(t, 1, log.Count("asked here only"))
			require.Equal(t, 1, log.Count("name="+large.Item().Name))
			require.ErrorContains(t, <-heard, "too large")
			require.NoError(t, large.Context().Err())
			_, first := large.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "yes"}}}, "editor")
			require.True(t, first)
			large.Leave()
			ask(t, d, "toolu_next")
			require.Equal(t, "toolu_next", await(t, board, isOpen).Call.ID)
			require.Empty(t, board.Settled("", 10))
			require.Equal(t, 1, log.Count("level=WARN"))
		})
	}
}

// Signs that a page would read as markup are one byte each on their way.
func TestMarkupIsNotLonger(t *testing.T) {
	t.Parallel()
	h, d := newHubs(t), new(desk.Desk)
	board := h.start(t.TempDir())
	h.link(d, new(acptest.Written), token)
	askSized(t, d, "toolu_markup", strings.Repeat("<", 500<<10))
	require.Equal(t, "toolu_markup", await(t, board, isOpen).Call.ID)
}

// An answer of the editor that the hub cannot keep ends the question there all
// the same.
func TestAnAnswerElsewhereThatIsTooLarge(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"for any hub": 1 << 20, "for this store": 100 << 10} {
		t.Run(name, func(t *testing.T) {
			h, d, log := newHubs(t), new(desk.Desk), new(acptest.Written)
			board := h.startAt(smallStore(t))
			h.link(d, log, token)
			ticket := ask(t, d, "toolu_abc")
			await(t, board, isOpen)
			ticket.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: strings.Repeat("x", size)}}}, "editor")
			r := await(t, board, func(r *hub.Record) bool { return !r.Open() })
			require.Equal(t, "editor", r.End.By)
			require.Empty(t, r.End.Answers)
			require.Equal(t, "What was answered is too large for the hub", r.End.Reason)
			require.Zero(t, log.Count("level=WARN"))
		})
	}
}
