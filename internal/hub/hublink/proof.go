package hublink

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A token goes only to a hub that has proven that it knows it, wherever the token comes
// from, and only such a hub's answers count. The address says nothing: when a hub is
// gone, anybody of this machine may listen on its port.
//
// By https the certificate is the proof: it is checked against the hub's name, and its key
// is the hub's alone. Nothing else would hold through the proxies that are in between.
//
// Plain http is for this machine alone, see [ParseURL]. There each connection begins with
// the proof: the client sends a nonce and the key by which a hub finds the token, and the
// hub returns a MAC, keyed with the token's hash, of the nonce and of the address at
// which it was called. Who listens elsewhere and passes all of it on to the hub gets a MAC
// of the hub's address and not of its own; so does whatever maps another port to the hub's.
// Requests follow on the same connection, so there is nobody else they could reach.
//
// Without the key, and so without the token, nobody gets a MAC to try guesses on. Whoever
// listens in the hub's place gets the key: of a token that a hub has made, or of any that
// is as long, it says nothing.

// ErrNotProven means that the one who listens has not proven that it is the hub.
var ErrNotProven = errors.New("it has not proven that it is the hub, so it was told nothing. An older hub has to be upgraded and started again; one behind a proxy or another port is called by https")

// unknownToken is what a hub says that does not have the token.
const unknownToken = "this hub does not know the token; acp-bridge-hub device add NAME makes one"

const (
	proofTime = 5 * time.Second
	maxProof  = 4 << 10
)

// ProofPath is where a hub proves itself.
const ProofPath = "/proof"

func macOf(key []byte, format string, args ...any) string {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, format, args...)
	return hex.EncodeToString(mac.Sum(nil))
}

// keyOf is what a client says of a token to have it found, from its hash.
func keyOf(hash []byte) string { return macOf(hash, "acp-bridge key") }

func proof(key []byte, nonce string, at net.Addr) string {
	return macOf(key, "acp-bridge hub\n%s\n%s", nonce, at)
}

// Proof is what a hub replies at [ProofPath], if the request is about one of the tokens that
// it knows by their hashes.
func Proof(r *http.Request, hashes [][]byte) (reply string, ok bool) {
	nonce, key := r.URL.Query().Get("nonce"), r.URL.Query().Get("key")
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	for _, hash := range hashes {
		if hmac.Equal([]byte(keyOf(hash)), []byte(key)) {
			reply, ok = proof(hash, nonce, at), true
		}
	}
	return reply, ok
}

// Client is one that talks to hubs which have the same questions, and to nobody else. The
// token is that which its requests have. A machine has dial to say that it is there.
func Client(urls []*url.URL, token func() (string, error), dial time.Duration) *http.Client {
	own := func() *http.Transport {
		return &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute,
			DialContext: (&net.Dialer{Timeout: dial}).DialContext,
		}
	}
	t := &proving{plain: own(), secure: own()}
	open := t.plain.DialContext
	t.plain.Proxy = nil
	t.plain.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := open(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := askProof(c, address, token); err != nil {
			_ = c.Close()
			return nil, err
		}
		return c, nil
	}
	return &http.Client{
		Transport:     Transport(t, urls),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token goes nowhere else
	}
}

// proving is a transport for hubs that prove themselves.
type proving struct{ plain, secure *http.Transport }

// RoundTrip implements [http.RoundTripper]. What a hub says in place of the proof is its reply.
func (t *proving) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "https" {
		return t.secure.RoundTrip(req)
	}
	reply, err := t.plain.RoundTrip(req)
	if said := refusal(0); errors.As(err, &said) {
		return said.reply(req), nil
	}
	return reply, err
}

// CloseIdleConnections is for [http.Client.CloseIdleConnections].
func (t *proving) CloseIdleConnections() {
	t.plain.CloseIdleConnections()
	t.secure.CloseIdleConnections()
}

// refusal is the status of a hub that says that it does not have the token. Nothing of its
// words is told: it may be anybody.
type refusal int

func (r refusal) Error() string {
	if r == http.StatusTooManyRequests {
		return "too many wrong tokens; try again in a minute"
	}
	return unknownToken
}

func (r refusal) reply(req *http.Request) *http.Response {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	body := fmt.Sprintf(`{"error":%q}`, r.Error())
	return &http.Response{
		Status: fmt.Sprintf("%d %s", r, http.StatusText(int(r))), StatusCode: int(r), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

// askProof has who listens at the other end of a connection prove that it knows the token.
func askProof(c net.Conn, host string, token func() (string, error)) error {
	own, err := token()
	if err != nil {
		return err
	}
	hash, nonce := sha256.Sum256([]byte(own)), rand.Text()
	_ = c.SetDeadline(time.Now().Add(proofTime))
	if _, err := fmt.Fprintf(c, "GET %s?nonce=%s&key=%s HTTP/1.1\r\nHost: %s\r\n\r\n", ProofPath, nonce, keyOf(hash[:]), host); err != nil {
		return err
	}
	r := bufio.NewReader(io.LimitReader(c, maxProof))
	reply, err := http.ReadResponse(r, nil)
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrNotProven, err)
	}
	defer reply.Body.Close()
	said, err := io.ReadAll(reply.Body)
	switch {
	case reply.StatusCode == http.StatusNotFound:
		return refusal(http.StatusUnauthorized)
	case reply.StatusCode == http.StatusTooManyRequests:
		return refusal(http.StatusTooManyRequests)
	}
	proven := hmac.Equal(said, []byte(proof(hash[:], nonce, c.RemoteAddr())))
	if err != nil || own == "" || reply.Close || r.Buffered() > 0 || !proven {
		return ErrNotProven
	}
	return c.SetDeadline(time.Time{})
}
