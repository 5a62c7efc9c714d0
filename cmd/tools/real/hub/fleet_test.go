//go:build unix

package hub_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// fleet is a cluster of NATS servers, and hubs on it, each in a process of its
// own. All that they say to each other goes through proxies.
type fleet struct {
	t     *testing.T
	token string
	nodes []*node
	hubs  []*station
	// observer sees the cluster as it is, past all hubs.
	observer jetstream.JetStream
	client   *http.Client
}

// station is a hub, and the address that it keeps over all its lives.
type station struct {
	t     *testing.T
	dir   string
	tls   []string          // flags: agents tell nothing to a hub behind a proxy that has no certificate
	nodes []*netfault.Proxy // by which it reaches the servers
	door  *netfault.Proxy   // by which it is reached
	url   *url.URL
	hub   *process
	clock time.Duration // by which its clock is wrong
}

func newFleet(t *testing.T, nodes, hubs int) *fleet {
	t.Helper()
	f := &fleet{t: t, token: web.NewToken(), nodes: newNodes(t, nodes)}
	cert, key := newCertificate(t)
	t.Setenv("SSL_CERT_FILE", cert) // nothing is verified before in this process
	transport := &http.Transport{MaxIdleConnsPerHost: 64, TLSClientConfig: &tls.Config{}}
	t.Cleanup(transport.CloseIdleConnections)
	f.client = &http.Client{Transport: transport, Timeout: requestTime}
	var direct []string
	for _, n := range f.nodes {
		direct = append(direct, n.client().Addr())
	}
	for range hubs {
		s := &station{t: t, dir: t.TempDir(), tls: []string{"--tls-cert", cert, "--tls-key", key}, door: netfault.Between(t, "")}
		s.url = &url.URL{Scheme: "https", Host: s.door.Addr()}
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, "token"), []byte(f.token+"\n"), 0o600))
		for _, n := range f.nodes {
			s.nodes = append(s.nodes, n.client())
		}
		f.hubs = append(f.hubs, s)
	}
	f.setClocks()
	for _, n := range f.nodes {
		n.ownDisk()
		n.start()
	}
	f.observe(strings.Join(direct, ","))
	for _, s := range f.hubs {
		s.start()
	}
	return f
}

// setClocks makes clocks wrong, if the system lets us: one hub is an hour ahead,
// the next an hour behind, and so is a server of each.
func (f *fleet) setClocks() {
	if err := canSetClock(f.t); err != nil {
		f.t.Logf("!! NO CLOCK IS WRONG IN THIS TEST: %v", err)
		return
	}
	f.hubs[0].clock, f.nodes[0].clock = time.Hour, time.Hour
	f.hubs[1].clock, f.nodes[1].clock = -time.Hour, -time.Hour
}

// observe waits until the servers have found each other.
func (f *fleet) observe(servers string) {
	conn, err := nats.Connect(servers, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2))
	require.NoError(f.t, err)
	f.t.Cleanup(conn.Close)
	f.observer, err = jetstream.New(conn)
	require.NoError(f.t, err)
	require.Eventually(f.t, func() bool {
		ctx, cancel := context.WithTimeout(f.t.Context(), requestTime)
		defer cancel()
		_, err := f.observer.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "ready", Replicas: len(f.nodes)})
		return err == nil
	}, hangs, 100*time.Millisecond)
}

// isWhole waits until every server has what one of them has now. One that was away
// has not, and if the next one is lost before it has, that is more than the cluster
// can bear.
func (f *fleet) isWhole() {
	f.t.Helper()
	most := uint64(0)
	for _, n := range f.nodes {
		last, _ := n.last(f.client)
		most = max(most, last)
	}
	require.Eventually(f.t, func() bool {
		return !slices.ContainsFunc(f.nodes, func(n *node) bool {
			last, ok := n.last(f.client)
			return !ok || last < most
		})
	}, hangs, 50*time.Millisecond)
}

// leader is the server that leads the questions.
func (f *fleet) leader() (leader *node) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		ctx, cancel := context.WithTimeout(f.t.Context(), requestTime)
		defer cancel()
		s, err := f.observer.Stream(ctx, "KV_questions")
		if err != nil || s.CachedInfo().Cluster == nil {
			return false
		}
		for _, n := range f.nodes {
			if n.name == s.CachedInfo().Cluster.Leader {
				leader = n
			}
		}
		return leader != nil
	}, hangs, 50*time.Millisecond)
	return leader
}

func (s *station) start() {
	s.t.Helper()
	var servers []string
	for _, p := range s.nodes {
		servers = append(servers, p.Addr())
	}
	s.hub = startHubIn(s.t, clockEnv(s.clock), s.dir, "127.0.0.1:0", append(s.tls, "--nats", strings.Join(servers, ","), "--replicas", fmt.Sprint(len(servers)))...)
	s.door.Point(strings.TrimPrefix(s.hub.address, "https://"))
}

func (s *station) end(signal os.Signal) {
	_ = s.hub.cmd.Process.Signal(signal)
	_ = s.hub.cmd.Wait()
}
