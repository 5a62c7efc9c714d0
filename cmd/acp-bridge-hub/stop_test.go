package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

// slowly starts a hub whose store can be made slow.
func slowly(t *testing.T) (p *process, proxy *netfault.Proxy) {
	t.Helper()
	proxy = netfault.Between(t, netfault.NATS(t, 0).ClientURL())
	p = startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", "nats://"+proxy.Addr())
	return p, proxy
}

// begin makes a request, and returns when the hub has begun with it.
func (p *process) begin(t *testing.T, path, body string) (status chan int) {
	t.Helper()
	read := make(chan struct{})
	trace := &httptrace.ClientTrace{Got100Continue: func() { close(read) }}
	r := acptest.Must(http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost, p.address+path, strings.NewReader(body)))
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Expect", "100-continue")
	patient := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: 10 * time.Minute}}
	status = make(chan int, 1)
	go func() {
		reply, err := patient.Do(r)
		if err != nil {
			status <- 0
			return
		}
		defer reply.Body.Close()
		status <- reply.StatusCode
	}()
	<-read
	return status
}

// A hub that is told to stop replies to what it has begun, also if its
// store is slow just then.
func TestStopCutsNothing(t *testing.T) {
	t.Parallel()
	p, proxy := slowly(t)
	proxy.Set(netfault.LoseReplies)
	asked := p.begin(t, "/conversations/c1/ask", askBody("toolu_1_x"))
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	proxy.Set(netfault.Pass)
	require.Equal(t, http.StatusAccepted, <-asked)
	require.NoError(t, p.wait())
}

// A stream is told to come back, who waits for an answer is told that it still
// waits, and an answer that is on its way is taken.
func TestStopTellsEverybody(t *testing.T) {
	t.Parallel()
	p, proxy := slowly(t)
	require.Equal(t, http.StatusAccepted, p.post("/conversations/c1/ask", askBody("toolu_1_x")))
	require.Equal(t, http.StatusAccepted, p.post("/conversations/c2/ask", askBody("toolu_2_x")))
	req := acptest.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, p.address+"/events", nil))
	req.Header.Set("Authorization", "Bearer "+p.token)
	stream := acptest.Must(http.DefaultClient.Do(req))
	defer stream.Body.Close()
	lines := bufio.NewReader(stream.Body)
	for range 2 { // both questions are there
		for line := ""; !strings.HasPrefix(line, "data: "); {
			line = acptest.Must(lines.ReadString('\n'))
		}
	}
	waits := p.begin(t, "/conversations/c1/ask?wait=5m", askBody("toolu_1_x"))
	proxy.Set(netfault.LoseReplies)
	answered := p.begin(t, "/conversations/c2/respond", `{"answers":{"Go on?":"Yes"}}`)
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err, "the stream ends as streams do")
	require.Regexp(t, `retry: \d+\nevent: closing\ndata: \{\}\n\n$`, string(rest))
	require.Equal(t, http.StatusAccepted, <-waits, "it still waits")
	proxy.Set(netfault.Pass)
	require.Equal(t, http.StatusOK, <-answered)
	require.NoError(t, p.wait())
}

// A hub that was killed has the ends of turns in its history again, and nothing of what was
// said in them. Only who may see them is shown them.
func TestTurnsAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startHub(t, dir, "127.0.0.1:0")
	_, made := p.request(http.MethodPost, "/devices", `{"name":"phone","can":"answer","groups":["other"]}`)
	require.Equal(t, http.StatusOK, p.post("/conversations/c1/turn", `{"event":"failed","agent":"Kimi","dir":"/src/web","text":"Secret words","prompt":"Secret, too"}`))
	name := filepath.Join(dir, turnsName)
	require.Eventually(t, func() bool { return acptest.Err(os.Stat(name)) == nil }, patience, time.Millisecond)
	p.kill()
	require.NotContains(t, string(acptest.Must(os.ReadFile(name))), "Secret")
	for range 2 { // a hub that hears of none keeps those
		p = startHub(t, dir, "127.0.0.1:0")
		history := func(token string) string {
			req := acptest.Must(http.NewRequest(http.MethodGet, p.address+"/history", nil))
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Accept", "text/html")
			reply := acptest.Must(http.DefaultClient.Do(req))
			defer reply.Body.Close()
			return string(acptest.Must(io.ReadAll(reply.Body)))
		}
		require.Regexp(t, `(?s)Failed</b>.*Kimi.*web`, history(p.token))
		require.NotContains(t, history(gjson.Get(made, "token").Str), "Kimi")
		require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
		require.NoError(t, p.wait())
	}
	require.NoError(t, os.WriteFile(name, []byte("[{"), 0o600))
	startHub(t, dir, "127.0.0.1:0")
}
