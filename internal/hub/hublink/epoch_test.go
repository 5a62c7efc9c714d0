package hublink_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// A process that was killed has left a question, which a person answers. A process without a
// hub resumes the session, and its user prompts: nobody tells the hub of it. The next one has
// a hub again, and its agent asks the same words by itself, as agents count, or what its
// session's history ends with is another call by now: a person is asked.
func TestAnOldAnswerIsNoneAfterAPrompt(t *testing.T) {
	t.Parallel()
	for id, again := range map[string]bool{"ask:0": false, "ask:1": false, "toolu_abc": true} {
		h := newHubs(t)
		board := h.start(t.TempDir())
		killed := new(desk.Desk)
		first := h.link(killed, io.Discard, token)
		item := ask(t, killed, "ask:0").Item()
		old := await(t, board, isOpen)
		first.Close()
		require.NoError(t, answer(board, old, "SQLite", "phone"))
		resumed := new(desk.Desk)
		h.link(resumed, io.Discard, token)
		item.Name, item.Call.ID, item.Again = "", id, again
		ticket := resumed.Post(t.Context(), item)
		t.Cleanup(ticket.Leave)
		now := await(t, board, func(r *hub.Record) bool { return r.Open() && r.Key() != old.Key() })
		require.NoError(t, ticket.Context().Err(), "nobody has answered it")
		require.NoError(t, answer(board, now, "PostgreSQL", "phone"))
		<-ticket.Context().Done()
		o, _ := ticket.Settle(convert.Outcome{}, "")
		require.Equal(t, "PostgreSQL", o.Answers[0].Selected[0])
	}
}
