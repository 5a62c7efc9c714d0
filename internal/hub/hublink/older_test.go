package hublink_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// A hub that does not know what is told about a question refuses it. That is told, with
// what there is to do, and nothing is asked there without it.
func TestAnOlderHub(t *testing.T) {
	t.Parallel()
	h, d, log := newHubs(t), new(desk.Desk), new(acptest.Written)
	h.between = func(w http.ResponseWriter, r *http.Request, asked gjson.Result) bool {
		if !strings.HasSuffix(r.URL.Path, "/ask") {
			return false
		}
		assert.Equal(t, asked.Get("call.ID").Str == "again", asked.Get("prompts").Int() == 0, "without it an older hub may give an answer of before")
		http.Error(w, `{"error":"about: unknown member"}`, http.StatusBadRequest)
		return true
	}
	board := h.start(t.TempDir())
	h.link(d, log, token)
	for _, kind := range []desk.Kind{desk.Question, desk.Permission} {
		ticket := d.Post(t.Context(), desk.Item{Kind: kind, About: about.About{Model: "opus"}, Call: convert.Call{Session: kind.String(), ID: "toolu_1",
			Questions: []convert.Question{{Text: "Go on?", Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}}})
		t.Cleanup(ticket.Leave)
		require.NoError(t, ticket.Turn())
	}
	asks(t, d, "again", true)
	require.Eventually(t, func() bool { return log.Count("older than this program has to be upgraded") == 3 }, patience, time.Millisecond)
	open, _ := board.Waiting(10)
	require.Empty(t, open)
}

// leftBehind is an answer that was given while no process asked.
func leftBehind(t *testing.T, between func(http.ResponseWriter, *http.Request, gjson.Result) bool) (*hub.Board, *hublink.Left) {
	h, d := newHubs(t), new(desk.Desk)
	h.between = between
	board := h.start(t.TempDir())
	first := h.link(d, io.Discard, token)
	call := ask(t, d, "toolu_abc").Item().Call
	r := await(t, board, isOpen)
	first.Close()
	h.running.Wait() // the hub has noticed: else the answer is delivered to nobody
	require.NoError(t, answer(board, r, "SQLite", "phone"))
	link, left := h.link(new(desk.Desk), io.Discard, token), (*hublink.Left)(nil)
	require.Eventually(t, func() bool { left = link.Meanwhile(t.Context(), call); return left != nil }, patience, time.Millisecond, "a hub that does not reply at once is asked again")
	return board, left
}

// A hub that breaks down, or forgets, before an outcome is claimed keeps nobody from
// handing it over: it is here, and the agent waits for it.
func TestAHubThatTakesNoClaim(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusBadRequest, http.StatusNotFound, http.StatusUnauthorized} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			var broken atomic.Bool
			_, left := leftBehind(t, func(w http.ResponseWriter, _ *http.Request, _ gjson.Result) bool {
				if broken.Load() {
					w.WriteHeader(status)
				}
				return broken.Load()
			})
			broken.Store(true)
			used := false
			require.NoError(t, left.Deliver(func() error { used = true; return nil }))
			require.True(t, used)
		})
	}
}

// A hub that breaks down for a moment knows who hands an outcome over before that is done: two
// would, else.
func TestAHubThatTakesAClaimLater(t *testing.T) {
	t.Parallel()
	var broke atomic.Bool
	board, left := leftBehind(t, func(w http.ResponseWriter, _ *http.Request, body gjson.Result) bool {
		breaks := body.Get("claim").Bool() && !broke.Swap(true)
		if breaks {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return breaks
	})
	claimed := func() error { require.False(t, board.Settled("", 1)[0].End.Claimed.IsZero()); return nil }
	require.NoError(t, left.Deliver(claimed))
	require.True(t, broke.Load())
}

// What a hub says was left counts if a person said it, nobody has used it, and it fits.
func TestWhatCountsAsLeft(t *testing.T) {
	t.Parallel()
	h, says := newHubs(t), ""
	h.between = func(w http.ResponseWriter, r *http.Request, _ gjson.Result) bool {
		return strings.HasSuffix(r.URL.Path, "/left") && acptest.Must(io.WriteString(w, says)) > 0
	}
	h.start(t.TempDir())
	link := h.link(new(desk.Desk), io.Discard, token)
	call := convert.Call{Session: "left", Questions: []convert.Question{{Text: "Go on?", Closed: true, Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}}
	for result, want := range map[string]bool{
		`"accepted","by":"Ann","result":{"by":"Ann","outcome":"answered","answers":[{"selected":["Yes"]}]}`:   true,
		`"accepted","by":"Ann","result":{"by":"Ann","outcome":"declined"}`:                                    true,
		`"consumed","by":"Ann","result":{"by":"Ann","outcome":"answered","answers":[{"selected":["Yes"]}]}`:   false,
		`"accepted","result":{"outcome":"answered","answers":[{"selected":["Yes"]}]}`:                         false,
		`"accepted","by":"Ann","result":{"by":"Ann","outcome":"answered","answers":[{"selected":["Maybe"]}]}`: false,
		`"accepted","by":"Ann","result":{"by":"Ann","outcome":"withdrawn"}`:                                   false,
	} {
		says = `{"receipt":` + result + `}`
		require.Equal(t, want, link.Meanwhile(t.Context(), call) != nil, result)
	}
}

// What an older link says of a question that nobody ended, and what an older hub says of
// one, is nobody's choice.
func TestOutcomesOfOlderVersions(t *testing.T) {
	for data, want := range map[string]convert.Outcome{
		`{"question":"q","outcome":"cancelled","reason":"Withdrawn: another question was cancelled"}`: {Status: convert.Withdrawn, Reason: "Withdrawn: another question was cancelled"},
		`{"question":"q","outcome":"cancelled","reason":"User cancelled the question","by":"Ann"}`:    {Status: convert.Cancelled, Reason: convert.CancelMessage},
		`{"question":"q","outcome":"declined","by":"editor"}`:                                         {Status: convert.Declined},
		`{"question":"q","outcome":"failed","reason":"no screen"}`:                                    {Status: convert.Failed, Reason: "no screen"},
		`{"question":"q","outcome":"withdrawn","reason":"the turn ended"}`:                            {Status: convert.Withdrawn, Reason: "the turn ended"},
	} {
		o, _, _, err := hublink.DecodeOutcome([]byte(data))
		require.NoError(t, err, data)
		require.Equal(t, want, o, data)
	}
}
