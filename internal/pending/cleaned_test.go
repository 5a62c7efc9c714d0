package pending_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

// clean is what git clean -fdx does with the files of a store.
func clean(t *testing.T, a *pending.Asking) {
	t.Helper()
	require.NoError(t, os.RemoveAll(filepath.Dir(a.File().Path)))
}

var goOn = convert.Answer{Selected: []string{"Yes"}}

// What was answered elsewhere is handed over from memory, whatever became of the file
// and of its record.
func TestAnAnswerOutlivesItsFile(t *testing.T) {
	for name, gone := range map[string]func(t *testing.T, s *pending.Store, a *pending.Asking){
		"the folder":  func(t *testing.T, _ *pending.Store, a *pending.Asking) { clean(t, a) },
		"the file":    func(t *testing.T, _ *pending.Store, a *pending.Asking) { require.NoError(t, os.Remove(a.File().Path)) },
		"the records": func(t *testing.T, s *pending.Store, _ *pending.Asking) { require.NoError(t, os.RemoveAll(s.State)) },
		"both": func(t *testing.T, s *pending.Store, a *pending.Asking) {
			clean(t, a)
			require.NoError(t, os.RemoveAll(s.State))
		},
	} {
		for _, when := range []string{"before", "after"} {
			t.Run(name+" "+when, func(t *testing.T) {
				s := newStore(t)
				s.Report = func(error) {} // that a file has no record
				a := newChain(t, s, pending.Options{}).Begin(t.Context(), other)
				if when == "before" {
					gone(t, s, a)
				}
				a.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{goOn}}, "a form")
				if when == "after" {
					gone(t, s, a)
				}
				require.Equal(t, []convert.Answer{goOn}, acptest.Must(a.Wait()).Answers)
				used := 0
				use := func() error { used++; return nil }
				require.NoError(t, a.Deliver(use))
				require.Error(t, a.Deliver(use), "once")
				require.Equal(t, 1, used)
			})
		}
	}
}

// A question that is nowhere but in a file is written again, under another name if
// its own was taken meanwhile, and can be answered and dismissed there.
func TestACleanedFileIsWrittenAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		taken bool
		do    func(t *testing.T, s *pending.Store, f *pending.File)
		want  convert.Status
	}{
		"answered": {false, func(t *testing.T, s *pending.Store, f *pending.File) {
			require.NoError(t, s.Answer(f, []convert.Answer{goOn}, "Bob"))
		}, convert.Answered},
		"answered, another name": {true, func(t *testing.T, s *pending.Store, f *pending.File) {
			require.NoError(t, s.Answer(f, []convert.Answer{goOn}, "Bob"))
		}, convert.Answered},
		"dismissed": {false, func(t *testing.T, s *pending.Store, f *pending.File) { require.NoError(t, s.Remove(f)) }, convert.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			said := make(chan string, 9)
			a := newChain(t, s, pending.Options{Say: func(text string) { said <- text }}).Begin(t.Context(), other)
			got := waitFor(a)
			require.Contains(t, <-said, "waits in ")
			before := a.File()
			clean(t, a)
			if tc.taken {
				acptest.Must(post(s, service))
			}
			require.Contains(t, <-said, before.Path+" was removed: the question waits in ")
			now := acptest.Must(s.Open(before.ID))
			require.Equal(t, tc.taken, now.Path != before.Path)
			require.Equal(t, now.Path, a.File().Path)
			require.Equal(t, before.Questions, now.Questions)
			tc.do(t, s, now)
			require.Equal(t, tc.want, (<-got).o.Status)
			if tc.want == convert.Answered {
				require.NoError(t, a.Deliver(func() error { return nil }))
				require.ErrorIs(t, acptest.Err(s.Open(before.ID)), pending.ErrNotFound)
			}
		})
	}
}

// Where it cannot be written again, nobody is told that the person dismissed it.
func TestACleanedFileThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	got := waitFor(newChain(t, s, pending.Options{}).Begin(t.Context(), other))
	require.NoError(t, os.RemoveAll(s.Dir))
	w := <-got
	require.ErrorIs(t, w.err, convert.ErrFailed)
	require.Contains(t, w.o.Reason, "the file with the question was removed, and cannot be written again")
}

// At the hub and at the terminal the question stays open when its file is gone.
func TestACleanedFileEndsNothingElsewhere(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"hub", "terminal"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			asked, answered := make(chan struct{}, 9), make(chan struct{})
			answer := sync.OnceFunc(func() { close(answered) })
			mux := http.NewServeMux()
			mux.HandleFunc("POST /conversations/{id}/ask", func(w http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				select {
				case <-answered:
					_, _ = w.Write(hublink.EncodeOutcome(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{goOn}}, "q1", "phone"))
				case <-r.Context().Done():
				}
			})
			o := pending.Options{Hub: hubOf(t, mux.ServeHTTP)}
			t.Cleanup(answer)
			s, ann := newStore(t), newPerson()
			problems := make(chan error, 99)
			s.Report = func(err error) { problems <- err }
			if where == "terminal" {
				o.Terminal = ann
			}
			said := make(chan string, 9)
			clock := newChain(t, s, pending.Options{Say: func(text string) { said <- text }, Sessions: func(convert.Call) []string { return nil }})
			a := newChain(t, s, o).Begin(t.Context(), other)
			got := waitFor(a)
			<-asked
			if where == "terminal" {
				<-ann.asked
			}
			// Another that is in its file alone says when the time is over after which
			// a file is missing for good.
			ticking := clock.Begin(t.Context(), service)
			ticks := waitFor(ticking)
			<-said
			clean(t, a)
			for text := ""; !strings.Contains(text, " was removed"); text = <-said {
			}
			require.Empty(t, got)
			if where == "hub" {
				answer()
			} else {
				ann.says <- goOn
			}
			w := <-got
			require.NoError(t, w.err)
			require.Equal(t, []convert.Answer{goOn}, w.o.Answers)
			require.NoError(t, a.Deliver(func() error { return nil }))
			require.NoError(t, s.Remove(acptest.Must(s.Open(ticking.File().ID))))
			<-ticks
			require.Empty(t, problems)
		})
	}
}
