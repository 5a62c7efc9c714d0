package hub_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
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
		require.Equal(t, 0, run(t, args, &b, &errOut), errOut.String())
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

// Answers that come at the same time, at two hubs of a cluster, are not in each other's
// way: hardly one is refused because another one is under way, and has to be checked anew
// and to wait once more.
func TestManyAnswersAtTwoHubsOfACluster(t *testing.T) {
	t.Parallel() // servers that elect take seconds, and no CPU
	_, addresses := cluster(t)
	const people, rounds = 100, 10
	var all sync.WaitGroup
	var again atomic.Int64
	for hub := range 2 {
		s, err := hubstore.Open(t.Context(), hubstore.Options{URL: addresses, Replicas: 3})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		for i := range people {
			all.Go(func() {
				key := fmt.Sprintf("k%d.%d", hub, i)
				revision, err := s.Create(t.Context(), key, []byte("open"))
				for round := 0; round < rounds && err == nil; round++ {
					var last time.Time
					revision, err = s.UpdateWhile(t.Context(), key, fmt.Append(nil, round), revision, func(context.Context) error {
						if time.Since(last) < time.Second { // what takes longer had no reply: servers that are slow, or elect
							again.Add(1)
						}
						last = time.Now()
						return nil
					})
				}
				require.NoError(t, err)
			})
		}
	}
	all.Wait()
	t.Logf("%d of %d answers were refused and checked anew", again.Load(), 2*people*rounds)
	require.Less(t, int(again.Load()), 2*people*rounds/20)
}

// What a hub was started with first, or a command without --replicas, does not
// stay: with --replicas 3 all that hubs keep is on three servers, also what was
// kept on one. A hub that is told less takes nothing away.
func TestReplicasAreRaised(t *testing.T) {
	t.Parallel() // servers that elect take seconds, and no CPU
	_, addresses := cluster(t)
	conn, err := nats.Connect(addresses, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	replicas := func(stream string) int {
		s, err := js.Stream(t.Context(), stream)
		if err != nil {
			return 0
		}
		return s.CachedInfo().Config.Replicas
	}
	one := startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", addresses)
	require.Eventually(t, func() bool {
		return one.post("/conversations/c/ask", askBody("toolu_1_x")) == http.StatusAccepted
	}, 3*time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool { return replicas("KV_questions") == 1 }, 3*time.Minute, 50*time.Millisecond)
	two := startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", addresses, "--replicas", "3")
	for range 2 {
		for _, stream := range []string{"KV_questions", "KV_questions-access", "KV_questions-told"} {
			require.Eventually(t, func() bool { return replicas(stream) == 3 }, 3*time.Minute, 50*time.Millisecond, stream)
		}
		startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", addresses)
	}
	require.Eventually(t, func() bool {
		return two.post("/conversations/c/respond", `{"answers":{"Go on?":"Yes"}}`) == http.StatusOK
	}, 3*time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		return one.post("/conversations/c/ask?wait=1m", askBody("toolu_1_x")) == http.StatusOK
	}, 3*time.Minute, 50*time.Millisecond)
}

// The hub of a cluster tells of its servers.
func TestStatusOfACluster(t *testing.T) {
	t.Parallel() // servers that elect take seconds, and no CPU
	servers, addresses := cluster(t)
	p := startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", addresses, "--replicas", "3")
	status := func() (st web.Status) {
		var out, errOut bytes.Buffer
		require.Equal(t, 0, run(t, []string{"status", "--json", "--data", p.dir}, &out, &errOut), errOut.String())
		require.NoError(t, json.Unmarshal(out.Bytes(), &st))
		return st
	}
	var st web.Status
	require.Eventually(t, func() bool { st = status(); return st.Engine.InSync() == 3 }, 3*time.Minute, 50*time.Millisecond)
	require.True(t, st.Ready)
	require.Equal(t, "hubs", st.Engine.Cluster)
	require.Contains(t, []string{"n0", "n1", "n2"}, st.Engine.Leader)
	require.Len(t, st.Engine.Peers, 2)
	// A server that follows goes, and that is seen.
	for _, s := range servers {
		if name := s.Name(); name != st.Engine.Leader && name != st.Engine.Server {
			s.Shutdown()
			s.WaitForShutdown()
			require.Eventually(t, func() bool { return status().Engine.InSync() == 2 }, 3*time.Minute, 50*time.Millisecond)
			break
		}
	}
}
