package hublink_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// patience is how long a test waits for something that must happen.
const patience = 5 * time.Minute

const token = "the-owner's-token-of-the-tests"

// hubs is an address behind which there is a hub, or none.
type hubs struct {
	t       *testing.T
	url     *url.URL
	current atomic.Pointer[oneHub]
	running sync.WaitGroup // requests
	// between, if it is not nil, may reply in the hub's place.
	heard   func(desk.Entry, error) // of a link, or nil
	between func(w http.ResponseWriter, r *http.Request, body gjson.Result) (replied bool)
}

type oneHub struct {
	board  *hub.Board
	access *web.Access
	server *web.Server
	close  func()
}

func newHubs(t *testing.T) *hubs {
	h := &hubs{t: t}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.running.Add(1)
		defer h.running.Done()
		one := h.current.Load()
		if one == nil {
			panic(http.ErrAbortHandler) // nobody there
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if h.between == nil || !h.between(w, r, gjson.ParseBytes(body)) {
			one.server.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(h.stop)
	h.url, _ = url.Parse(s.URL)
	return h
}

func (h *hubs) start(dir string) *hub.Board { return h.startAt(hubstore.Options{Dir: dir}) }

func (h *hubs) startAt(kept hubstore.Options) *hub.Board {
	store := acptest.Must(hubstore.Open(h.t.Context(), kept))
	board := acptest.Must(hub.Open(h.t.Context(), store, hub.Options{}))
	access := acptest.Must(web.OpenAccess(filepath.Join(h.t.TempDir(), "access"), token))
	server := web.New(board, access, web.Options{})
	h.current.Store(&oneHub{board, access, server, func() { server.Close(); board.Close(); store.Close() }})
	return board
}

func (h *hubs) stop() {
	if one := h.current.Swap(nil); one != nil {
		one.close()
	}
}

func (h *hubs) link(d *desk.Desk, log io.Writer, token string) *hublink.Link {
	l := hublink.Start(d, hublink.Options{
		URL: h.url, Token: func() (string, error) { return token, nil }, Agent: "tester",
		Logger: slog.New(slog.NewTextHandler(log, nil)), Wait: 2 * time.Second, Heard: h.heard,
	})
	h.t.Cleanup(l.Close)
	return l
}

// linkedBeside is a desk with a link to a hub, in a test that runs beside others.
func linkedBeside(t *testing.T) (*hubs, *desk.Desk, *hub.Board, *hublink.Link) {
	t.Helper()
	t.Parallel()
	h, d := newHubs(t), new(desk.Desk)
	return h, d, h.start(t.TempDir()), h.link(d, io.Discard, token)
}

const session = "0199a1b2-0000-7000-8000-00000000abcd"

func ask(t *testing.T, d *desk.Desk, id string) *desk.Ticket {
	t.Helper()
	return asks(t, d, id, false)
}

// asks is ask for what may be asked again.
func asks(t *testing.T, d *desk.Desk, id string, again bool) *desk.Ticket {
	t.Helper()
	ticket := d.Post(t.Context(), desk.Item{Kind: desk.Question, Dir: "/src", Again: again, Call: convert.Call{
		Session: session, ID: id,
		Questions: []convert.Question{{Text: "Which database?", Header: "DB", Options: []convert.Option{{Label: "PostgreSQL"}, {Label: "SQLite"}}}},
	}})
	t.Cleanup(ticket.Leave)
	require.NoError(t, ticket.Turn())
	return ticket
}

// await waits for a record of the board.
func await(t *testing.T, b *hub.Board, what func(*hub.Record) bool) *hub.Record {
	t.Helper()
	reader := b.Read(1)
	timeout := time.After(patience)
	for {
		changes, more := reader.Next()
		for _, r := range changes {
			if what(r) {
				return r
			}
		}
		for _, r := range append(b.Settled("", 10), first(b)...) {
			if what(r) {
				return r
			}
		}
		select {
		case <-more:
		case <-timeout:
			t.Fatal("it did not come")
		}
	}
}

func first(b *hub.Board) []*hub.Record { list, _ := b.Waiting(10); return list }

func isOpen(r *hub.Record) bool { return r.Open() }

func answer(b *hub.Board, r *hub.Record, label, by string) error {
	_, err := b.Answer(context.Background(), hub.Ref{Conversation: r.Conversation, ID: r.ID, Revision: r.Revision},
		func(*hub.Record) ([]convert.Answer, error) {
			return []convert.Answer{{Selected: []string{label}}}, nil
		}, by)
	return err
}

func TestTheHubsAnswerSettlesTheDesk(t *testing.T) {
	_, d, board, _ := linkedBeside(t)
	ticket := ask(t, d, "toolu_abc")
	r := await(t, board, isOpen)
	require.Equal(t, session, r.Conversation)
	require.Equal(t, "toolu_abc", r.Call.ID)
	require.Equal(t, "tester", r.Agent)
	require.Equal(t, "/src", r.Dir)
	require.NoError(t, answer(board, r, "SQLite", "phone"))
	<-ticket.Context().Done()
	require.ErrorIs(t, context.Cause(ticket.Context()), desk.ErrSettled)
	o, first := ticket.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"PostgreSQL"}}}}, "editor")
	require.False(t, first)
	require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}}, o.Answers)
	await(t, board, func(r *hub.Record) bool { return !r.Open() && r.End.Receipt() == "delivered" })
	ticket.Leave()
	d.Receipt(ticket.Item().Name, nil)
	await(t, board, func(r *hub.Record) bool { return !r.Open() && r.End.Receipt() == "consumed" })
}

// What became of an answer is told also if the process ends as soon as it is known, while
// the desk is still at telling who was first.
func TestAReceiptBeforeTheEnd(t *testing.T) {
	_, d, board, l := linkedBeside(t)
	release := make(chan struct{})
	d.Watch(func(e desk.Entry) {
		if e.State == desk.Settled {
			<-release
		}
	})
	ticket := ask(t, d, "toolu_abc")
	require.NoError(t, answer(board, await(t, board, isOpen), "SQLite", "phone"))
	<-ticket.Context().Done()
	ticket.Settle(convert.Outcome{}, "")
	ticket.Leave()
	d.Receipt(ticket.Item().Name, nil)
	time.AfterFunc(50*time.Millisecond, func() { close(release) }) // the end has begun, most likely
	l.Close()
	require.Equal(t, "consumed", acptest.Must(board.Find(session, "")).End.Receipt())
}

func TestTheHubsCancelSettlesTheDesk(t *testing.T) {
	_, d, board, _ := linkedBeside(t)
	ticket := ask(t, d, "toolu_abc")
	r := await(t, board, isOpen)
	acptest.Must(board.Cancel(t.Context(), hub.Ref{Conversation: r.Conversation, ID: r.ID}, "phone"))
	<-ticket.Context().Done()
	o, _ := ticket.Settle(convert.Outcome{}, "")
	require.Equal(t, convert.Cancelled, o.Status)
}

func TestTheEditorsAnswerTakesTheHubsQuestionBack(t *testing.T) {
	_, d, board, _ := linkedBeside(t)
	ticket := ask(t, d, "toolu_abc")
	open := await(t, board, isOpen)
	ticket.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"SQLite"}}}}, "editor")
	r := await(t, board, func(r *hub.Record) bool { return !r.Open() })
	require.Equal(t, "editor", r.End.By)
	require.Equal(t, "SQLite", r.End.Answers[0].Selected[0])
	var late *hub.SettledError
	require.True(t, errors.As(answer(board, open, "PostgreSQL", "phone"), &late))
	require.Equal(t, "editor", late.By)
}

func TestAnAnswerThatCameTooLateIsUndeliverable(t *testing.T) {
	t.Parallel()
	h, d := newHubs(t), new(desk.Desk)
	dir := t.TempDir()
	board := h.start(dir)
	l := h.link(d, io.Discard, token)
	ticket := ask(t, d, "toolu_abc")
	r := await(t, board, isOpen)
	one := h.current.Swap(nil) // the link is cut
	one.server.Close()
	require.NoError(t, answer(board, r, "SQLite", "phone"))
	ticket.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"PostgreSQL"}}}}, "editor")
	one.board.Close()
	one.close()
	board = h.start(dir)
	r = await(t, board, func(r *hub.Record) bool { return !r.Open() && r.End.Receipt() == "undeliverable" })
	require.Contains(t, r.End.Undelivered, "editor")
	l.Close()
}

func TestAHubThatIsDownIsWarnedAboutOnceAndComesBack(t *testing.T) {
	t.Parallel()
	h, d, out := newHubs(t), new(desk.Desk), new(acptest.Written)
	h.link(d, out, token)
	first := ask(t, d, "toolu_1")
	require.Eventually(t, func() bool { return out.Count("reach the hub") == 1 }, patience, time.Millisecond)
	begin := time.Now()
	first.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"SQLite"}}}}, "editor")
	first.Leave()
	second := ask(t, d, "toolu_2")
	require.Less(t, time.Since(begin), patience, "the editor does not wait")

	board := h.start(t.TempDir())
	await(t, board, isOpen)
	require.Eventually(t, func() bool { return out.Count("works again") == 1 }, patience, time.Millisecond)
	require.Equal(t, 1, out.Count("reach the hub"))

	// Reinstalled, with an empty disk: the question is there again.
	h.stop()
	board = h.start(t.TempDir())
	require.NoError(t, answer(board, await(t, board, isOpen), "PostgreSQL", "phone"))
	<-second.Context().Done()
	o, _ := second.Settle(convert.Outcome{}, "")
	require.Equal(t, "PostgreSQL", o.Answers[0].Selected[0])
	_, open := board.Waiting(1)
	require.Zero(t, open, "it is asked once")
}

// askIn asks in another session.
func askIn(t *testing.T, d *desk.Desk, session, id string) {
	t.Helper()
	ticket := d.Post(t.Context(), desk.Item{Name: id, Kind: desk.Question, Call: convert.Call{Session: session, ID: id, Questions: []convert.Question{{Text: "Q?"}}}})
	t.Cleanup(ticket.Leave)
}

func TestAWrongTokenIsWarnedAboutOnce(t *testing.T) {
	t.Parallel()
	h, d, out := newHubs(t), new(desk.Desk), new(acptest.Written)
	board := h.start(t.TempDir())
	l := h.link(d, out, "wrong")
	ask(t, d, "toolu_1")
	askIn(t, d, "other", "toolu_2")
	require.Eventually(t, func() bool { return out.Count("401") > 0 }, patience, time.Millisecond)
	require.NoError(t, d.Answer("toolu_2", []convert.Answer{{Text: "x"}}, "editor"))
	l.Close()
	require.Equal(t, 1, out.Count("level=WARN"))
	require.NotContains(t, out.String(), "wrong")
	require.Empty(t, first(board))
}

// A hub that takes no word of an answer is told as one that cannot be used, until it does:
// then it knows of the answer.
func TestAHubThatCannotBeTold(t *testing.T) {
	t.Parallel()
	h, d, out := newHubs(t), new(desk.Desk), new(acptest.Written)
	var works atomic.Bool
	h.between = func(w http.ResponseWriter, r *http.Request, _ gjson.Result) bool {
		refuses := strings.HasSuffix(r.URL.Path, "/settle") && !works.Load()
		if refuses {
			http.Error(w, `{"error":"the disk is full"}`, http.StatusServiceUnavailable)
		}
		return refuses
	}
	board := h.start(t.TempDir())
	h.link(d, out, token)
	ticket := ask(t, d, "toolu_1")
	await(t, board, (*hub.Record).Open)
	ticket.Settle(yes, "editor")
	require.Eventually(t, func() bool { return out.Count("reach the hub") > 0 && out.Count("the disk is full") > 0 }, patience, time.Millisecond)
	works.Store(true)
	require.Equal(t, "editor", await(t, board, func(r *hub.Record) bool { return !r.Open() }).End.By)
	require.Eventually(t, func() bool { return out.Count("works again") > 0 }, patience, time.Millisecond)
}

// A credential that may not ask is told as that, once. The editor goes on.
func TestACredentialThatMayNotAsk(t *testing.T) {
	t.Parallel()
	h, d, out := newHubs(t), new(desk.Desk), new(acptest.Written)
	board := h.start(t.TempDir())
	l := h.link(d, out, acptest.Must(h.current.Load().access.Add("phone", web.CanAnswer)))
	ticket := ask(t, d, "toolu_1")
	askIn(t, d, "other", "toolu_2")
	require.Eventually(t, func() bool { return out.Count("may not ask") > 0 }, patience, time.Millisecond)
	o, here := ticket.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"SQLite"}}}}, "editor")
	require.True(t, here)
	require.Equal(t, convert.Answered, o.Status)
	l.Close()
	require.Equal(t, 1, out.Count("level=WARN"), out.String())
	require.Contains(t, out.String(), "may not do this: it can answer")
	require.Zero(t, out.Count("reach the hub"))
	require.Empty(t, first(board))
}

// What another device asks under the same name is another question.
func TestAQuestionOfAnotherDevice(t *testing.T) {
	t.Parallel()
	h, d, out := newHubs(t), new(desk.Desk), new(acptest.Written)
	board := h.start(t.TempDir())
	bot := acptest.Must(h.current.Load().access.Add("bot", web.CanAsk))
	acptest.Must(board.Ask(t.Context(), hub.Asking{Conversation: session, Device: "other", Dialect: hublink.Dialect, Call: convert.Call{ID: "toolu_1a", Questions: []convert.Question{{Text: "Theirs?"}}}}))
	l := h.link(d, out, bot)
	ask(t, d, "toolu_1a")
	await(t, board, func(r *hub.Record) bool { return r.Call.ID == "toolu_1a" && strings.HasPrefix(r.Device, "bot~") })
	l.Close()
	require.Zero(t, out.Count("level=WARN"), out.String())
}

// A session that is closed leaves its question at the hub. When that is asked again it is
// the same question. What the agent asks by itself is another one, whatever its id is.
func TestAClosedSessionFindsItsAnswer(t *testing.T) {
	_, d, board, _ := linkedBeside(t)
	ticket := ask(t, d, "toolu_01AbCdEf")
	r := await(t, board, isOpen)
	ticket.Settle(convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}, "")
	ticket.Leave()
	require.NoError(t, answer(board, r, "SQLite", "phone"))

	again := asks(t, d, "toolu_01AbCdEf", true)
	<-again.Context().Done()
	o, _ := again.Settle(convert.Outcome{}, "")
	require.Equal(t, "SQLite", o.Answers[0].Selected[0])
	again.Leave()

	for _, more := range []bool{true, false} {
		third := asks(t, d, "toolu_01AbCdEf", more)
		next := await(t, board, func(o *hub.Record) bool { return o.Key() != r.Key() && o.Open() })
		require.NoError(t, answer(board, next, "PostgreSQL", "phone"), "one answer is for one question")
		<-third.Context().Done()
		third.Leave()
	}
}

// A question that is left before the hub has heard of it is there all the same: of
// whoever left it at once, and of a process that ends at once.
func TestLeftBeforeTheHubHasIt(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*hublink.Link, *desk.Ticket){
		"session": func(_ *hublink.Link, ticket *desk.Ticket) {
			ticket.Settle(convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}, "")
		},
		"process": func(l *hublink.Link, _ *desk.Ticket) { l.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			h, d := newHubs(t), new(desk.Desk)
			board := h.start(t.TempDir())
			end(h.link(d, io.Discard, token), ask(t, d, "toolu_01AbCdEf"))
			require.Equal(t, "toolu_01AbCdEf", await(t, board, isOpen).Call.ID)
		})
	}
}

// Rule 5: what the agent asks after the user's next prompt is another question, in the
// same process and in the next one. What was left before it is left no more.
func TestRule5TheSameAfterAPrompt(t *testing.T) {
	t.Parallel()
	h, one, two := newHubs(t), new(desk.Desk), new(desk.Desk)
	board := h.start(t.TempDir())
	h.link(one, io.Discard, token)
	ticket := ask(t, one, "toolu_01AbCdEf")
	left := await(t, board, isOpen)
	ticket.Settle(convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}, "")
	ticket.Leave()
	require.NoError(t, answer(board, left, "SQLite", "phone"))
	h.link(two, io.Discard, token)
	for i, d := range []*desk.Desk{one, one, two} {
		item := ticket.Item()
		item.Name, item.Call.ID = "", []string{"toolu_01AbCdEf", "toolu_02GhIjKl", "toolu_01AbCdEf"}[i]
		again := d.Post(t.Context(), item)
		r := await(t, board, func(r *hub.Record) bool { return r.ID == again.Item().Name })
		require.True(t, r.Open(), i)
		again.Leave()
	}
	resumed := ask(t, one, "toolu_04")
	await(t, board, func(r *hub.Record) bool { return r.Call.ID == "toolu_04" || resumed.Context().Err() != nil })
	require.NoError(t, resumed.Context().Err(), "nobody has answered it")
}

func TestCountedIDsOfTwoProcessesAreTwoQuestions(t *testing.T) {
	t.Parallel()
	h := newHubs(t)
	board := h.start(t.TempDir())
	for range 2 {
		d := new(desk.Desk)
		h.link(d, io.Discard, token)
		ticket := d.Post(t.Context(), desk.Item{Kind: desk.Question, Call: convert.Call{Session: "demo-1", ID: "question_1", Questions: []convert.Question{{Text: "Go on?"}}}})
		t.Cleanup(ticket.Leave)
	}
	require.Eventually(t, func() bool { return len(first(board)) == 2 }, patience, time.Millisecond)
}

func TestAPermissionShowsWhatItIsFor(t *testing.T) {
	_, d, board, _ := linkedBeside(t)
	post := func(id string, input string) {
		ticket := d.Post(t.Context(), desk.Item{Kind: desk.Permission, Call: convert.Call{Session: session, ID: id, Input: json.RawMessage(input),
			Questions: []convert.Question{{Text: "Run a command", Closed: true, Options: []convert.Option{{Label: "Allow"}, {Label: "Reject"}}}}}})
		t.Cleanup(ticket.Leave)
	}
	post("toolu_long", `{"command":"`+strings.Repeat("x", 400<<10-18)+`"}`) // a byte more, indented
	post("toolu_short", `{"command":"rm -rf /`+strings.Repeat("x", 400<<10-27)+`"}`)
	r := await(t, board, isOpen)
	require.Equal(t, "toolu_short", r.Call.ID, "what cannot be shown whole is not approved there")
	require.Contains(t, r.Detail, `"command": "rm -rf /x`)
}

func TestParseURL(t *testing.T) {
	for s, ok := range map[string]bool{
		"http://127.0.0.1:7717": true, "http://localhost:7717/": true, "https://hub.example": true,
		"http://hub.example": false, "hub.example": false, "ftp://x": false, "https://a:b@hub.example": false, "": false,
	} {
		_, err := hublink.ParseURL(s)
		require.Equal(t, ok, err == nil, s)
	}
}

// Rule 6: what was answered while nobody asked is found, until it was handed over.
func TestRule6AnsweredMeanwhile(t *testing.T) {
	h, d, board, first := linkedBeside(t)
	ticket := ask(t, d, "toolu_abc")
	r := await(t, board, isOpen)
	first.Close() // the process is gone
	call := ticket.Item().Call
	l := h.link(new(desk.Desk), io.Discard, token)
	require.Nil(t, l.Meanwhile(t.Context(), call), "it is open")
	require.NoError(t, answer(board, r, "SQLite", "phone"))
	other := call
	other.Questions = []convert.Question{{Text: "Another one?", Options: []convert.Option{{Label: "x"}}}}
	require.Nil(t, l.Meanwhile(t.Context(), other), "the answer does not fit")
	full := errors.New("the agent is gone")
	require.ErrorIs(t, l.Meanwhile(t.Context(), call).Deliver(func() error { return full }), full)
	left := l.Meanwhile(t.Context(), call)
	require.Equal(t, "phone", left.By(), "to look is not to take")
	require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}}, acptest.Must(left.Wait()).Answers)
	require.NoError(t, left.Deliver(func() error { return nil }))
	await(t, board, func(r *hub.Record) bool { return !r.Open() && r.End.Receipt() == "consumed" })
	require.Nil(t, l.Meanwhile(t.Context(), call), "it was used")
	call.Session = "7"
	require.Nil(t, l.Meanwhile(t.Context(), call), "a number means nothing in another process")
	h.stop()
	require.Nil(t, l.Meanwhile(t.Context(), call))
}

// Two machines take a session up again, and both find what was answered meanwhile. One
// hands it to the agent; the other learns that.
func TestRule6HandedOverByOneMachine(t *testing.T) {
	h, d, board, first := linkedBeside(t)
	call := ask(t, d, "toolu_abc").Item().Call
	r := await(t, board, isOpen)
	first.Close() // the process is gone
	require.NoError(t, answer(board, r, "SQLite", "phone"))
	one := h.link(new(desk.Desk), io.Discard, token).Meanwhile(t.Context(), call)
	two := h.link(new(desk.Desk), io.Discard, token).Meanwhile(t.Context(), call)
	late := make(chan error, 1)
	require.NoError(t, one.Deliver(func() error {
		begun := make(chan struct{})
		go func() {
			close(begun)
			late <- two.Deliver(func() error { return errors.New("the agent was told twice") })
		}()
		<-begun
		return nil
	}))
	require.ErrorIs(t, <-late, life.ErrTaken)
	await(t, board, func(r *hub.Record) bool { return !r.Open() && r.End.Receipt() == "consumed" })
}

// What was found may be used by another machine meanwhile, and the same be asked and answered
// anew: that is another outcome, of whoever asked it.
func TestRule6AnsweredAnewMeanwhile(t *testing.T) {
	h, d, board, first := linkedBeside(t)
	call := ask(t, d, "toolu_abc").Item().Call
	r := await(t, board, isOpen)
	first.Close() // the process is gone
	require.NoError(t, answer(board, r, "SQLite", "phone"))
	left := h.link(new(desk.Desk), io.Discard, token).Meanwhile(t.Context(), call)
	by := r.Ref()
	by.Asker = "another"
	acptest.Must(board.Consumed(t.Context(), by))
	anew, err := board.Ask(t.Context(), hub.Asking{Conversation: r.Conversation, Device: r.Device, Kind: r.Kind, Dialect: r.Dialect, About: r.About, Asker: "third", Call: r.Call})
	require.NoError(t, err)
	require.NoError(t, answer(board, anew, "SQLite", "phone"))
	require.ErrorIs(t, left.Deliver(func() error { return errors.New("the agent was told twice") }), life.ErrTaken)
	anew = acptest.Must(board.FindRef(anew.Ref()))
	require.Equal(t, "third", anew.Asker)
}

// An agent may take a question back after the hub's answer has come. The answer stays at
// the hub for when it is asked again, and the link has done with it.
func TestAWithdrawnQuestionIsNotRemembered(t *testing.T) {
	_, d, board, l := linkedBeside(t)
	ticket := ask(t, d, "toolu_abc")
	defer ticket.Leave()
	require.NoError(t, answer(board, await(t, board, isOpen), "SQLite", "phone"))
	<-ticket.Context().Done()
	await(t, board, func(r *hub.Record) bool { return !r.Open() && r.End.Receipt() == "delivered" })
	require.Equal(t, 1, l.Remembered())
	l.Received(ticket.Item().Name, fmt.Errorf("the agent withdrew it: %w", life.ErrGone))
	// The desk may not have told the link yet that its answer stands.
	require.Eventually(t, func() bool { return l.Remembered() == 0 }, patience, time.Millisecond)
	l.Close() // all that was to be told is told
	require.Equal(t, "delivered", await(t, board, func(r *hub.Record) bool { return !r.Open() }).End.Receipt())
}

// That the agent has one answer says nothing of another one of the same session, nor
// does it that the agent asks on.
func TestUsedIsOfOneCall(t *testing.T) {
	_, d, board, l := linkedBeside(t)
	for _, id := range []string{"toolu_1a", "toolu_2b"} {
		ticket := d.Post(t.Context(), desk.Item{Name: id, Kind: desk.Question, Unqueued: true, Call: convert.Call{
			Session: session, ID: id, Questions: []convert.Question{{Text: "Is it " + id + "?"}}}})
		t.Cleanup(ticket.Leave)
		r := await(t, board, func(r *hub.Record) bool { return r.Open() && r.Call.ID == id })
		acptest.Must(board.Answer(t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) {
			return []convert.Answer{{Text: "yes"}}, nil
		}, "phone"))
		<-ticket.Context().Done()
		await(t, board, func(r *hub.Record) bool { return r.Call.ID == id && !r.Open() && r.End.Receipt() == "delivered" })
	}
	ask(t, d, "toolu_3c")
	d.Receipt("toolu_2b", nil)
	await(t, board, func(r *hub.Record) bool { return r.Call.ID == "toolu_2b" && !r.Open() && r.End.Receipt() == "consumed" })
	l.Close() // what is to be told is told by then
	await(t, board, func(r *hub.Record) bool { return r.Call.ID == "toolu_1a" && r.End.Receipt() == "delivered" })
}

// Two that have a name one after the other are two: what the agent has of the second is
// no receipt for the first, which may still come.
func TestUsedIsOfOneItem(t *testing.T) {
	_, d, board, l := linkedBeside(t)
	one := ask(t, d, "toolu_1a")
	require.NoError(t, answer(board, await(t, board, isOpen), "SQLite", "phone"))
	<-one.Context().Done()
	one.Leave()
	is := func(receipt string) func(*hub.Record) bool {
		return func(r *hub.Record) bool { return !r.Open() && r.End.By == "phone" && r.End.Receipt() == receipt }
	}
	first := await(t, board, is("delivered"))
	two := ask(t, d, "toolu_1a")
	await(t, board, isOpen)
	two.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"PostgreSQL"}}}}, "editor")
	d.Receipt(two.Item().Name, nil)
	await(t, board, func(r *hub.Record) bool { return r.Key() != first.Key() && !r.Open() })
	await(t, board, is("delivered"))
	d.Receipt(one.Item().Name, errors.New("the agent had taken it back"))
	await(t, board, is("undeliverable"))
	l.Close()
}

// What is typed in the editor to a question that asks for a secret is the agent's alone.
func TestATypedSecretIsNotKept(t *testing.T) {
	_, d, board, _ := linkedBeside(t)
	ticket := d.Post(t.Context(), desk.Item{Kind: desk.Question, Call: convert.Call{Session: session, ID: "toolu_1a", Questions: []convert.Question{{Text: "What is your API key?"}}}})
	defer ticket.Leave()
	await(t, board, isOpen)
	stands, _ := ticket.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "sk-live-123"}}}, "editor")
	require.Equal(t, "sk-live-123", stands.Answers[0].Text)
	r := await(t, board, func(r *hub.Record) bool { return !r.Open() })
	require.Equal(t, []convert.Answer{{Text: "(not shown)"}}, r.End.Answers)
}

// What is typed at the hub to such a question reaches the agent, and is then kept nowhere.
func TestASecretTypedAtTheHub(t *testing.T) {
	_, d, board, _ := linkedBeside(t)
	ticket := d.Post(t.Context(), desk.Item{Kind: desk.Question, Call: convert.Call{Session: session, ID: "toolu_1a", Questions: []convert.Question{{Text: "What is your API key?"}}}})
	defer ticket.Leave()
	r := await(t, board, isOpen)
	acptest.Must(board.Answer(t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) {
		return []convert.Answer{{Text: "sk-live-123"}}, nil
	}, "phone"))
	<-ticket.Context().Done()
	stands, _ := ticket.Settle(convert.Outcome{}, "")
	require.Equal(t, []convert.Answer{{Text: "sk-live-123"}}, stands.Answers)
	d.Receipt(ticket.Item().Name, nil)
	r = await(t, board, func(r *hub.Record) bool { return !r.Open() && r.End.Receipt() == "consumed" })
	require.Equal(t, []convert.Answer{{Text: "(not shown)"}}, r.End.Answers)
	require.Empty(t, r.End.Typed)
}

// A process that ends says so: nobody works on with what was answered last, at the hub
// or here.
func TestAProcessThatEndsSaysSo(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"at the hub", "here"} {
		t.Run(where, func(t *testing.T) {
			h, d := newHubs(t), new(desk.Desk)
			board := h.start(t.TempDir())
			l := h.link(d, io.Discard, token)
			ticket := ask(t, d, "toolu_abc")
			r := await(t, board, isOpen)
			if where == "here" {
				ticket.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"SQLite"}}}}, "editor")
			} else {
				require.NoError(t, answer(board, r, "SQLite", "phone"))
				<-ticket.Context().Done()
			}
			await(t, board, func(r *hub.Record) bool { return !r.Open() && r.End.Receipt() != "accepted" })
			l.Close()
			await(t, board, func(r *hub.Record) bool { return !r.Open() && !r.End.Ended.IsZero() })
			one := h.current.Load()
			req := httptest.NewRequest("GET", "http://localhost/conversations/"+r.Conversation, nil)
			req.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			one.server.ServeHTTP(w, req)
			require.Contains(t, w.Body.String(), `"state":{"type":"idle","asker_gone":true}`)
		})
	}
}

// A hub that never replies keeps nobody waiting.
func TestASlowHub(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	defer close(release)
	at := acptest.Must(url.Parse(s.URL))
	d := new(desk.Desk)
	l := hublink.Start(d, hublink.Options{URL: at, Token: func() (string, error) { return token, nil }})
	begin := time.Now()
	ticket := ask(t, d, "toolu_abc")
	_, first := ticket.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"SQLite"}}}}, "editor")
	require.True(t, first)
	require.Less(t, time.Since(begin), patience)
	l.Close()
	require.Less(t, time.Since(begin), patience)
}

// A hub keeps what it is told, and gets no question whose answer is a secret.
func TestNoSecretForTheHub(t *testing.T) {
	_, d, board, link := linkedBeside(t)
	secret := d.Post(t.Context(), desk.Item{Kind: desk.Form, Secret: true, Call: convert.Call{Session: session, ID: "pw", Questions: []convert.Question{{Text: "Password?"}}}})
	_, first := secret.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "hunter2"}}}, "editor")
	require.True(t, first)
	ask(t, d, "toolu_after")
	await(t, board, func(r *hub.Record) bool { return r.Call.ID == "toolu_after" })
	link.Close() // what was settled is told before
	_, open := board.Waiting(10)
	require.Equal(t, 1, open)
	require.Empty(t, board.Settled("", 10))
}
