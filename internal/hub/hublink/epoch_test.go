package hublink_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// A process that was killed has left a question, which a person answers. The next process has
// resumed the session, its user has prompted, and the agent asks the same words under the
// same id, as agents count: a person is asked. So they are if it was a process between them
// that was prompted, and asked nothing.
func TestAnOldAnswerIsNoneAfterAPrompt(t *testing.T) {
	t.Parallel()
	for id, prompts := range map[string]int{"ask:0": 1, "ask:1": 1, "toolu_abc": 1, "ask:00": 0} {
		h := newHubs(t)
		board := h.start(t.TempDir())
		killed := new(desk.Desk)
		first := h.link(killed, io.Discard, token)
		item := ask(t, killed, "ask:0").Item()
		old := await(t, board, isOpen)
		first.Close()
		require.NoError(t, answer(board, old, "SQLite", "phone"))
		if prompts == 0 {
			between := new(desk.Desk)
			link := h.link(between, io.Discard, token)
			between.Prompted(session)
			link.Close()
		}
		resumed := new(desk.Desk)
		h.link(resumed, io.Discard, token)
		item.Call.ID, item.Prompts = id, prompts
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
