package hub_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

// asNode makes the test binary be a NATS server of a cluster. It ends with its
// input.
const asNode = "ACP_BRIDGE_NODE_TEST"

// nodeConfig is what such a server is told.
type nodeConfig struct {
	Name, Dir string
	Routes    []string
}

// nowhere is an address where nobody listens. Servers would tell each other, and
// the hubs, how to go around the proxies.
const nowhere = "127.0.0.1:1"

func playNode() {
	var c nodeConfig
	if err := json.Unmarshal([]byte(os.Getenv(asNode)), &c); err != nil {
		panic(err)
	}
	var routes []*url.URL
	for _, r := range c.Routes {
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: r})
	}
	s, err := server.NewServer(&server.Options{
		ServerName: c.Name, Host: "127.0.0.1", Port: -1, HTTPHost: "127.0.0.1", HTTPPort: -1, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: c.Dir, JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 64 << 20, Routes: routes,
		Cluster: server.ClusterOpts{Name: "hubs", Host: "127.0.0.1", Port: -1, Advertise: nowhere, NoAdvertise: true},
	})
	if err != nil {
		panic(err)
	}
	s.Start()
	if !s.ReadyForConnections(hangs) {
		panic("the server does not listen")
	}
	fmt.Println("node", s.Addr(), s.ClusterAddr(), s.MonitorAddr())
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	<-stop
	s.Shutdown()
	s.WaitForShutdown()
	os.Exit(0)
}

// node is a NATS server in a process of its own.
type node struct {
	t    *testing.T
	name string
	dir  string
	disk string // where its folder is alone, or empty
	cmd  *exec.Cmd
	// clock is by how much its clock is wrong.
	clock time.Duration
	// monitor is where it says how it is, past all proxies.
	monitor string
	// routes are the proxies by which this one reaches the others, and reached
	// those by which others reach it, with what hubs use.
	routes  []*netfault.Proxy
	reached []*netfault.Proxy // by nodes
	clients []*netfault.Proxy // by hubs
}

func newNodes(t *testing.T, count int) []*node {
	nodes := make([]*node, count)
	for i := range nodes {
		nodes[i] = &node{t: t, name: fmt.Sprint("n", i), dir: t.TempDir()}
	}
	for _, from := range nodes {
		for _, to := range nodes {
			if from != to {
				p := netfault.Between(t, "")
				from.routes, to.reached = append(from.routes, p), append(to.reached, p)
			}
		}
	}
	return nodes
}

// client returns an address of the node for one hub.
func (n *node) client() *netfault.Proxy {
	p := netfault.Between(n.t, "")
	n.clients = append(n.clients, p)
	return p
}

func (n *node) start() {
	n.t.Helper()
	c := nodeConfig{Name: n.name, Dir: n.dir}
	for _, p := range n.routes {
		c.Routes = append(c.Routes, p.Addr())
	}
	data, err := json.Marshal(c)
	require.NoError(n.t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), asNode+"="+string(data)), clockEnv(n.clock)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(n.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(n.t, err)
	require.NoError(n.t, cmd.Start())
	n.cmd = cmd
	n.t.Cleanup(func() { in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(n.t, err)
	words := strings.Fields(line)
	require.Len(n.t, words, 4, line)
	n.monitor = "http://" + words[3]
	for _, p := range n.reached {
		p.Point(words[2])
	}
	for _, p := range n.clients {
		p.Point(words[1])
	}
}

// last is the revision up to which the server has the questions. It is not ok if
// there is something that it knows to be missing.
func (n *node) last(c *http.Client) (revision uint64, ok bool) {
	for _, path := range []string{"/healthz", "/jsz?streams=true"} {
		reply, err := c.Get(n.monitor + path)
		if err != nil {
			return 0, false
		}
		data, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil || reply.StatusCode != http.StatusOK {
			return 0, false
		}
		revision = gjson.GetBytes(data, `account_details.0.stream_detail.#(name=="KV_questions").state.last_seq`).Uint()
	}
	return revision, revision > 0
}

// end ends the process with a signal, and waits for it.
func (n *node) end(s os.Signal) {
	_ = n.cmd.Process.Signal(s)
	_ = n.cmd.Wait()
}

// cut makes the network lose everything from and to the node, or heals it.
func (n *node) cut(m netfault.Mode) {
	for _, list := range [][]*netfault.Proxy{n.routes, n.reached, n.clients} {
		for _, p := range list {
			p.Set(m)
		}
	}
}

// hangs is how long something may take that must happen.
const hangs = 3 * time.Minute
