package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// The token goes to the hub, not to whatever took its address since.
func TestLoginWithoutAHub(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startHub(t, dir, "127.0.0.1:0").kill()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("somebody got %q", r.Header.Get("Authorization"))
	}))
	defer s.Close()
	require.NoError(t, os.WriteFile(filepath.Join(dir, hublink.AddressName), []byte(s.URL+"\n"), 0o600))
	var out bytes.Buffer
	require.Equal(t, exitFailed, run(t.Context(), []string{"login", "--data", dir}, io.Discard, &out))
	require.Contains(t, out.String(), "no hub is running with the folder")
}

// The end of the hub is prompt, whatever hangs on it.
func TestEndsPromptly(t *testing.T) {
	t.Parallel()
	p := startHub(t, t.TempDir(), "127.0.0.1:0")
	require.Equal(t, http.StatusAccepted, p.post("/conversations/c1/ask", askBody("toolu_abc")))
	for range 10 { // streams, requests that wait, connections without a request
		req := acptest.Must(http.NewRequest(http.MethodGet, p.address+"/events", nil))
		req.Header.Set("Authorization", "Bearer "+p.token)
		reply := acptest.Must(http.DefaultClient.Do(req))
		defer reply.Body.Close()
		go p.post("/conversations/c1/ask?wait=5m", askBody("toolu_abc"))
		c := acptest.Must(net.Dial("tcp", strings.TrimPrefix(p.address, "http://")))
		defer c.Close()
	}
	begin := time.Now()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.wait())
	t.Logf("ended in %s", time.Since(begin))
	require.Less(t, time.Since(begin), patience)
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, keyFile := acptest.Must2(ownCertificate(t.TempDir(), time.Now()))
	pair := acptest.Must(tls.LoadX509KeyPair(cert, keyFile))
	p := startHub(t, t.TempDir(), "127.0.0.1:0", "--tls-cert", cert, "--tls-key", keyFile, "--allow-host", "hub.example")
	require.True(t, strings.HasPrefix(p.address, "https://127.0.0.1:"), p.address)
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	for host, code := range map[string]int{"hub.example": 200, "other.example": 421} {
		req := acptest.Must(http.NewRequest(http.MethodGet, p.address+"/healthz", nil))
		req.Host = host
		reply := acptest.Must(client.Do(req))
		reply.Body.Close()
		require.Equal(t, code, reply.StatusCode)
	}
	// The cookie of a login goes over https only.
	req := acptest.Must(http.NewRequest(http.MethodPost, p.address+"/login", strings.NewReader("token="+p.token)))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", p.address)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	reply := acptest.Must(client.Do(req))
	reply.Body.Close()
	require.Equal(t, http.StatusOK, reply.StatusCode)
	require.True(t, reply.Cookies()[0].Secure)
	// The commands of this machine know the hub by its certificate, not by a name.
	var out acptest.Written
	require.Equal(t, exitOK, run(t.Context(), []string{"status", "--data", p.dir}, &out, &out), out.String())
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, hublink.AddressName), []byte(p.address+"\n"+strings.Repeat("0", 64)+"\n"), 0o600))
	require.Equal(t, exitFailed, run(t.Context(), []string{"status", "--data", p.dir}, io.Discard, &out))
	require.Contains(t, out.String(), "not the certificate that the hub was started with")
	require.Equal(t, exitFailed, run(context.Background(), []string{"--data", t.TempDir(), "--listen", "127.0.0.1:0", "--tls-cert", "no", "--tls-key", "no"}, io.Discard, &out))
}

// A first start on a full disk leaves no token, or an empty one: the next start makes
// one. A file that the operator names is theirs.
func TestTokenFileWithoutAToken(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	first := acptest.Must(ownerToken(options{data: dir}))
	require.Greater(t, len(first), 16)
	require.Equal(t, first, acptest.Must(ownerToken(options{data: dir})))
	info := acptest.Must(os.Stat(path))
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Len(t, acptest.Must(os.ReadDir(dir)), 1)
	named := filepath.Join(dir, "mine")
	require.NoError(t, os.WriteFile(named, []byte(" \n"), 0o600))
	require.ErrorContains(t, acptest.Err(ownerToken(options{data: dir, tokenFile: named})), "is empty")
	none := filepath.Join(dir, "none", hublink.AddressName)
	require.ErrorContains(t, web.WriteFile(none, nil), none+" cannot be written", "and not another one beside it")
}

// A damaged byte in the owner's token, or in the address for the other commands, is told
// to whoever uses them, and nothing is changed. What looks like a token and is another
// one than before ends the owner's logins: what was before is kept, and somebody is told.
func TestDamagedTokenAndAddress(t *testing.T) {
	dir := t.TempDir()
	o := options{data: dir}
	token := acptest.Must(ownerToken(o))
	path := filepath.Join(dir, "token")
	for at := range len(token) {
		damaged := []byte(token + "\n")
		damaged[at] ^= 0x80
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		require.ErrorContains(t, acptest.Err(ownerToken(o)), path+" is damaged")
		require.ErrorContains(t, acptest.Err(readToken(o)), "is damaged")
		_, err := hublink.Token(&url.URL{Scheme: "http", Host: "127.0.0.1:1"}, path)
		require.ErrorContains(t, err, "is damaged")
		require.NotContains(t, err.Error(), token[:8], "it is a secret still")
		require.Equal(t, damaged, acptest.Must(os.ReadFile(path)))
	}
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	access := acptest.Must(openAccess(t.Context(), o, nil, token, log))
	acptest.Must(access.Code(web.Owner))
	access.Close()
	require.Empty(t, said.String())
	before := acptest.Must(os.ReadFile(filepath.Join(dir, accessName)))
	damaged := []byte(token)
	damaged[0] ^= 1
	access = acptest.Must(openAccess(t.Context(), o, nil, string(damaged), log))
	access.Close()
	require.Contains(t, said.String(), "another one than before")
	require.Equal(t, before, acptest.Must(os.ReadFile(filepath.Join(dir, accessName+".before"))))

	address := filepath.Join(dir, hublink.AddressName)
	for _, damaged := range []string{"", "\n", "hktp://127.0.0.1:8137\n", "http:/\xaf127.0.0.1:8137\n", "http://127.0.0.1\x1a8137\n"} {
		require.NoError(t, os.WriteFile(address, []byte(damaged), 0o600))
		require.ErrorContains(t, acptest.Err(newCaller(o)), address+" is damaged", "%q", damaged)
	}
}

// Exit codes, as those of acp-bridge.
const (
	exitOK     = cli.ExitOK
	exitFailed = cli.ExitFailed
	exitUsage  = cli.ExitUsage
)
