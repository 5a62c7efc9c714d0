package pending_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

// What stands in the file was first, also if nobody has looked at it yet: whoever comes
// with another outcome gets that one, and so does whoever waits.
func TestWhatIsInTheFileWasFirst(t *testing.T) {
	s := newStore(t)
	ch := newChain(t, s, pending.Options{})
	s.Interval = time.Hour
	a := ch.Begin(t.Context(), other)
	require.NoError(t, s.Answer(a.File(), []convert.Answer{{Selected: []string{"No"}}}, "Bob"))
	stands := a.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"Yes"}}}}, "the editor")
	require.Equal(t, []string{"No"}, stands.Answers[0].Selected)
	require.Equal(t, stands, acptest.Must(a.Wait()))
}

// An agent that cannot wait is told where a person can answer: in each place where one
// can, and in no other.
func TestWhereAPersonCanAnswer(t *testing.T) {
	for name, hub := range map[string]*hublink.Options{"file": nil, "hub": hubAt(t, http.StatusInternalServerError)} {
		t.Run(name, func(t *testing.T) {
			a := newChain(t, newStore(t), pending.Options{Hub: hub}).Begin(t.Context(), other)
			if hub != nil {
				require.Contains(t, a.Where(), "waits at "+hub.URL.String()+"/")
			} else {
				require.NotContains(t, a.Where(), "http")
			}
			if f := a.File(); f != nil {
				require.Contains(t, a.Where(), "acp-bridge questions answer "+f.ID)
				require.Contains(t, a.Where(), f.Path)
			} else {
				require.NotContains(t, a.Where(), "questions answer")
			}
		})
	}
}

// An answer of the hub's is used when it has reached whoever asked, not when that
// failed.
func TestUsedIsToldWhenItIsUsed(t *testing.T) {
	t.Parallel()
	broken := errors.New("the pipe is broken")
	for name, test := range map[string]struct {
		permission bool
		broken     error
	}{"used": {}, "not used": {broken: broken}, "a permission": {permission: true}, "a permission, not used": {true, broken}} {
		t.Run(name, func(t *testing.T) {
			told := make(chan struct{}, 9)
			mux := http.NewServeMux()
			mux.HandleFunc("POST /conversations/{id}/ask", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write(hublink.EncodeOutcome(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"Yes"}}}}, "q1", "phone"))
			})
			mux.HandleFunc("POST /conversations/{id}/questions/{question}/received", func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), `"consumed":true`) {
					told <- struct{}{}
				}
			})
			s := newStore(t)
			ch := newChain(t, s, pending.Options{Hub: hubOf(t, mux.ServeHTTP)})
			a := adapter.Asking(nil)
			if test.permission {
				a = adapter.Post(t.Context(), ch.Approver(), other)
				require.Empty(t, list(t, s), "no permission in a file: an agent could write it")
			} else {
				a = ch.Post(t.Context(), other)
			}
			require.Equal(t, []string{"Yes"}, acptest.Must(a.Wait()).Answers[0].Selected)
			require.Equal(t, test.broken, a.Deliver(func() error { return test.broken }))
			if test.broken == nil {
				<-told
			}
			ch.Close() // what is to be told is told by then
			require.Empty(t, told)
		})
	}
}

// That one answer was fetched says nothing of another one of the same session, nor does
// the next question.
func TestUsedIsToldOfOneCall(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	told := map[string]int{}
	first := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /conversations/{id}/ask", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(hublink.EncodeOutcome(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "yes"}}}, regexp.MustCompile("Number(One|Two|Three)").FindString(string(body)), "phone"))
	})
	mux.HandleFunc("POST /conversations/{id}/questions/{question}/received", func(_ http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"consumed":true`) {
			mu.Lock()
			defer mu.Unlock()
			if told[r.PathValue("question")]++; len(told) == 1 {
				close(first)
			}
		}
	})
	ch := newChain(t, newStore(t), pending.Options{Hub: hubOf(t, mux.ServeHTTP)})
	begin := func(text string) *pending.Asking {
		a := ch.Begin(t.Context(), convert.Call{Session: "a-session-of-one-connection", Questions: []convert.Question{{Text: text}}})
		acptest.Must(a.Wait())
		return a
	}
	one, two := begin("NumberOne"), begin("NumberTwo")
	require.NoError(t, two.Deliver(func() error { return nil }))
	<-first
	begin("NumberThree")
	ch.Close() // what is to be told is told by then
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, map[string]int{"NumberTwo": 1}, told, "not %s, which nobody has fetched", one.File().ID)
}

// What lies beside the records of questions is none.
func TestWhatIsNoRecord(t *testing.T) {
	s := newStore(t)
	f := acptest.Must(post(s, other))
	folders := acptest.Must(filepath.Glob(filepath.Join(s.State, "questions", "*")))
	for _, name := range []string{f.ID, "abcdefghijkl", "abcdefghijkl.json~", "notes.json", ".json"} {
		require.NoError(t, os.WriteFile(filepath.Join(folders[0], name), []byte(`{"asked":1}`), 0o600))
	}
	require.NoError(t, s.Answer(f, []convert.Answer{{Selected: []string{"Yes"}}}, "Bob"))
	require.Equal(t, f.ID, acptest.Must(find(s, other)).ID)
	require.Len(t, list(t, s), 1)
}
