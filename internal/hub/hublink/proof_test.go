package hublink_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

const ownToken = "the-token-in-the-folder"

func tokenIs(token string) func() (string, error) {
	return func() (string, error) { return token, nil }
}

// recorder is a listener that keeps what it is told.
type recorder struct {
	mu   sync.Mutex
	said strings.Builder
}

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.Write(b)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.String()
}

// listen serves each connection with answer until the test ends.
func listen(t *testing.T, r *recorder, answer func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				answer(recorded{c, io.TeeReader(c, r)})
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

type recorded struct {
	net.Conn
	r io.Reader
}

func (c recorded) Read(b []byte) (int, error) { return c.r.Read(b) }

func says(text string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, text)
		_, _ = io.Copy(io.Discard, c)
	}
}

// The token goes to the hub that has it, and to nobody else who listens.
func TestTokenGoesToItsHubOnly(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	hub := httptest.NewServer(hublink.Prover(tokenIs(ownToken), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Authorization")
	})))
	defer hub.Close()
	secure := httptest.NewTLSServer(hub.Config.Handler)
	defer secure.Close()
	call := func(address string, token string) error {
		transport := secure.Client().Transport.(*http.Transport).Clone()
		hublink.Prove(transport, tokenIs(token))
		defer transport.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/conversations", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		reply, err := transport.RoundTrip(req)
		if err == nil {
			reply.Body.Close()
		}
		return err
	}
	for range 2 {
		require.NoError(t, call(hub.URL, ownToken))
		require.Equal(t, "Bearer "+ownToken, <-got)
		require.NoError(t, call(secure.URL, ownToken))
		require.Equal(t, "Bearer "+ownToken, <-got)
	}
	require.ErrorIs(t, call(hub.URL, "another-token"), hublink.ErrNotProven)
	require.ErrorIs(t, call(hub.URL, ""), hublink.ErrNotProven)

	for name, answer := range map[string]func(net.Conn){
		"says yes to all":       says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
		"says yes to all twice": says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
		"is a hub of old":       says("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
		"floods":                says("HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 1<<20)),
		"hangs up":              says(""),
		"says something":        says("SSH-2.0-OpenSSH_9.2\r\n"),
		"passes all on to the hub": func(c net.Conn) {
			to, err := net.Dial("tcp", hub.Listener.Addr().String())
			if err != nil {
				return
			}
			defer to.Close()
			go func() { _, _ = io.Copy(to, c); to.Close() }()
			_, _ = io.Copy(c, to)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var r recorder
			if name == "hangs up" {
				answer = func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) }
			}
			require.ErrorIs(t, call("http://"+listen(t, &r, answer), ownToken), hublink.ErrNotProven)
			require.Contains(t, r.String(), "nonce=")
			require.NotContains(t, r.String(), ownToken)
		})
	}
}

// A hub without a token proves nothing: everybody has that.
func TestNoProofWithoutAToken(t *testing.T) {
	hub := httptest.NewServer(hublink.Prover(tokenIs(""), http.NotFoundHandler()))
	defer hub.Close()
	for path, status := range map[string]int{"/proof?nonce=0123456789abcdef0": 503, "/proof": 400, "/proof?nonce=short": 400, "/else": 404} {
		reply, err := http.Get(hub.URL + path)
		require.NoError(t, err)
		reply.Body.Close()
		require.Equal(t, status, reply.StatusCode, path)
	}
}
