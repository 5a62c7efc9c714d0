package hands_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// patience is how long a test waits for something that must happen.
const patience = 5 * time.Minute

const token = "the-owner's-token-of-the-tests"

// site is a hub under test.
type site struct {
	t      testing.TB
	url    string
	board  *hub.Board
	access *web.Access
	server *web.Server
}

func newSite(t testing.TB, o hub.Options) *site {
	t.Helper()
	store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	if o.Lease == 0 {
		o.Lease = time.Hour // nobody is gone because a test takes long
	}
	board, err := hub.Open(t.Context(), store, o)
	require.NoError(t, err)
	t.Cleanup(board.Close)
	access, err := web.OpenAccess(filepath.Join(t.TempDir(), "access.json"), token)
	require.NoError(t, err)
	return (&site{t: t, board: board, access: access}).with(web.Options{Hosts: []string{"hub.example"}})
}

// expect makes a request as the owner does; headers are pairs. An empty one is not sent.
func (s *site) expect(code int, method, path, body string, headers ...string) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	req.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	reply, err := http.DefaultTransport.RoundTrip(req) // redirects are replies, too
	require.NoError(s.t, err)
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, code, reply.StatusCode, "%s %s: %s", method, path, data)
	return string(data)
}

// briefly does something at the hub, which tries for as long as it is let.
func (s *site) briefly(do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	return do(ctx)
}

// post has an agent ask something.
func (s *site) post(a hub.Asking) (r *hub.Record) {
	s.t.Helper()
	require.NoError(s.t, s.briefly(func(ctx context.Context) (err error) {
		r, err = s.board.Ask(ctx, a)
		return err
	}), "%+v", a)
	return r
}

// cancel ends a question elsewhere.
func (s *site) cancel(r *hub.Record, by string) error {
	return s.briefly(func(ctx context.Context) error {
		_, err := s.board.Cancel(ctx, r.Ref(), by)
		return err
	})
}

// find is a question as it is now.
func (s *site) find(conversation, id string) *hub.Record {
	s.t.Helper()
	r, err := s.board.Find(conversation, id)
	require.NoError(s.t, err)
	return r
}

// with is the site with these options of the page.
func (s *site) with(o web.Options) *site {
	s.server = web.New(s.board, s.access, o)
	h := httptest.NewServer(s.server)
	s.t.Cleanup(h.Close)
	s.t.Cleanup(s.server.Close)
	s.url = h.URL
	return s
}
