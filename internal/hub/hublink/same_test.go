package hublink_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

var yes = convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"SQLite"}}}}

// What the editor answered while the hub was away answers nothing that is asked
// after it: neither under another id, nor under the same.
func TestAnAnswerIsForOneQuestion(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"toolu_other", "toolu_same", "7"} {
		t.Run(id, func(t *testing.T) {
			h, d, dir := newHubs(t), new(desk.Desk), t.TempDir()
			board := h.start(dir)
			h.link(d, io.Discard, token)
			one := ask(t, d, strings.Replace(id, "other", "same", 1))
			await(t, board, isOpen)
			h.stop()
			one.Settle(yes, "editor")
			one.Leave()
			two := ask(t, d, id)
			board = h.start(dir)
			open := await(t, board, func(r *hub.Record) bool {
				settled := board.Settled("editor", 10)
				waiting := first(board)
				return len(settled) == 1 && len(waiting) == 1 && waiting[0].Revision > 1
			})
			require.NotNil(t, open)
			require.NoError(t, two.Context().Err(), "nobody answered the second question")
			require.NoError(t, answer(board, first(board)[0], "PostgreSQL", "phone"))
			<-two.Context().Done()
			o, _ := two.Settle(convert.Outcome{}, "")
			require.Equal(t, "PostgreSQL", o.Answers[0].Selected[0])
		})
	}
}

// Two calls at once that ask the same are two questions: the editor answers one of them.
func TestTwoCallsWithTheSameWords(t *testing.T) {
	_, d, board, _ := linkedBeside(t)
	one := ask(t, d, "toolu_1a")
	await(t, board, isOpen)
	call := one.Item().Call
	call.ID = "toolu_2b"
	two := d.Post(t.Context(), desk.Item{Kind: desk.Question, Call: call})
	t.Cleanup(two.Leave)
	require.Eventually(t, func() bool { return len(first(board)) == 2 }, patience, time.Millisecond)
	one.Settle(yes, "editor")
	one.Leave()
	await(t, board, func(r *hub.Record) bool { return !r.Open() && r.Call.ID == "toolu_1a" })
	require.NoError(t, two.Turn(), "it is still to be asked")
	require.NoError(t, two.Context().Err())
}

// Ids are an agent's own, and may be anything.
func TestOddIDs(t *testing.T) {
	t.Parallel()
	h, d, out := newHubs(t), new(desk.Desk), new(acptest.Written)
	board := h.start(t.TempDir())
	l := h.link(d, out, token)
	for _, id := range []string{"..", ".", "a/b", "", "?x=1#y", "%2e%2e", "\x00\n", "ü 漢"} {
		ticket := d.Post(t.Context(), desk.Item{Kind: desk.Question, Call: convert.Call{Session: id, ID: id + "x", Questions: []convert.Question{{Text: "Q?"}}}})
		t.Cleanup(ticket.Leave)
		r := await(t, board, isOpen)
		require.NoError(t, func() error {
			_, err := board.Cancel(t.Context(), r.Ref(), "phone")
			return err
		}())
		<-ticket.Context().Done()
	}
	l.Close()
	require.Zero(t, out.Count("level=WARN"), out.String())
}

// A question that a hub does not take says nothing about the hub.
func TestAQuestionThatTheHubDoesNotTake(t *testing.T) {
	t.Parallel()
	h, d, out := newHubs(t), new(desk.Desk), new(acptest.Written)
	board := h.start(t.TempDir())
	l := h.link(d, out, token)
	odd := d.Post(t.Context(), desk.Item{Kind: desk.Question, Call: convert.Call{Session: strings.Repeat("s", 600), ID: "toolu_1a", Questions: []convert.Question{{Text: "Q?"}}}})
	t.Cleanup(odd.Leave)
	require.Eventually(t, func() bool { return out.Count("the hub refused a question") == 1 }, patience, time.Millisecond)
	odd.Asking(0, "editor")
	ask(t, d, "toolu_2b")
	await(t, board, isOpen)
	l.Close()
	require.Equal(t, 1, out.Count("level=WARN"))
}

// The editor and a phone answer at the same moment, again and again: the agent
// has one of the two, and the hub says which.
func TestTheEditorAndAPhoneAnswerAtOnce(t *testing.T) {
	_, d, board, _ := linkedBeside(t)
	won := map[string]int{}
	for i := range leaktest.Often(150) {
		ticket := ask(t, d, fmt.Sprintf("toolu_%dx", i))
		r := await(t, board, isOpen)
		phone := make(chan error, 1)
		go func() { phone <- answer(board, r, "PostgreSQL", "phone") }()
		if i%3 == 0 { // the phone is about to be heard of
			await(t, board, func(now *hub.Record) bool { return now.ID == r.ID && !now.Open() })
		}
		o, _ := ticket.Settle(yes, "editor")
		ticket.Leave()
		accepted := <-phone == nil
		who := map[string]string{"SQLite": "editor", "PostgreSQL": "phone"}[o.Answers[0].Selected[0]]
		won[who]++
		end := await(t, board, func(now *hub.Record) bool {
			return now.ID == r.ID && !now.Open() && now.End.Receipt() != "accepted" &&
				(now.End.By == who || now.End.Receipt() == "undeliverable")
		}).End
		switch {
		case end.By == who:
			require.NotEqual(t, "undeliverable", end.Receipt())
		default:
			require.True(t, accepted)
			require.Equal(t, "editor", who, "an answer that a phone gave and the agent has is delivered")
		}
	}
	t.Logf("first was: %v", won)
}

// A session that has a number or a word for its name is another one in another
// process: what a person answered there is no answer here.
func TestSessionsOfTheSameName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"1", "session-1", "main", "S", "default", "my.session"} {
		t.Run(name, func(t *testing.T) {
			h := newHubs(t)
			board := h.start(t.TempDir())
			post := func() *desk.Ticket {
				d := new(desk.Desk)
				h.link(d, io.Discard, token)
				ticket := d.Post(t.Context(), desk.Item{Kind: desk.Question, Call: convert.Call{Session: name, ID: "question_1", Questions: []convert.Question{{Text: "Deploy?"}}}})
				t.Cleanup(ticket.Leave)
				require.NoError(t, ticket.Turn())
				return ticket
			}
			one := post()
			there := await(t, board, isOpen)
			two := post()
			require.Eventually(t, func() bool { return len(first(board)) == 2 }, patience, time.Millisecond, "they are two questions")
			acptest.Must(board.Cancel(t.Context(), there.Ref(), "phone"))
			<-one.Context().Done()
			require.Len(t, first(board), 1)
			require.NoError(t, two.Context().Err())
		})
	}
}

// The end of a turn is told once, also to a hub that knows nothing of turns, and without
// what looks like a secret.
func TestTurnsAreTold(t *testing.T) {
	for status, works := range map[int]string{http.StatusOK: "a hub", http.StatusNotFound: "an older hub"} {
		t.Run(works, func(t *testing.T) {
			got := make(chan string, 10)
			s := httptest.NewServer(watchtest.Proves(token, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				w.WriteHeader(status)
				got <- r.URL.Path + " " + string(body)
			}))
			defer s.Close()
			u := acptest.Must(url.Parse(s.URL))
			var log acptest.Written
			var d desk.Desk
			h := &hubs{t: t, url: u}
			l := h.link(&d, &log, token)
			d.EndTurn(desk.Turn{Session: session, Dir: "/src", Working: true}) // it is not done
			d.EndTurn(desk.Turn{Session: session, Dir: "/src"})
			require.Equal(t, "/conversations/"+session+`/turn {"event":"done","agent":"tester","dir":"/src"}`, <-got)
			d.EndTurn(desk.Turn{Session: session, Agent: "goose", Working: true, Err: errors.New("no API_TOKEN=abcdefgh1234")})
			require.Equal(t, "/conversations/"+session+`/turn {"event":"`+hublink.TurnFailed+`","agent":"goose","text":"no API_TOKEN=•••"}`, <-got)
			l.Close()
			require.Empty(t, got)
			require.Zero(t, log.Count("level="))
		})
	}
}
