package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

// slowly starts a hub whose store can be made slow. What is written there is told.
func slowly(t *testing.T) (p *process, proxy *netfault.Proxy, written chan struct{}) {
	t.Helper()
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	require.NoError(t, err)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	require.True(t, n.ReadyForConnections(time.Minute))
	proxy, err = netfault.Listen(strings.TrimPrefix(n.ClientURL(), "nats://"))
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	p = startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", "nats://"+proxy.Addr())
	store, err := hubstore.Open(t.Context(), hubstore.Options{URL: n.ClientURL()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	written = make(chan struct{}, 10)
	go func() {
		_ = store.Watch(t.Context(), func(hubstore.Entry) { written <- struct{}{} }, func() {})
	}()
	return p, proxy, written
}

// A hub that is told to stop replies to what it has begun to write, also if its
// store is slow just then.
func TestStopCutsNothing(t *testing.T) {
	p, proxy, written := slowly(t)
	proxy.Set(netfault.LoseReplies)
	asked := make(chan int, 1)
	go func() { asked <- p.post("/conversations/c1/ask", askBody("toolu_1_x")) }()
	<-written // and the hub does not know
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	proxy.Set(netfault.Pass)
	require.Equal(t, http.StatusAccepted, <-asked)
	require.NoError(t, p.cmd.Wait())
}

// A stream is told to come back, who waits for an answer is told that it still
// waits, and an answer that is on its way is taken.
func TestStopTellsEverybody(t *testing.T) {
	p, proxy, written := slowly(t)
	require.Equal(t, http.StatusAccepted, p.post("/conversations/c1/ask", askBody("toolu_1_x")))
	<-written
	require.Equal(t, http.StatusAccepted, p.post("/conversations/c2/ask", askBody("toolu_2_x")))
	<-written
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.address+"/events", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+p.token)
	stream, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer stream.Body.Close()
	lines := bufio.NewReader(stream.Body)
	for range 2 { // both questions are there
		for line := ""; !strings.HasPrefix(line, "data: "); {
			line, err = lines.ReadString('\n')
			require.NoError(t, err)
		}
	}
	// The hub reads this one when it is told to stop, or it waits already.
	waits, answered := make(chan int, 1), make(chan int, 1)
	read := make(chan struct{})
	trace := &httptrace.ClientTrace{Got100Continue: func() { close(read) }}
	ask, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost, p.address+"/conversations/c1/ask?wait=5m", strings.NewReader(askBody("toolu_1_x")))
	require.NoError(t, err)
	ask.Header.Set("Authorization", "Bearer "+p.token)
	ask.Header.Set("Content-Type", "application/json")
	ask.Header.Set("Expect", "100-continue")
	patient := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: 10 * time.Minute}}
	go func() {
		reply, err := patient.Do(ask)
		if err != nil {
			waits <- 0
			return
		}
		defer reply.Body.Close()
		waits <- reply.StatusCode
	}()
	<-read
	proxy.Set(netfault.LoseReplies)
	go func() { answered <- p.post("/conversations/c2/respond", `{"answers":{"Go on?":"Yes"}}`) }()
	<-written // and the hub does not know
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err, "the stream ends as streams do")
	require.Regexp(t, `retry: \d+\nevent: closing\ndata: \{\}\n\n$`, string(rest))
	require.Equal(t, http.StatusAccepted, <-waits, "it still waits")
	proxy.Set(netfault.Pass)
	require.Equal(t, http.StatusOK, <-answered)
	require.NoError(t, p.cmd.Wait())
}
