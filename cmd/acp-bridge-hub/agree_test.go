package main

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

// Of several hubs one tells an address of a question, and one takes that back, each once.
// Another address has a turn of its own. Hubs that cannot agree tell all: twice is better
// than not at all.
func TestNotifyInTurn(t *testing.T) {
	n := netfault.NATS(t, 0)
	var log bytes.Buffer
	var hubs []turn
	for range 2 {
		store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{URL: n.ClientURL()}))
		t.Cleanup(store.Close)
		h := acptest.Must(openTurn(t.Context(), store, slog.New(slog.NewTextHandler(&log, nil))))
		hubs = append(hubs, h)
	}
	one, two := hubs[0], hubs[1]
	const address, other = "https://a.example/secret", "https://b.example/secret"
	require.True(t, one.begin(t.Context(), address, "q"))
	require.False(t, two.begin(t.Context(), address, "q"))
	require.True(t, two.begin(t.Context(), other, "q"))
	require.True(t, two.begin(t.Context(), address, "r"))
	require.True(t, two.end(t.Context(), address, "q"))
	require.False(t, one.end(t.Context(), address, "q"))
	require.True(t, one.end(t.Context(), other, "q"))
	require.False(t, one.end(t.Context(), address, "untold"))
	require.Empty(t, log.String())
	never, cancel := context.WithCancel(t.Context())
	cancel()
	require.True(t, one.begin(never, address, "s"))
	require.True(t, two.begin(never, address, "s"))
	require.True(t, one.end(never, address, "q"))
	require.Contains(t, log.String(), "hubs cannot agree who tells of a question")
	require.NotContains(t, log.String(), "secret")
}

// An address may have a secret in it: what fails there is told without it.
func TestNotifyKeepsItsAddressOutOfTheLog(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	var log bytes.Buffer
	n := &notifier{notice: notice{url: gone.URL + "/secret?key=secret"}, log: slog.New(slog.NewTextHandler(&log, nil))}
	n.send(t.Context(), "id", "A question waits")
	require.Contains(t, log.String(), "a notification was not sent")
	require.Contains(t, log.String(), "refused")
	require.NotContains(t, log.String(), "secret")
}

// A script is told by the status that a hub is not ready, and why.
func TestStatusOfAHubThatIsNotReady(t *testing.T) {
	t.Parallel()
	n := netfault.NATS(t, 0)
	p := startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", n.ClientURL())
	status := func() (code int, out, said string) {
		var stdout, stderr bytes.Buffer
		code = run(t.Context(), []string{"status", "--data", p.dir}, &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	code, out, said := status()
	require.Equal(t, exitOK, code, said)
	require.Regexp(t, `(?m)^ready +yes`, out)
	n.Shutdown()
	n.WaitForShutdown()
	require.Eventually(t, func() bool { code, out, said = status(); return code != exitOK }, 3*time.Minute, 50*time.Millisecond, "%s%s", out, said)
	require.Contains(t, said, "the hub is not ready: ")
	require.Regexp(t, `(?m)^ready +no: `, out)
}

// The end of a hub waits for requests that are under way until their replies are sent, and
// for no connection on which nothing is asked.
func TestStopWaitsForRequestsAlone(t *testing.T) {
	s := &serving{conns: map[net.Conn]bool{}}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	s.state(a, http.StateNew)
	s.state(b, http.StateNew)
	<-s.done() // nothing was asked yet
	for _, last := range []http.ConnState{http.StateIdle, http.StateClosed} {
		for _, c := range []net.Conn{a, b} {
			s.state(c, http.StateActive)
		}
		done := s.done()
		s.state(a, last)
		select {
		case <-done:
			t.Fatal("a reply is not sent yet")
		default:
		}
		s.state(b, last)
		<-done
	}
}
