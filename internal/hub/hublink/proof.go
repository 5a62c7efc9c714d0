package hublink

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// A token that nobody named, which is read from a hub's folder, goes only to a hub
// that has proven that it has it already. The address alone says nothing: when a
// hub is gone, anybody may listen on its port.
//
// Each connection begins with the proof: the client sends a nonce, and the hub
// returns a MAC, with the token as the key, of the nonce and of the address at
// which it was called. Who listens elsewhere and passes the nonce on to the hub
// gets a MAC of the hub's address and not of its own. Requests follow on the same
// connection, so there is nobody else they could reach.

// ErrNotProven means that the one who listens has not proven that it is the hub.
var ErrNotProven = fmt.Errorf("no proof that this is the hub with the token in its folder. If it is, start it anew, or name the token: --hub-token-file or %s", tokenVariable)

const (
	tokenVariable = "ACP_BRIDGE_HUB_TOKEN"
	proofPath     = "/proof"
	proofTime     = 5 * time.Second
	maxProof      = 4 << 10
)

// Named reports whether a token was named, in a file or in the environment. One
// that was not is that of a hub's folder.
func Named(file string) bool { return file != "" || strings.TrimSpace(os.Getenv(tokenVariable)) != "" }

func proof(token, nonce string, at net.Addr) string {
	mac := hmac.New(sha256.New, []byte(token))
	_, _ = fmt.Fprintf(mac, "acp-bridge hub\n%s\n%s", nonce, at)
	return hex.EncodeToString(mac.Sum(nil))
}

// Prover is next, for a hub that can prove that it has its owner's token.
func Prover(token func() (string, error), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != proofPath {
			next.ServeHTTP(w, r)
			return
		}
		nonce := r.URL.Query().Get("nonce")
		at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		own, err := token()
		switch {
		case r.Method != http.MethodGet, len(nonce) < 16, len(nonce) > 64, at == nil:
			http.Error(w, "expected GET with a nonce", http.StatusBadRequest)
		case err != nil || own == "": // anybody has an empty key
			http.Error(w, "there is no token", http.StatusServiceUnavailable)
		default:
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("Cache-Control", "no-store")
			_, _ = io.WriteString(w, proof(own, nonce, at))
		}
	})
}

// Prove has a transport use no connection on which the hub has not proven that it
// has the token.
func Prove(t *http.Transport, token func() (string, error)) {
	dial := t.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTime}).DialContext
	}
	t.Proxy = nil
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return proven(c, err, address, token)
	}
	config := t.TLSClientConfig.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		config := config.Clone()
		config.NextProtos = []string{"http/1.1"}
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(address)
		}
		secure := tls.Client(c, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = c.Close()
			return nil, err
		}
		return proven(secure, nil, address, token)
	}
}

// proven is a connection behind the proof.
func proven(c net.Conn, err error, host string, token func() (string, error)) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	if err := askProof(c, host, token); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func askProof(c net.Conn, host string, token func() (string, error)) error {
	own, err := token()
	if err != nil {
		return err
	}
	nonce := rand.Text()
	_ = c.SetDeadline(time.Now().Add(proofTime))
	if _, err := fmt.Fprintf(c, "GET %s?nonce=%s HTTP/1.1\r\nHost: %s\r\n\r\n", proofPath, nonce, host); err != nil {
		return err
	}
	r := bufio.NewReader(io.LimitReader(c, maxProof))
	reply, err := http.ReadResponse(r, nil)
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrNotProven, err)
	}
	defer reply.Body.Close()
	said, err := io.ReadAll(reply.Body)
	if err != nil || own == "" || reply.Close || r.Buffered() > 0 || !hmac.Equal(said, []byte(proof(own, nonce, c.RemoteAddr()))) {
		return ErrNotProven
	}
	return c.SetDeadline(time.Time{})
}
