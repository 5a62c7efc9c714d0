package hublink_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

const ownToken = "the-token-in-the-folder"

func tokenIs(token string) func() (string, error) {
	return func() (string, error) { return token, nil }
}

// listen serves each connection with answer until the test ends.
func listen(t *testing.T, r *acptest.Written, answer func(net.Conn)) string {
	l := acptest.Must(net.Listen("tcp", "127.0.0.1:0"))
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

// The token goes to the hub that knows it, and to nobody else who listens. A hub that does not know
// it refuses the request, as one that was sent it would.
func TestTokenGoesToItsHubOnly(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	hub := httptest.NewServer(watchtest.Proves(ownToken, func(w http.ResponseWriter, r *http.Request) { got <- r.Header.Get("Authorization") }))
	defer hub.Close()
	call := func(address string, token string) (int, error) {
		client := hublink.Client([]*url.URL{acptest.Must(url.Parse(address))}, tokenIs(token), time.Minute)
		defer client.CloseIdleConnections()
		req := acptest.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/conversations", nil))
		req.Header.Set("Authorization", "Bearer "+token)
		reply, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		reply.Body.Close()
		return reply.StatusCode, nil
	}
	for range 2 {
		require.Equal(t, http.StatusOK, acptest.Must(call(hub.URL, ownToken)))
		require.Equal(t, "Bearer "+ownToken, <-got)
	}
	for _, other := range []string{"another-token", ""} {
		require.Equal(t, http.StatusUnauthorized, acptest.Must(call(hub.URL, other)))
	}

	older := func(c net.Conn) { // its proof is keyed with the token itself
		in := bufio.NewReader(c)
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		mac := hmac.New(sha256.New, []byte(ownToken))
		_, _ = fmt.Fprintf(mac, "acp-bridge hub\n%s\n%s", req.URL.Query().Get("nonce"), c.LocalAddr())
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n%x", mac.Sum(nil))
		_, _ = http.ReadRequest(in)
	}
	for name, answer := range map[string]func(net.Conn){
		"says yes to all":       says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
		"says yes to all twice": says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
		"needs a token first":   says("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"),
		"is a hub of old":       older,
		"floods":                says("HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 1<<20)),
		"hangs up":              func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) },
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
			var r acptest.Written
			require.ErrorIs(t, acptest.Err(call("http://"+listen(t, &r, answer), ownToken)), hublink.ErrNotProven)
			require.Contains(t, r.String(), "nonce=")
			require.NotContains(t, r.String(), ownToken)
		})
	}
}

// By https the certificate is the proof.
func TestACertificateIsTheProof(t *testing.T) {
	called := make(chan string, 9)
	hub := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { called <- r.URL.Path }))
	defer hub.Close()
	hub.Config.ErrorLog = log.New(io.Discard, "", 0)
	client := hublink.Client([]*url.URL{acptest.Must(url.Parse(hub.URL))}, tokenIs(ownToken), time.Minute)
	defer client.CloseIdleConnections()
	require.ErrorAs(t, acptest.Err(client.Get(hub.URL+"/conversations")), new(*tls.CertificateVerificationError), "nobody has signed it")
	require.Empty(t, called)
	hublink.Trust(client, hub.Certificate())
	acptest.Must(client.Get(hub.URL + "/conversations")).Body.Close()
	require.Equal(t, "/conversations", <-called)
}

// Without the key of a token there is nothing to try guesses on.
func TestNoProofForWhoeverAsks(t *testing.T) {
	hub := httptest.NewServer(watchtest.Proves(ownToken, http.NotFound))
	defer hub.Close()
	for _, query := range []string{"", "?nonce=0123456789abcdef0", "?nonce=0123456789abcdef0&key=", "?nonce=0123456789abcdef0&key=" + strings.Repeat("0", 64)} {
		reply := acptest.Must(http.Get(hub.URL + hublink.ProofPath + query))
		reply.Body.Close()
		require.Equal(t, http.StatusNotFound, reply.StatusCode, query)
	}
	_, ok := hublink.Proof(httptest.NewRequest(http.MethodGet, "/proof?nonce=0123456789abcdef0&key=", nil), [][]byte{nil, {}})
	require.False(t, ok, "everybody has no token")
}
