package hub_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// A file of a store that is gone or empty is told, once, all of them or one of several. Of a
// hub that was killed the server cannot tell a file that is gone from one that it needed no more.
func TestLostFilesAreTold(t *testing.T) {
	t.Parallel()
	const values = 8
	copied := func(dir string) string {
		to := filepath.Join(t.TempDir(), "store")
		require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
		return to
	}
	stopped := filepath.Join(t.TempDir(), "store")
	s := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: stopped}))
	for i := range values {
		acptest.Must(s.Create(t.Context(), fmt.Sprint("c.", i), bytes.Repeat([]byte{'{'}, 1<<20)))
	}
	killed := copied(stopped)
	s.Close()
	emptied := func(name string) error { return os.Truncate(name, 0) }
	for _, c := range []struct {
		what, dir, file string
		left            int
		lose            func(name string) error
		told            string
	}{
		{"stopped, gone", stopped, "2.blk", 5, os.Remove, "THE STORE WAS DAMAGED: 3 values of KV_questions are in no file. "},
		{"stopped, the last gone", stopped, "3.blk", 6, os.Remove, "THE STORE WAS DAMAGED: 2 values of KV_questions are in no file. "},
		{"stopped, empty", stopped, "2.blk", 5, emptied, "THE STORE WAS DAMAGED: all of "},
		{"killed, empty", killed, "2.blk", 5, emptied, "THE STORE WAS DAMAGED: all of "},
		{"killed, the last empty", killed, "3.blk", 6, emptied, "THE STORE WAS DAMAGED: all of "},
		{"killed, gone", killed, "2.blk", 5, os.Remove, ""},
		{"all gone", stopped, "*.blk", 0, os.Remove, "THE STORE WAS DAMAGED: all of "},
		{"all empty", stopped, "*.blk", 0, emptied, "THE STORE WAS DAMAGED: all of "},
	} {
		dir := copied(c.dir)
		files := acptest.Must(filepath.Glob(filepath.Join(dir, "jetstream", "$G", "streams", "KV_questions", "msgs", c.file)))
		require.NotEmpty(t, files)
		for _, f := range files {
			require.NoError(t, c.lose(f))
		}
		for _, told := range []string{c.told, ""} {
			reported, left := "", 0
			s := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: dir, Report: func(problem string) { reported += problem }}))
			for i := range values {
				if _, err := s.Get(t.Context(), fmt.Sprint("c.", i)); err == nil {
					left++
				}
			}
			acptest.Must(s.Mark(t.Context())) // as a hub does
			s.Close()
			require.Equal(t, c.left, left, c.what)
			require.True(t, strings.HasPrefix(reported, told) && (reported == "") == (told == ""), "%s: %q", c.what, reported)
		}
	}
}

// A process that dies finds its answer. Until the hub notices its death, that goes to its
// connection, and to nobody. The one that asks again has it: it is asked of nobody anew, and
// counts as used when it is.
func TestAProcessThatDiesFindsItsAnswer(t *testing.T) {
	t.Parallel()
	for what, noticed := range map[string]bool{"noticed": true, "not noticed": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			findsItsAnswer(t, noticed)
		})
	}
}

func findsItsAnswer(t *testing.T, noticed bool) {
	const token = "the-owner's-token-of-the-tests"
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()}))
	t.Cleanup(store.Close)
	board := acptest.Must(hub.Open(t.Context(), store, hub.Options{}))
	t.Cleanup(board.Close)
	server := web.New(board, acptest.Must(web.OpenAccess(filepath.Join(t.TempDir(), "access"), token)), web.Options{})
	t.Cleanup(server.Close)
	var died atomic.Bool
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if noticed || died.Load() || !strings.HasSuffix(r.URL.Path, "/ask") {
			server.ServeHTTP(w, r)
			return
		}
		body := acptest.Must(io.ReadAll(r.Body))
		r = r.WithContext(context.WithoutCancel(r.Context()))
		r.Body, r.URL.RawQuery = io.NopCloser(bytes.NewReader(body)), strings.Replace(r.URL.RawQuery, "wait=2s", "wait=5m", 1)
		server.ServeHTTP(httptest.NewRecorder(), r)
	}))
	t.Cleanup(at.Close)
	link := func(d *desk.Desk) *hublink.Link {
		l := hublink.Start(d, hublink.Options{
			URL: acptest.Must(url.Parse(at.URL)), Token: func() (string, error) { return token, nil }, Agent: "tester", Wait: 2 * time.Second,
		})
		t.Cleanup(l.Close)
		return l
	}
	call := convert.Call{Session: "0199a1b2-0000-7000-8000-00000000abcd", ID: "toolu_01AbCdEf", Questions: []convert.Question{
		{Text: "Which database?", Options: []convert.Option{{Label: "PostgreSQL"}, {Label: "SQLite"}}}}}
	asks := func(d *desk.Desk, again bool) *desk.Ticket {
		ticket := d.Post(t.Context(), desk.Item{Kind: desk.Question, Again: again, Call: call})
		t.Cleanup(ticket.Leave)
		require.NoError(t, ticket.Turn())
		return ticket
	}
	receipt := func(of string) {
		require.Eventually(t, func() bool {
			r, err := board.FindRef(hub.Ref{Conversation: call.Session})
			return err == nil && !r.Open() && r.End.Receipt() == of
		}, acptest.Patience, time.Millisecond)
	}

	one, two := new(desk.Desk), new(desk.Desk)
	l := link(one)
	asks(one, false)
	require.Eventually(t, func() bool { return open(board) == 1 }, acptest.Patience, time.Millisecond)
	l.Close()
	died.Store(true)
	_, err := board.Answer(t.Context(), hub.Ref{Conversation: call.Session}, func(*hub.Record) ([]convert.Answer, error) {
		return []convert.Answer{{Selected: []string{"SQLite"}}}, nil
	}, "phone")
	require.NoError(t, err)
	if !noticed {
		receipt("delivered")
	}

	next := link(two)
	ticket := asks(two, true)
	<-ticket.Context().Done()
	o, _ := ticket.Settle(convert.Outcome{}, "")
	require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}}, o.Answers)
	receipt("delivered")
	two.Receipt(ticket.Item().Name, nil)
	receipt("consumed")
	require.Nil(t, next.Meanwhile(t.Context(), call))
	require.Zero(t, open(board))
	require.Len(t, board.Settled("", 10), 1)
}

// open counts what waits.
func open(b *hub.Board) int {
	list, _ := b.Waiting(10)
	return len(list)
}
