package web_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// pushService stands in for that of a browser's maker.
type pushService struct {
	*httptest.Server
	got    chan pushed
	status int
}

type pushed struct {
	path, topic, ttl, authorization string
	body                            []byte
}

func newPushService(t *testing.T) *pushService {
	p := &pushService{got: make(chan pushed, 20), status: http.StatusCreated}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.got <- pushed{r.URL.Path, r.Header.Get("Topic"), r.Header.Get("TTL"), r.Header.Get("Authorization"), body}
		w.WriteHeader(p.status)
	}))
	t.Cleanup(p.Close)
	return p
}

// browser is the side of a push that has the key.
type browser struct {
	t        *testing.T
	private  *ecdh.PrivateKey
	auth     []byte
	endpoint string
}

func newBrowser(t *testing.T, endpoint string) *browser {
	b := &browser{t, acptest.Must(ecdh.P256().GenerateKey(rand.Reader)), make([]byte, 16), endpoint}
	_, _ = rand.Read(b.auth)
	return b
}

// subscription is that of the browser, as its script posts it.
func (b *browser) subscription() string {
	encode := base64.RawURLEncoding.EncodeToString
	return fmt.Sprintf(`{"endpoint":%q,"expirationTime":null,"keys":{"p256dh":%q,"auth":%q}}`, b.endpoint, encode(b.private.PublicKey().Bytes()), encode(b.auth))
}

// open reads a push as RFC 8291 and RFC 8188 say.
func (b *browser) open(body []byte) (said map[string]any) {
	t := b.t
	salt, size, keyLen := body[:16], binary.BigEndian.Uint32(body[16:20]), int(body[20])
	require.LessOrEqual(t, len(body), 4096)
	require.GreaterOrEqual(t, size, uint32(len(body)-21-keyLen), "one record")
	sender := acptest.Must(ecdh.P256().NewPublicKey(body[21 : 21+keyLen]))
	secret := acptest.Must(b.private.ECDH(sender))
	info := append(append([]byte("WebPush: info\x00"), b.private.PublicKey().Bytes()...), sender.Bytes()...)
	ikm := acptest.Must(hkdf.Key(sha256.New, secret, b.auth, string(info), 32))
	key := acptest.Must(hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16))
	nonce := acptest.Must(hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12))
	gcm := acptest.Must(cipher.NewGCM(acptest.Must(aes.NewCipher(key))))
	plain := acptest.Must(gcm.Open(nil, nonce, body[21+keyLen:], nil))
	plain = bytes.TrimRight(plain, "\x00")
	require.Equal(t, byte(2), plain[len(plain)-1], "the last record")
	require.NoError(t, json.Unmarshal(plain[:len(plain)-1], &said))
	return said
}

// checkVAPID checks who a push says it is from, as RFC 8292 says.
func checkVAPID(t *testing.T, authorization, key, audience string) {
	t.Helper()
	token, k, ok := strings.Cut(strings.TrimPrefix(authorization, "vapid t="), ", k=")
	require.True(t, ok, authorization)
	require.Equal(t, key, k)
	parts := strings.Split(token, ".")
	require.Len(t, parts, 3)
	decode := func(s string) []byte { return acptest.Must(base64.RawURLEncoding.DecodeString(s)) }
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	require.NoError(t, json.Unmarshal(decode(parts[1]), &claims))
	require.Equal(t, audience, claims.Aud)
	require.Equal(t, "https://hub.example", claims.Sub)
	require.Less(t, claims.Exp, time.Now().Add(24*time.Hour).Unix(), "no longer than a day")
	public := acptest.Must(ecdsa.ParseUncompressedPublicKey(elliptic.P256(), decode(key)))
	sum, signature := sha256.Sum256([]byte(parts[0]+"."+parts[1])), decode(parts[2])
	require.True(t, ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])))
}

// newPushSite is a hub whose pushes go to a service.
func newPushSite(t *testing.T, client *http.Client) (*site, *acptest.Written) {
	_, board := boardOf(t, hub.Options{}, hubstore.Options{Dir: t.TempDir()})
	access := acptest.Must(web.OpenAccess(filepath.Join(t.TempDir(), "access.json"), token))
	log := &acptest.Written{}
	return serve(t, board, access, web.Options{URL: "https://hub.example", PushClient: client, Logger: slog.New(slog.NewTextHandler(log, nil))}), log
}

// pushSiteBeside has a service of its own, in a test that runs beside others.
func pushSiteBeside(t *testing.T) (*site, *pushService) {
	t.Helper()
	t.Parallel()
	service := newPushService(t)
	s, _ := newPushSite(t, service.Client())
	return s, service
}

// A browser that asked for it is told of what its device may see and answer, in
// words that only it can read.
func TestPush(t *testing.T) {
	s, service := pushSiteBeside(t)
	bearers := map[string][]string{}
	browsers := map[string]*browser{}
	for name, d := range map[string]struct {
		can   web.Can
		group string
	}{"phone": {web.CanAnswer, "owner"}, "other": {web.CanAnswer, "red"}} {
		bearers[name] = []string{"Authorization", "Bearer " + s.device(name, d.can, d.group)}
		browsers[name] = newBrowser(t, service.URL+"/"+name)
		s.expect(200, "POST", "/push", browsers[name].subscription(), bearers[name]...)
		s.expect(200, "POST", "/push", browsers[name].subscription(), bearers[name]...) // the same one again
	}
	var key struct{ Key string }
	require.NoError(t, json.Unmarshal([]byte(s.expect(200, "GET", "/push", "", bearers["phone"]...)), &key))
	s.expect(202, "POST", "/conversations/c1/ask", database)
	rec := acptest.Must(s.board.FindRef(hub.Ref{Conversation: "c1", ID: "toolu_1"}))
	require.True(t, s.server.Pushes(rec, web.PushQuestion))
	s.server.Push(t.Context(), rec, "abc", web.PushQuestion, false)
	got := <-service.got
	require.Empty(t, service.got, "no other group")
	require.Equal(t, "/phone", got.path)
	require.Equal(t, "abc", got.topic, "what waits at the service is replaced")
	require.Equal(t, "86400", got.ttl)
	require.NotContains(t, string(got.body), "question")
	said := browsers["phone"].open(got.body)
	require.Regexp(t, "^q[0-9a-f]{16}$", said["card"], "it opens its card")
	delete(said, "card")
	require.Equal(t, map[string]any{"id": "abc", "text": "A question is waiting for you.", "over": false}, said)
	checkVAPID(t, got.authorization, key.Key, service.URL)
	s.server.PushOver(t.Context(), rec, "abc", web.PushQuestion, "It was answered.")
	require.Equal(t, true, browsers["phone"].open((<-service.got).body)["over"])

	// Others cannot end it, its device can, and it ends with its device.
	s.expect(200, "DELETE", "/push", browsers["phone"].subscription(), bearers["other"]...)
	require.True(t, s.server.Pushes(rec, web.PushQuestion))
	s.expect(200, "DELETE", "/push", browsers["phone"].subscription(), bearers["phone"]...)
	require.False(t, s.server.Pushes(rec, web.PushQuestion))
	s.expect(200, "POST", "/push", browsers["phone"].subscription(), bearers["phone"]...)
	require.True(t, s.server.Pushes(rec, web.PushQuestion))
	require.NoError(t, s.access.Remove("phone"))
	_ = s.device("phone", web.CanAnswer)
	require.False(t, s.server.Pushes(rec, web.PushQuestion), "one of the same name is another one")
}

// A browser that the service no longer knows is forgotten, one that it cannot
// reach just now is not. A login that ends takes its browser with it.
func TestPushEnds(t *testing.T) {
	s, service := pushSiteBeside(t)
	s.expect(202, "POST", "/conversations/c1/ask", database)
	rec := acptest.Must(s.board.FindRef(hub.Ref{Conversation: "c1", ID: "toolu_1"}))
	s.expect(200, "GET", "/push", "")
	b := newBrowser(t, service.URL+"/b")
	for status, stays := range map[int]bool{http.StatusNotFound: false, http.StatusGone: false, http.StatusServiceUnavailable: true, http.StatusCreated: true} {
		s.expect(200, "POST", "/push", b.subscription())
		service.status = status
		s.server.Push(t.Context(), rec, "abc", web.PushQuestion, false)
		<-service.got
		require.Equal(t, stays, s.server.Pushes(rec, web.PushQuestion), status)
	}
	s.expect(200, "DELETE", "/push", b.subscription())
	cookie := browserOf(s.logIn(t, web.Owner), s.url)
	s.expect(200, "POST", "/push", b.subscription(), cookie...)
	require.True(t, s.server.Pushes(rec, web.PushQuestion))
	s.expect(303, "POST", "/logout", "", cookie...)
	require.False(t, s.server.Pushes(rec, web.PushQuestion))
}

// The hub calls no address of its own network, because a browser says so.
func TestPushGoesOutsideOnly(t *testing.T) {
	s, log := newPushSite(t, nil)
	asker := s.device("bot", web.CanAsk)
	with := func(endpoint string) string { return newBrowser(t, endpoint).subscription() }
	s.expect(403, "POST", "/push", with("https://push.example/x"), "Authorization", "Bearer "+asker)
	s.expect(401, "POST", "/push", with("https://push.example/x"), "Authorization", "")
	for _, endpoint := range []string{
		"http://push.example/x", "https://127.0.0.1/x", "https://10.0.0.1/x", "https://[::1]/x", "https://[::ffff:10.0.0.1]/x", "https://169.254.169.254/latest",
		"https://100.64.0.1/", "https://user:word@push.example/", "ftp://push.example/", "https:///x", "", "https://0.0.0.0/", "https://[fd00::1]/", "https://[64:ff9b::7f00:1]/",
	} {
		s.expect(400, "POST", "/push", with(endpoint))
	}
	s.expect(400, "POST", "/push", `{"endpoint":"https://push.example/x","keys":{"p256dh":"AAAA","auth":"AAAA"}}`)
	s.expect(400, "POST", "/push", strings.Replace(with("https://push.example/x"), `"auth":"`, `"auth":"AA`, 1))
	// A name that points inside is seen when it is called.
	service := newPushService(t)
	s.expect(200, "GET", "/push", "")
	s.expect(200, "POST", "/push", with(strings.Replace(service.URL, "127.0.0.1", "localhost", 1)+"/x"))
	s.expect(202, "POST", "/conversations/c1/ask", database)
	rec := acptest.Must(s.board.FindRef(hub.Ref{Conversation: "c1", ID: "toolu_1"}))
	s.server.Push(t.Context(), rec, "abc", web.PushQuestion, false)
	require.Empty(t, service.got)
	require.Contains(t, log.String(), "the address is a private one")
	require.NotContains(t, log.String(), service.Listener.Addr().String()+"/x", "where a browser is told is a secret")
}
