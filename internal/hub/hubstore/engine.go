package hubstore

import (
	"context"
	"fmt"
)

// Engine is what keeps a bucket, as its operator sees it.
type Engine struct {
	// Embedded says that the server is in this process.
	Embedded bool `json:"embedded"`
	// Server is the one that this process is connected to.
	Server string `json:"server,omitempty"`
	// Cluster is the name of a cluster, Leader the server that leads the bucket
	// there, empty while there is none. Peers are the others that keep it.
	Cluster string `json:"cluster,omitempty"`
	Leader  string `json:"leader,omitempty"`
	Peers   []Peer `json:"peers,omitempty"`
	// Replicas is how many servers should keep the bucket.
	Replicas int    `json:"replicas"`
	Values   uint64 `json:"values"`
	Bytes    uint64 `json:"bytes"`
}

// Peer is a server of a cluster that keeps a copy.
type Peer struct {
	Name string `json:"name"`
	// InSync says that it has everything, Offline that it is not there. Lag is
	// how many writes it has not.
	InSync  bool   `json:"inSync"`
	Offline bool   `json:"offline,omitempty"`
	Lag     uint64 `json:"lag,omitempty"`
}

// Engine asks what keeps the bucket. With an error it says what is known without
// the server.
func (s *Store) Engine(ctx context.Context) (Engine, error) {
	e := Engine{Embedded: !s.shared, Replicas: s.replicas}
	if s.shared {
		e.Server = s.conn.ConnectedServerName()
	}
	stream, err := s.js.Stream(ctx, s.stream())
	if err != nil {
		return e, fmt.Errorf("JetStream bucket %q: %w", s.kv.Bucket(), err)
	}
	info := stream.CachedInfo()
	e.Replicas, e.Values, e.Bytes = info.Config.Replicas, info.State.Msgs, info.State.Bytes
	if c := info.Cluster; c != nil && s.shared {
		e.Cluster, e.Leader = c.Name, c.Leader
		for _, p := range c.Replicas {
			e.Peers = append(e.Peers, Peer{p.Name, p.Current, p.Offline, p.Lag})
		}
	}
	return e, nil
}

// InSync counts the servers that have everything: all copies, if there is no
// cluster.
func (e Engine) InSync() (n int) {
	if e.Cluster == "" {
		return e.Replicas
	}
	if e.Leader != "" {
		n++
	}
	for _, p := range e.Peers {
		if p.InSync && !p.Offline {
			n++
		}
	}
	return n
}
