// Package watchtest has a hub in the test's own process, and what people do there.
package watchtest

import (
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// Patience is how long a test waits for something that must happen.
const Patience = 6 * time.Minute

// Site is a hub, with a credential for an agent's side.
type Site struct {
	t      testing.TB
	URL    string
	Token  string
	Owner  string
	Board  *hub.Board
	Access *web.Access
	Cut    func()          // ends all connections
	seen   map[string]bool // keys that Next returned
}

// New starts a hub that lives as long as the test. The credential can do that.
func New(t testing.TB, can web.Can) *Site {
	t.Helper()
	store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	board, err := hub.Open(t.Context(), store, hub.Options{})
	require.NoError(t, err)
	t.Cleanup(board.Close)
	s := &Site{t: t, Owner: "the-owner's-token", Board: board, seen: map[string]bool{}}
	s.Access, err = web.OpenAccess(filepath.Join(t.TempDir(), "access.json"), s.Owner)
	require.NoError(t, err)
	s.Token, err = s.Access.Add("terminals", can)
	require.NoError(t, err)
	server := web.New(board, s.Access, web.Options{})
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	t.Cleanup(server.Close)
	s.URL, s.Cut = h.URL, h.CloseClientConnections
	return s
}

// Options are those of a link to the hub.
func (s *Site) Options() hublink.Options {
	s.t.Helper()
	u, err := url.Parse(s.URL)
	require.NoError(s.t, err)
	return hublink.Options{URL: u, Token: func() (string, error) { return s.Token, nil }, Wait: 5 * time.Second}
}

// Await waits for a record.
func (s *Site) Await(what string, ok func(*hub.Record) bool) *hub.Record {
	s.t.Helper()
	return s.read(s.Board.Read(0), what, ok)
}

func (s *Site) read(reader *hub.Reader, what string, ok func(*hub.Record) bool) *hub.Record {
	s.t.Helper()
	late := time.After(Patience)
	for {
		changes, more := reader.Next()
		for _, r := range changes {
			if ok(r) {
				return r
			}
		}
		select {
		case <-more:
		case <-late:
			require.Fail(s.t, "it did not come to this", what)
		}
	}
}

// Next waits for something that is open and was not returned before.
func (s *Site) Next() *hub.Record {
	s.t.Helper()
	r := s.Await("a question is open", func(r *hub.Record) bool { return r.Open() && !s.seen[r.Key()] })
	s.seen[r.Key()] = true
	return r
}

// Becomes waits until a record is so.
func (s *Site) Becomes(r *hub.Record, what string, ok func(*hub.Record) bool) *hub.Record {
	s.t.Helper()
	same := func(o *hub.Record) bool { return o.Key() == r.Key() && ok(o) }
	reader := s.Board.Read(0)
	reader.Next()
	if now, err := s.Board.FindRef(r.Ref()); err == nil && same(now) {
		return now
	}
	return s.read(reader, "the question is "+what, same)
}

// Settled waits until a record has its end.
func (s *Site) Settled(r *hub.Record) *hub.Record {
	s.t.Helper()
	return s.Becomes(r, "settled", func(o *hub.Record) bool { return !o.Open() })
}

// Receipt waits until it is known what became of an answer.
func (s *Site) Receipt(r *hub.Record, receipt string) *hub.Record {
	s.t.Helper()
	return s.Becomes(r, receipt, func(o *hub.Record) bool { return !o.Open() && o.End.Receipt() == receipt })
}

// Answer answers as somebody with a phone.
func (s *Site) Answer(r *hub.Record, answers ...convert.Answer) {
	s.t.Helper()
	_, err := s.Board.Answer(s.t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) { return answers, nil }, "phone")
	require.NoError(s.t, err)
}

// Dismiss dismisses as somebody with a phone.
func (s *Site) Dismiss(r *hub.Record) {
	s.t.Helper()
	_, err := s.Board.Cancel(s.t.Context(), r.Ref(), "phone")
	require.NoError(s.t, err)
}

// Decide answers a permission by a label, and dismisses it without one.
func (s *Site) Decide(r *hub.Record, label, note string) {
	s.t.Helper()
	if label == "" {
		s.Dismiss(r)
		return
	}
	s.Answer(r, Noted(label, note))
}

// Picks is an answer of labels.
func Picks(labels ...string) convert.Answer { return convert.Answer{Selected: labels} }

// Noted is a pick with words beside it.
func Noted(label, note string) convert.Answer {
	return convert.Answer{Selected: []string{label}, Note: note}
}
