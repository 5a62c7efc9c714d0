package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"rsc.io/qr"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// started is what a hub says at its start, up to a line.
func started(t *testing.T, last string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		code := run(ctx, append([]string{"--data", dir, "--listen", "127.0.0.1:0"}, args...), io.Discard, w)
		w.CloseWithError(fmt.Errorf("exit code %d", code))
	}()
	t.Cleanup(func() { stop(); r.Close(); <-ended })
	var said strings.Builder
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), last) {
			go func() { _, _ = io.Copy(io.Discard, r) }()
			return said.String()
		}
	}
	require.Fail(t, "it ended", "%s\n%s", lines.Err(), said.String())
	return ""
}

// opens opens a link as a browser does: it looks, and then logs in.
func opens(t *testing.T, link string) (page string) {
	t.Helper()
	u := acptest.Must(url.Parse(link))
	jar := acptest.Must(cookiejar.New(nil))
	c := &http.Client{Jar: jar, Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	do := func(method, address string, form url.Values) string {
		req := acptest.Must(http.NewRequest(method, address, strings.NewReader(form.Encode())))
		req.Header.Set("Accept", "text/html")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		if method == http.MethodPost {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		reply := acptest.Must(c.Do(req))
		defer reply.Body.Close()
		body := acptest.Must(io.ReadAll(reply.Body))
		require.Equal(t, 200, reply.StatusCode, "%s %s: %s", method, address, body)
		return string(body)
	}
	require.Contains(t, do(http.MethodGet, link, nil), "Log this browser in")
	return do(http.MethodPost, u.Scheme+"://"+u.Host+"/login", url.Values{"code": {u.Query().Get("code")}})
}

var links = regexp.MustCompile(`(?m)^  (https?://\S+/login\?code=\S+)$`)

// --lan is one step to a phone: a link that works at an address of this machine, for
// a device that can answer and nothing else, and a plain word on what http means.
func TestLAN(t *testing.T) {
	t.Parallel()
	if len(ownAddresses()) == 0 {
		t.Skip("this machine is in no network")
	}
	said := started(t, "A PHONE", "--lan")
	found := links.FindAllStringSubmatch(said, -1)
	require.Len(t, found, 2, said)
	owner, phone := found[0][1], found[1][1]
	require.Contains(t, owner, "://127.0.0.1:")
	require.Contains(t, phone, "://"+hostOf(ownAddresses()[0].Addr())+":")
	require.Contains(t, said, "anyone on the same network can read")
	require.Contains(t, opens(t, owner), `id="phone-button"`)
	page := opens(t, phone)
	require.Contains(t, page, `id="cards"`)
	require.NotContains(t, page, `id="phone-button"`, "a phone adds no devices")
	require.NotContains(t, started(t, "A PHONE", "--lan", "--no-link"), "login?")
	// All addresses, narrowed to the own networks: only the port is taken of it.
	found = links.FindAllStringSubmatch(started(t, "A PHONE", "--lan", "--listen", "0.0.0.0:0"), -1)
	require.Contains(t, found[0][1], "://127.0.0.1:")
}

func hostOf(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}

// A hub that listens everywhere prints a link that works from elsewhere, and is
// called by the address at which it was reached, and by no other.
func TestListensEverywhere(t *testing.T) {
	if len(ownAddresses()) == 0 {
		t.Skip("this machine is in no network")
	}
	said := started(t, "use --tls", "--listen", "0.0.0.0:0")
	link := links.FindStringSubmatch(said)
	require.NotNil(t, link, said)
	require.NotContains(t, link[1], "localhost")
	require.Contains(t, opens(t, link[1]), `id="cards"`)
	u := acptest.Must(url.Parse(link[1]))
	for _, host := range []string{"evil.example", "203.0.113.9"} {
		req := acptest.Must(http.NewRequest(http.MethodGet, "http://"+u.Host+"/healthz", nil))
		req.Host = host
		reply := acptest.Must(http.DefaultClient.Do(req))
		reply.Body.Close()
		require.Equal(t, http.StatusMisdirectedRequest, reply.StatusCode, host)
	}
}

// --tls makes a certificate that stays, and shows the fingerprint that a browser does.
func TestOwnCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	said := started(t, ":", "--tls") // any line
	require.Contains(t, said, "https://")
	now := time.Now()
	cert, key := acptest.Must2(ownCertificate(dir, now))
	first := acptest.Must(fingerprint(options{tlsCert: cert, tlsKey: key}))
	for _, c := range []struct {
		later time.Duration
		same  bool
	}{{0, true}, {certificateTime - renewTime - time.Hour, true}, {certificateTime - renewTime + time.Hour, false}} {
		acptest.Must2(ownCertificate(dir, now.Add(c.later)))
		again := acptest.Must(fingerprint(options{tlsCert: cert, tlsKey: key}))
		require.Equal(t, c.same, first == again, c.later)
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		require.Zero(t, acptest.Must(os.Stat(filepath.Join(dir, name))).Mode().Perm()&0o077, name)
	}
	require.Equal(t, "AB:CD:0F", colons("abcd0f"))

	if len(ownAddresses()) > 0 {
		said = started(t, "SHA-256", "--tls", "--lan")
		found := links.FindAllStringSubmatch(said, -1)
		require.Len(t, found, 2, said)
		require.Contains(t, opens(t, found[1][1]), `id="cards"`)
	}
}

// Which connections are of the machine's own networks.
func TestInLAN(t *testing.T) {
	own := []netip.Prefix{netip.MustParsePrefix("192.168.1.5/24"), netip.MustParsePrefix("203.0.113.7/24"), netip.MustParsePrefix("2001:db8::5/64")}
	for _, c := range []struct {
		local, remote string
		want          bool
	}{
		{"127.0.0.1", "127.0.0.1", true},
		{"::ffff:192.168.1.5", "::ffff:192.168.1.9", true},
		{"192.168.1.5", "10.1.2.3", true}, // routed inside
		{"100.101.102.103", "100.64.0.1", true},
		{"fd00::5", "fd00::9", true},
		{"fe80::1%eth0", "fe80::2%eth0", true},
		{"203.0.113.7", "203.0.113.9", true},
		{"203.0.113.7", "198.51.100.1", false},
		{"2001:db8::5", "2001:db8::9", true},
		{"2001:db8::5", "2001:db8:1::9", false},
	} {
		require.Equal(t, c.want, inLAN(netip.MustParseAddr(c.local), netip.MustParseAddr(c.remote), own), "%s from %s", c.local, c.remote)
	}
}

// The address that leads out comes first; what no phone reaches is not there.
func TestAddressesAreArranged(t *testing.T) {
	var list []netip.Prefix
	for _, a := range []string{"127.0.0.1/8", "::1/128", "fd00::2/64", "fe80::1/64", "172.17.0.1/16", "192.168.1.5/24", "169.254.3.4/16"} {
		list = append(list, netip.MustParsePrefix(a))
	}
	var got []string
	for _, a := range arrange(list, netip.MustParseAddr("192.168.1.5")) {
		got = append(got, a.Addr().String())
	}
	require.Equal(t, []string{"192.168.1.5", "172.17.0.1", "fd00::2"}, got)
}

// Flags that contradict each other are told apart.
func TestLANUsage(t *testing.T) {
	for args, want := range map[string]string{
		"--lan --listen 192.168.1.5:7717": "leave --lan out, or say only the port, as in --lan --listen 0.0.0.0:PORT",
		"--tls --tls-cert a --tls-key b":  "--tls makes a certificate",
	} {
		var out bytes.Buffer
		require.Equal(t, exitUsage, run(t.Context(), append(strings.Fields(args), "--data", t.TempDir()), io.Discard, &out))
		require.Contains(t, out.String(), want)
	}
}

// What the terminal draws is the code, two rows to a line, and nothing where there is
// no terminal.
func TestQRText(t *testing.T) {
	const link = "http://192.168.1.5:7717/login?code=abcdefghijklmnopqrstuvwxyz012345"
	code := acptest.Must(qr.Encode(link, qr.L))
	lines := strings.Split(strings.TrimSuffix(qrText(link), "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "  \x1b[38;5;16;48;5;231m"), "\x1b[0m")
		for j, r := range []rune(line) {
			x, y := j-2, 2*i-2
			require.Equal(t, code.Black(x, y), r == '▀' || r == '█')
			require.Equal(t, code.Black(x, y+1), r == '▄' || r == '█')
		}
	}
	require.Len(t, lines, (code.Size+5)/2)
	require.Less(t, code.Size+4+2, 80)
	var out bytes.Buffer
	drawQR(&out, link)
	require.Empty(t, out.String())
}
