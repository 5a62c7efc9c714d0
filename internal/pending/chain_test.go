package pending_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/pending"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// newChain asks in the files of a store, quickly.
func newChain(t *testing.T, s *pending.Store, o pending.Options) *pending.Chain {
	t.Helper()
	s.Interval = time.Millisecond
	o.Store, o.Agent, o.Me = s, "a test", "Ann"
	if o.Sessions == nil {
		o.Sessions = func(convert.Call) []string { return []string{again} }
	}
	ch := pending.New(o)
	t.Cleanup(ch.Close)
	return ch
}

// person sits at a terminal.
type person struct {
	asked chan string
	says  chan convert.Answer
}

func newPerson() person { return person{make(chan string, 9), make(chan convert.Answer)} }

func (p person) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	p.asked <- c.Questions[0].Text
	return adapter.Func(func(ctx context.Context, c convert.Call) ([]convert.Answer, error) {
		select {
		case a := <-p.says:
			return []convert.Answer{a}, nil
		case <-ctx.Done():
			return nil, adapter.Withdrawn(ctx).Err()
		}
	}).Ask(ctx, c)
}

func list(t *testing.T, s *pending.Store) []*pending.File {
	t.Helper()
	return acptest.Must(s.List())
}

// waited is what an asking got, when it has.
type waited struct {
	o   convert.Outcome
	err error
}

func waitFor(a adapter.Asking) <-chan waited {
	got := make(chan waited, 1)
	go func() {
		o, err := a.Wait()
		got <- waited{o, err}
	}()
	return got
}

// Rule 6: whoever waited has looked. The answer is taken by a use that returned
// nil; one that failed leaves it for a successor.
func TestRule6ToLookIsNotToTake(t *testing.T) {
	s := newStore(t)
	ch := newChain(t, s, pending.Options{})
	a := ch.Begin(t.Context(), other)
	got := waitFor(a)
	require.NoError(t, s.Answer(a.File(), []convert.Answer{{Selected: []string{"Yes"}}}, "Bob"))
	require.NoError(t, (<-got).err)
	require.FileExists(t, a.File().Path)
	full := errors.New("disk full")
	require.ErrorIs(t, a.Deliver(func() error { return full }), full)
	require.FileExists(t, a.File().Path)
	ch.Close()

	ch = newChain(t, s, pending.Options{})
	b := ch.Begin(t.Context(), other)
	require.True(t, b.Ready())
	require.Equal(t, []string{"Yes"}, acptest.Must(b.Wait()).Answers[0].Selected)
	require.Equal(t, "Bob", b.By)
	require.NoError(t, b.Deliver(func() error { require.FileExists(t, b.File().Path); return nil }))
	require.Empty(t, list(t, s))
}

// Rule 6: an answer that its person has removed before it was handed over is not
// handed over.
func TestRule6RemovedBeforeItWasTaken(t *testing.T) {
	s := newStore(t)
	a := newChain(t, s, pending.Options{}).Begin(t.Context(), other)
	got := waitFor(a)
	require.NoError(t, s.Answer(a.File(), []convert.Answer{{Selected: []string{"Yes"}}}, "Bob"))
	<-got
	require.NoError(t, s.Remove(acptest.Must(s.Open(""))))
	require.ErrorIs(t, a.Deliver(func() error { panic("used") }), convert.ErrCancelled)
}

// The first answer stands, wherever it comes from, and the others are told.
func TestFirstOfAllStands(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(t *testing.T, s *pending.Store, a *pending.Asking, p person)
		want string
	}{
		"in the file": {func(t *testing.T, s *pending.Store, a *pending.Asking, _ person) {
			require.NoError(t, s.Answer(a.File(), []convert.Answer{{Text: "file"}}, "Bob"))
		}, "file"},
		"at the terminal": {func(_ *testing.T, _ *pending.Store, _ *pending.Asking, p person) {
			p.says <- convert.Answer{Text: "terminal"}
		}, "terminal"},
		"elsewhere": {func(t *testing.T, s *pending.Store, a *pending.Asking, _ person) {
			a.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "form"}}}, "a form")
			require.Equal(t, "a form", acptest.Must(s.Open("")).By, "nobody settles it in the file")
		}, "form"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			acptest.Must(post(s, other)) // which is claimed
			p := newPerson()
			a := newChain(t, s, pending.Options{Terminal: p}).Begin(t.Context(), other)
			got := waitFor(a)
			<-p.asked
			tc.do(t, s, a, p)
			require.Equal(t, tc.want, (<-got).o.Answers[0].Text)
			require.Equal(t, tc.want, a.Settle(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "late"}}}, "Eve").Answers[0].Text)
			require.Equal(t, tc.want == "terminal", a.Here())
			require.NoError(t, a.Deliver(func() error { return nil }))
			require.Empty(t, list(t, s))
		})
	}
}

// One terminal is for one call at a time, in the order in which they were posted,
// also if an earlier one is withdrawn before it had its turn.
func TestTerminalInOrder(t *testing.T) {
	p := newPerson()
	ch := newChain(t, newStore(t), pending.Options{Terminal: p})
	var all []<-chan waited
	ctx, cancel := context.WithCancelCause(t.Context())
	for i, text := range []string{"One?", "Two?", "Three?"} {
		in := t.Context()
		if i == 1 {
			in = ctx
		}
		all = append(all, waitFor(ch.Begin(in, convert.Call{Questions: []convert.Question{{Text: text}}})))
	}
	require.Equal(t, "One?", <-p.asked)
	cancel(convert.ErrWithdrawn)
	require.Error(t, (<-all[1]).err)
	require.Empty(t, p.asked)
	p.says <- convert.Answer{Text: "a"}
	require.NoError(t, (<-all[0]).err)
	require.Equal(t, "Three?", <-p.asked)
	p.says <- convert.Answer{Text: "b"}
	require.NoError(t, (<-all[2]).err)
}

// A call whose context ends stays where a successor can claim it, unless whoever
// asked does not want to know any more or nobody could claim it. What somebody has
// begun to answer stays in any case.
func TestWithdrawnOrLeft(t *testing.T) {
	stop := errors.New("terminated")
	for name, tc := range map[string]struct {
		sessions []string
		cause    error
		begun    bool
		left     int
	}{
		"the process ends, a session":     {[]string{again}, stop, false, 1},
		"the process ends, no session":    {nil, stop, false, 0},
		"withdrawn":                       {[]string{again}, convert.ErrWithdrawn, false, 0},
		"withdrawn, but begun to answer":  {[]string{again}, convert.ErrWithdrawn, true, 1},
		"no session, but begun to answer": {nil, stop, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			ch := newChain(t, s, pending.Options{Sessions: func(convert.Call) []string { return tc.sessions }})
			ctx, cancel := context.WithCancelCause(t.Context())
			a := ch.Begin(ctx, service)
			got := waitFor(a)
			if tc.begun {
				require.NoError(t, s.Answer(a.File(), []convert.Answer{{Selected: []string{"SQLite"}}, {}, {}}, "Bob"))
			}
			cancel(tc.cause)
			require.ErrorIs(t, (<-got).err, convert.ErrFailed, "no person did that")
			require.Len(t, list(t, s), tc.left)
		})
	}
}

// Answers that were given settle the file where the questions wait, unless
// somebody was faster.
func TestGiven(t *testing.T) {
	s := newStore(t)
	f := acptest.Must(post(s, other))
	require.NoError(t, s.Answer(f, []convert.Answer{{Selected: []string{"No"}}}, "Bob"))
	var said []string
	given := pending.Options{GivenBy: "--answers", Say: func(text string) { said = append(said, text) }, Given: func(convert.Call) (convert.Outcome, error) {
		return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"Yes"}}}}, nil
	}}
	ch := newChain(t, s, given)
	o := acptest.Must(ch.Ask(t.Context(), other))
	require.Equal(t, []string{"No"}, o.Answers[0].Selected)
	require.Len(t, said, 1)
	require.Contains(t, said[0], "--answers is not used: "+f.Path+": settled already: answered by Bob at ")
	o = acptest.Must(ch.Ask(t.Context(), other))
	require.Equal(t, []string{"Yes"}, o.Answers[0].Selected)
	require.Empty(t, list(t, s))
}

// Nobody at the terminal is as none: the questions wait in a file.
type nobody struct{}

func (nobody) Ask(context.Context, convert.Call) (convert.Outcome, error) {
	return convert.Outcome{}, pending.ErrNobody
}

func TestNobody(t *testing.T) {
	s := newStore(t)
	ch := newChain(t, s, pending.Options{Terminal: nobody{}, Leave: true})
	a := ch.Begin(t.Context(), other)
	require.ErrorIs(t, acptest.Err(a.Wait()), pending.ErrPending)
	require.FileExists(t, a.File().Path)
	require.ErrorIs(t, acptest.Err(ch.Approver().Ask(t.Context(), other)), pending.ErrNobody)
	require.Len(t, list(t, s), 1, "no permission in a file: an agent could write it")
}

// What is for nobody elsewhere is asked at the terminal, and is in no file and at no
// hub. Who asks is told by whoever describes it.
func TestDescribed(t *testing.T) {
	t.Parallel()
	describing := func(elsewhere bool) context.Context {
		return desk.Describing(t.Context(), func(it *desk.Item) bool {
			it.Agent = "The Agent"
			return elsewhere
		})
	}
	s := newStore(t)
	var told atomic.Int32
	hub := hubOf(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(other.Questions[0].Text)) {
			told.Add(1)
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	ch := newChain(t, s, pending.Options{Leave: true, Hub: hub})
	require.ErrorIs(t, acptest.Err(ch.Begin(describing(false), other).Wait()), pending.ErrNobody)
	require.Empty(t, list(t, s))
	ann := newPerson()
	got := waitFor(newChain(t, s, pending.Options{Terminal: ann, Hub: hub}).Begin(describing(false), other))
	<-ann.asked
	require.Empty(t, list(t, s))
	ann.says <- convert.Answer{Selected: []string{"Yes"}}
	require.Equal(t, convert.Answered, (<-got).o.Status)
	require.Zero(t, told.Load())

	a := ch.Begin(describing(true), other)
	require.ErrorIs(t, acptest.Err(a.Wait()), pending.ErrPending)
	require.Equal(t, "The Agent", a.File().Agent)
	require.NotZero(t, told.Load())
}

// hubOf is a hub that replies so.
func hubOf(t *testing.T, replies http.HandlerFunc) *hublink.Options {
	t.Helper()
	server := httptest.NewServer(watchtest.Proves("token", replies))
	t.Cleanup(server.Close)
	u := acptest.Must(url.Parse(server.URL))
	return &hublink.Options{URL: u, Token: func() (string, error) { return "token", nil }}
}

// A dismissal at the hub is the person's.
func TestDismissedAtTheHub(t *testing.T) {
	t.Parallel()
	hub := hubOf(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(hublink.EncodeOutcome(convert.Outcome{Status: convert.Cancelled}, "q1", "phone"))
	})
	o, err := newChain(t, newStore(t), pending.Options{Hub: hub}).Post(t.Context(), other).Wait()
	require.ErrorIs(t, err, convert.ErrCancelled)
	require.Equal(t, convert.Cancelled, o.Status)
}

// hubAt is a hub that replies with a status, or is not there.
func hubAt(t *testing.T, status int) *hublink.Options {
	t.Helper()
	server := httptest.NewServer(watchtest.Proves("token", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(server.Close)
	if status == 0 {
		server.Close()
	}
	u := acptest.Must(url.Parse(server.URL))
	return &hublink.Options{URL: u, Token: func() (string, error) { return "token", nil }}
}

// A hub that is not there keeps nobody: the questions wait in a file, as without
// one. That it does not take the token is an error, and nothing is left.
func TestHubIsNotThere(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		want   error
		left   int
	}{
		"gone":          {0, pending.ErrPending, 1},
		"broken":        {http.StatusInternalServerError, pending.ErrPending, 1},
		"a wrong token": {http.StatusUnauthorized, hublink.ErrRefused, 0},
		"may not ask":   {http.StatusForbidden, hublink.ErrRefused, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			ch := newChain(t, s, pending.Options{Leave: true, Hub: hubAt(t, tc.status)})
			require.ErrorIs(t, acptest.Err(ch.Begin(t.Context(), other).Wait()), tc.want)
			require.Len(t, list(t, s), tc.left)
		})
	}
	t.Run("who waits anyway waits in the file", func(t *testing.T) {
		s := newStore(t)
		said := make(chan string, 9)
		a := newChain(t, s, pending.Options{Hub: hubAt(t, http.StatusUnauthorized), Say: func(text string) { said <- text }}).Begin(t.Context(), other)
		got := waitFor(a)
		require.Contains(t, <-said, `"Go on?" waits in `+a.File().Path)
		require.NoError(t, s.Answer(a.File(), []convert.Answer{{Selected: []string{"Yes"}}}, "Bob"))
		require.NoError(t, (<-got).err)
	})
}

// Many that ask the same at once, in one process, each get their own answer.
func TestRule5ManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ch := newChain(t, s, pending.Options{})
	var all sync.WaitGroup
	for range 8 {
		a := ch.Begin(t.Context(), other)
		all.Go(func() {
			o, err := a.Wait()
			if err != nil || o.Answers[0].Text != a.File().ID {
				t.Errorf("%s got %v, %v", a.File().ID, o, err)
			}
			if err := a.Deliver(func() error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	for _, f := range list(t, s) {
		require.NoError(t, s.Answer(f, []convert.Answer{{Text: f.ID}}, "Bob"))
	}
	all.Wait()
	require.Empty(t, list(t, s))
}

// A successor asks at the hub where its predecessor did, whatever their sessions are
// called: that is where the answer is.
func TestClaimedAtTheHub(t *testing.T) {
	t.Parallel()
	const first, second = "4f1c0b1e-first", "77aa01bc-second"
	for name, tc := range map[string]struct {
		before, after string
		claimed       bool
	}{
		"another session":            {first, second, true},
		"the same":                   {first, first, true},
		"sessions that are counted":  {"session-1", "session-1", true},
		"no session":                 {"", "", true},
		"what nobody may claim":      {first, second, false},
		"what nobody may claim, too": {"session-1", "session-1", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			run := func(session string) string {
				asked := make(chan string, 100)
				hub := hubOf(t, func(w http.ResponseWriter, r *http.Request) {
					var a hublink.Asking
					if json.NewDecoder(r.Body).Decode(&a) == nil && a.Call.ID != "" {
						asked <- r.URL.Path + " " + a.Call.ID
					}
					w.WriteHeader(http.StatusInternalServerError)
				})
				call := other
				call.Session = session
				ch := newChain(t, s, pending.Options{
					Leave: true, Hub: hub,
					Resumed: func(convert.Call) []string {
						if tc.claimed {
							return []string{again}
						}
						return nil
					},
				})
				defer ch.Close()
				require.ErrorIs(t, acptest.Err(ch.Begin(t.Context(), call).Wait()), pending.ErrPending)
				return <-asked
			}
			require.Equal(t, tc.claimed, run(tc.before) == run(tc.after))
		})
	}
}

// What an earlier run asked and this one did not is not used, and the person is told.
func TestForgetTellsWhatIsNotUsed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.ErrorIs(t, acptest.Err(newChain(t, s, pending.Options{Leave: true}).Ask(t.Context(), other)), pending.ErrPending)
	var said []string
	ch := newChain(t, s, pending.Options{Leave: true, Say: func(text string) { said = append(said, text) }})
	require.NoError(t, ch.Forget(again))
	require.Empty(t, said, "its asker lives")
	first := newChain(t, s, pending.Options{Leave: true})
	require.ErrorIs(t, acptest.Err(first.Ask(t.Context(), convert.Call{Questions: []convert.Question{{Text: "Left behind?"}}})), pending.ErrPending)
	first.Close()
	require.NoError(t, ch.Forget(again))
	require.Equal(t, []string{`an earlier run asked "Left behind?", and this one did not: an answer to that is not used`}, said)
}
