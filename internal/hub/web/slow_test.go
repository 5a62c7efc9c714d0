package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

// stuck is a reader that takes nothing until it is let go, or nothing as long as that.
type stuck struct {
	long int
	*httptest.ResponseRecorder
	once    sync.Once
	reached func()
	free    chan struct{}
}

func (w *stuck) Write(p []byte) (int, error) {
	if len(p) >= w.long {
		w.once.Do(w.reached)
		<-w.free
	}
	return w.ResponseRecorder.Write(p)
}

func (w *stuck) SetWriteDeadline(time.Time) error { return nil }

// A reader that takes nothing costs room for a part of what it gets, however much
// that is: not for all of it, once a reader.
func TestSlowReaders(t *testing.T) {
	s := serveInside(t)
	const readers = 3
	questions, size := 20, 20_000
	if leaktest.Race { // which has room of its own for every byte: then only the readers count
		questions, size = 5, 4000
	}
	for i := range questions {
		call := convert.Call{ID: fmt.Sprint("q", i), Questions: []convert.Question{{Text: strings.Repeat("Which one of these? ", size/20), Options: []convert.Option{{Label: "A"}, {Label: "B"}}}}}
		for _, talk := range []string{"open", fmt.Sprint("c", i), "settled"} {
			r := acptest.Must(s.board.Ask(t.Context(), hub.Asking{Conversation: talk, Device: Owner, Call: call}))
			if talk == "settled" {
				acptest.Must(s.board.Cancel(t.Context(), r.Ref(), Owner))
			}
		}
	}
	for _, to := range []struct{ path, accept string }{
		{"/", "text/html"}, {"/cards", "text/html"}, {"/conversations/open", "text/html"}, {"/conversations/settled", "text/html"},
		{"/history", ""}, {"/history", ndjson}, {"/questions", ""}, {"/conversations", ""},
	} {
		t.Run(to.path+" "+to.accept, func(t *testing.T) {
			free := make(chan struct{})
			var here, done sync.WaitGroup
			bodies := make([]*httptest.ResponseRecorder, readers)
			before := heap()
			for i := range readers {
				bodies[i] = httptest.NewRecorder()
				here.Add(1)
				w := &stuck{ResponseRecorder: bodies[i], reached: here.Done, free: free}
				r := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost"+to.path, nil)
				r.Header.Set("Authorization", "Bearer the-token-of-the-owner")
				r.Header.Set("Accept", to.accept)
				done.Go(func() { s.ServeHTTP(w, r) })
			}
			here.Wait()
			each := (heap() - before) / readers
			close(free)
			done.Wait()
			for _, b := range bodies {
				require.Equal(t, http.StatusOK, b.Code)
				require.Greater(t, b.Body.Len(), questions*size)
			}
			if !leaktest.Race {
				require.Less(t, each, int64(12*size), "of %d that it gets", bodies[0].Body.Len())
			}
		})
	}
}

// What is on its way to a device is bounded, however many streams it has: one that has no room
// for an event ends before it, and gets it when there is room. So does whoever asks: no answer
// is handed out before.
func TestBytesOnTheirWay(t *testing.T) {
	s := serveInside(t)
	const size, streams = 100_000, 20
	call := convert.Call{ID: "q", Questions: []convert.Question{{Text: strings.Repeat("x", size), Options: []convert.Option{{Label: "A"}, {Label: "B"}}}}}
	acptest.Must(s.board.Ask(t.Context(), hub.Asking{Conversation: "c", Device: Owner, Dialect: hublink.Dialect, Call: call}))
	asking := fmt.Sprintf(`{"id":"q","name":"AskUserQuestion","input":{"questions":[{"question":%q,"options":[{"label":"A"},{"label":"B"}]}]}}`, call.Questions[0].Text)
	says := func(*hub.Record) ([]convert.Answer, error) {
		return []convert.Answer{{Text: strings.Repeat("y", size)}}, nil
	}
	for _, by := range []string{"", "p"} {
		asked := hub.Asking{Conversation: "asked" + by, Device: Owner, Asker: by, Dialect: hublink.Dialect, Call: call}
		acptest.Must(s.board.Answer(t.Context(), acptest.Must(s.board.Ask(t.Context(), asked)).Ref(), says, Owner))
	}
	left := string(clean.JSON(hublink.Asking{Asker: "next", Call: call}))
	s.mostBytes = 3 * size * 7 / 6
	do := func(ctx context.Context, w http.ResponseWriter, method, path, body string) {
		r := httptest.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer the-token-of-the-owner")
		r.Header.Set("Content-Type", jsonKind)
		s.ServeHTTP(w, r)
	}
	get := func(ctx context.Context, path string, w http.ResponseWriter) { do(ctx, w, "GET", path, "") }
	longs := func(codes ...int) {
		for i, to := range [][3]string{
			{"GET", "/conversations/c/questions/q"}, {"POST", "/conversations/askedp/left", left},
			{"POST", "/conversations/c/ask?wait=5m", asking}, {"POST", "/conversations/asked/ask", asking},
		} {
			w := httptest.NewRecorder()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			do(ctx, w, to[0], to[1], to[2])
			require.NoError(t, ctx.Err(), to[1])
			cancel()
			require.Equal(t, codes[i/2], w.Code, to[1])
			require.Equal(t, codes[i/2] == http.StatusOK, w.Body.Len() > size, to[1])
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	got, free := make(chan bool, streams), make(chan struct{})
	var done sync.WaitGroup
	for range streams {
		w := &stuck{ResponseRecorder: httptest.NewRecorder(), long: maxChunk, reached: func() { got <- true }, free: free}
		done.Go(func() {
			if get(ctx, "/events", w); w.Body.Len() < size {
				require.Contains(t, w.Body.String(), "event: closing")
				got <- false
			}
		})
	}
	reached := 0
	for range streams {
		if <-got {
			reached++
		}
	}
	require.Equal(t, 3, reached)
	longs(http.StatusTooManyRequests, http.StatusAccepted)
	hooked := httptest.NewRecorder()
	gone, leave := context.WithCancel(t.Context())
	leave() // or one that is taken waits for a person
	do(gone, hooked, "POST", "/hooks/claude", `{"hook_event_name":"PermissionRequest","session_id":"session-1","tool_name":"AskUserQuestion","tool_input":`+gjson.Get(asking, "input").Raw+`}`)
	require.Equal(t, http.StatusTooManyRequests, hooked.Code)
	close(free)
	cancel()
	done.Wait()
	ctx, cancel = context.WithCancel(t.Context())
	again := &stuck{ResponseRecorder: httptest.NewRecorder(), long: maxChunk, reached: cancel, free: free}
	get(ctx, "/events", again)
	require.Greater(t, again.Body.Len(), size)
	acptest.Must(s.board.Answer(t.Context(), hub.Ref{Conversation: "c", ID: "q", Revision: 2}, says, Owner))
	longs(http.StatusOK, http.StatusOK)
}

// Bodies that come at once are bounded by device, as long as they say, or may be.
func TestBodiesThatCome(t *testing.T) {
	s := serveInside(t)
	s.mostBytes = maxBody
	post := func(body io.Reader) int {
		r, w := httptest.NewRequest("POST", "http://localhost/conversations/c/ask", body), httptest.NewRecorder()
		r.Header.Set("Authorization", "Bearer the-token-of-the-owner")
		r.Header.Set("Content-Type", jsonKind)
		s.ServeHTTP(w, r)
		return w.Code
	}
	slow, more := io.Pipe()
	code := make(chan int)
	go func() { code <- post(slow) }()
	acptest.Must(more.Write([]byte("{")))
	require.Equal(t, http.StatusTooManyRequests, post(strings.NewReader(strings.Repeat(" ", 2*maxChunk))))
	more.Close()
	require.Equal(t, http.StatusBadRequest, <-code)
}

// One device's turns push out no other's, and whoever reads on has each once.
func TestTurnsOfADevice(t *testing.T) {
	var list turns
	for i := range 2 * maxTurns {
		list.add(turn{device: []string{"bot", "other"}[min(i, 1)], Text: fmt.Sprint(i)})
	}
	kept, count, _ := list.after(0)
	require.Len(t, kept, 1+maxTurns)
	require.Equal(t, "bot", kept[0].device)
	list.add(turn{device: "bot", Text: "again"})
	since, _, _ := list.after(count - 1)
	require.Equal(t, []string{fmt.Sprint(2*maxTurns - 1), "again"}, []string{since[0].Text, since[1].Text})
}

// heap is what is in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
