package hands_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pushService stands in for that of a browser's maker.
type pushService struct {
	*httptest.Server
	got chan []byte
}

func newPushService(t *testing.T) *pushService {
	p := &pushService{got: make(chan []byte, 20)}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.got <- body
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(p.Close)
	return p
}

// browser is the side of a push that has the key.
type browser struct {
	private  *ecdh.PrivateKey
	auth     []byte
	endpoint string
}

func newBrowser(t *testing.T, endpoint string) *browser {
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	require.NoError(t, err)
	return &browser{private, make([]byte, 16), endpoint}
}

// subscription is that of the browser, as its script posts it.
func (b *browser) subscription() string {
	encode := base64.RawURLEncoding.EncodeToString
	return fmt.Sprintf(`{"endpoint":%q,"expirationTime":null,"keys":{"p256dh":%q,"auth":%q}}`, b.endpoint, encode(b.private.PublicKey().Bytes()), encode(b.auth))
}

// wanting is a subscription that says what it wants to be told of.
func (b *browser) wanting(kinds string) string {
	return strings.TrimSuffix(b.subscription(), "}") + `,"kinds":` + kinds + "}"
}

// open reads a push as RFC 8291 and RFC 8188 say.
func (b *browser) open(body []byte) json.RawMessage {
	salt, sender := body[:16], body[21:21+int(body[20])]
	secret := must(b.private.ECDH(must(ecdh.P256().NewPublicKey(sender))))
	ikm := must(hkdf.Key(sha256.New, secret, b.auth, "WebPush: info\x00"+string(b.private.PublicKey().Bytes())+string(sender), 32))
	key := must(hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16))
	nonce := must(hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12))
	plain := must(must(cipher.NewGCM(must(aes.NewCipher(key)))).Open(nil, nonce, body[21+len(sender):], nil))
	return bytes.TrimRight(plain, "\x02\x00")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
