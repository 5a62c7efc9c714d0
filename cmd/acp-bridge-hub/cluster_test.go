package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// needsFleet is for tests that take long to start what they test.
func needsFleet(t *testing.T) {
	t.Helper()
	if os.Getenv("ACP_BRIDGE_FLEET") == "" {
		t.Skip("SKIPPED: servers that elect take seconds; set ACP_BRIDGE_FLEET, as .ci/run does")
	}
}

// cluster starts three NATS servers on this machine that keep values together.
// They have to find each other first; a hub waits for that.
func cluster(t *testing.T) (servers []*server.Server, addresses string) {
	t.Helper()
	needsFleet(t)
	var routes []*url.URL
	var ports []int
	var free []net.Listener
	for len(ports) < 3 {
		// Those that the system gives, to others too, are higher.
		port := 20_000 + rand.IntN(12_000)
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			free, ports = append(free, l), append(ports, port)
			routes = append(routes, &url.URL{Scheme: "nats-route", Host: l.Addr().String()})
		}
	}
	for _, l := range free {
		require.NoError(t, l.Close())
	}
	var urls []string
	for i, port := range ports {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: t.TempDir(), Routes: routes,
			Cluster: server.ClusterOpts{Name: "hubs", Host: "127.0.0.1", Port: port},
		})
		require.NoError(t, err)
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		servers, urls = append(servers, s), append(urls, s.ClientURL())
	}
	return servers, strings.Join(urls, ",")
}

// look returns the status and the body, 0 if there was no reply.
func (p *process) look(path string) (int, string) {
	req, err := http.NewRequest(http.MethodGet, p.address+path, nil)
	require.NoError(p.t, err)
	req.Header.Set("Authorization", "Bearer "+p.token)
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, ""
	}
	defer reply.Body.Close()
	data, _ := io.ReadAll(reply.Body)
	return reply.StatusCode, string(data)
}

// Two hubs on one cluster have the same questions: asked at one, seen and
// answered at the other, also when a server is gone.
func TestTwoHubsOnACluster(t *testing.T) {
	t.Parallel() // servers that elect take seconds, and no CPU
	servers, addresses := cluster(t)
	one := startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", addresses, "--replicas", "3")
	two := startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", addresses, "--replicas", "3")
	round := func(name string) {
		path := "/conversations/" + name
		result := make(chan int, 1)
		require.Eventually(t, func() bool { return one.post(path+"/ask", askBody("toolu_"+name)) == http.StatusAccepted }, 3*time.Minute, 50*time.Millisecond)
		go func() { result <- one.post(path+"/ask?wait=5m", askBody("toolu_"+name)) }()
		require.Eventually(t, func() bool {
			status, body := two.look(path)
			return status == http.StatusOK && strings.Contains(body, "awaiting_user_response")
		}, 3*time.Minute, 10*time.Millisecond)
		require.Eventually(t, func() bool {
			return two.post(path+"/respond", `{"answers":{"Go on?":"Yes"}}`) == http.StatusOK
		}, 3*time.Minute, 50*time.Millisecond)
		require.Equal(t, http.StatusOK, <-result)
		require.Equal(t, http.StatusConflict, one.post(path+"/respond", `{"answers":{"Go on?":"No"}}`), "the first answer stands")
	}
	round("c1")
	for _, s := range servers {
		if s.JetStreamIsStreamLeader("$G", "KV_questions") {
			s.Shutdown()
			s.WaitForShutdown()
			break
		}
	}
	round("c2")

	// Devices are those of all hubs, and a hub needs no other to be started.
	command := func(args ...string) (out string) {
		var b, errOut bytes.Buffer
		require.Equal(t, 0, run(t.Context(), args, &b, &errOut), errOut.String())
		return b.String()
	}
	out := strings.Fields(command("device", "add", "phone", "--can", "answer", "--data", one.dir))
	token := out[len(out)-1]
	out = strings.Fields(command("device", "add", "bot", "--can", "ask", "--data", one.dir))

	// An agent that knows both hubs goes on at the other one.
	both := *one
	both.address, both.token = one.address+","+two.address, out[len(out)-1]
	agent := both.startAsker("toolu_c3_x")
	path := "/conversations/ctoolu_c3_x"
	require.Eventually(t, func() bool { status, _ := two.look(path); return status == http.StatusOK }, 3*time.Minute, 5*time.Millisecond)
	one.kill()
	require.Eventually(t, func() bool {
		return two.post(path+"/respond", `{"answers":{"Go on?":"Yes"}}`) == http.StatusOK
	}, 3*time.Minute, 5*time.Millisecond)
	require.Equal(t, "Yes", <-agent.got)
	agent.kill()
	two.kill()
	three := startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", addresses, "--replicas", "3")
	require.Contains(t, command("device", "list", "--data", t.TempDir(), "--nats", addresses), "phone", "with no hub at all")
	three.token = token
	require.Contains(t, string(three.get("/conversations/c2/questions/toolu_c2")), `"by":"owner"`)
}
