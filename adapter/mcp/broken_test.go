package mcp_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/mcp"
	"github.com/acp-bridge/acp-bridge/convert"
)

// reads tells when something of the reply to a tool call has come.
type reads struct {
	http.RoundTripper
	once sync.Once
	some chan struct{}
}

func (r *reads) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent []byte
	if req.Body != nil {
		sent, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	reply, err := r.RoundTripper.RoundTrip(req)
	if err == nil && bytes.Contains(sent, []byte("tools/call")) {
		reply.Body = &body{reply.Body, r}
	}
	return reply, err
}

type body struct {
	io.ReadCloser
	reads *reads
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.reads.once.Do(func() { close(b.reads.some) })
	}
	return n, err
}

// An answer that was given while the connection of the call was broken is there for
// the client that comes back to its stream.
func TestHTTPBrokenConnection(t *testing.T) {
	t.Parallel()
	a := newAsks()
	r := &reads{some: make(chan struct{})}
	session, server := overHTTP(t, mcp.New(mcp.Options{Resolver: a, Limit: -1}), nil, func(s *httptest.Server) *http.Client {
		r.RoundTripper = s.Client().Transport
		return &http.Client{Transport: r}
	})
	got := calls(t.Context(), session, questions)
	<-a.calls
	<-r.some
	server.CloseClientConnections()
	a.answer <- convert.Answer{Selected: []string{"SQLite"}}
	back := <-got
	require.NoError(t, back.err)
	require.Contains(t, back.text, "SQLite")
}
