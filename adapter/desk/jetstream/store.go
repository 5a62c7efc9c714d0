// Package jetstream keeps values in NATS JetStream: a server that is embedded
// in the process and listens nowhere, or one elsewhere. Both are used the same
// way.
//
//	store, err := jetstream.Open(ctx, jetstream.Options{Dir: dir})
//	defer store.Close()
//	revision, err := store.Create(ctx, "c.1", value)
//	revision, err = store.Update(ctx, "c.1", other, revision) // or ErrConflict
//
// A write that has returned without an error is on disk, or on a quorum of a
// cluster's disks. Of several writers one wins: the revision decides.
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options say where values are kept.
type Options struct {
	// Dir is the folder of the embedded server. It is made if it is not there.
	// Only one process may use it at a time; the caller sees to that.
	Dir string
	// URL is a server elsewhere, or several of a cluster with commas between
	// them, used in place of an embedded one. Creds is a file with credentials,
	// or empty.
	URL, Creds string
	// Replicas is how many servers of a cluster keep each value; 0 is 1.
	Replicas int
	// Bucket is the name of the key-value bucket; empty is "questions".
	Bucket string
	// Report gets what happens to the connection to a server elsewhere; nil
	// drops it. It must not block.
	Report func(problem string)
}

var (
	// ErrConflict means that the value is not the one that was to be replaced:
	// somebody else was first.
	ErrConflict = errors.New("the value has changed meanwhile")
	// ErrNotFound means that there is no such value.
	ErrNotFound = errors.New("no such value")
)

// Entry is a value as it is kept.
type Entry struct {
	Key   string
	Value []byte // nil once it was deleted
	// Revision is higher than that of every earlier write of the bucket.
	Revision uint64
}

// Store is an open bucket. Its methods may be called from any goroutine.
type Store struct {
	server  *server.Server // nil where it is elsewhere
	conn    *nats.Conn
	kv      jetstream.KeyValue
	subject string // of what is told and not kept
	once    sync.Once
}

// readyTime is how long a server may take to come up. An embedded one took 5 ms
// here; one with many values on a slow disk takes longer, and so does a cluster.
const readyTime = 30 * time.Second

// Open opens the bucket, and makes it if it is not there.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{}
	if err := s.open(ctx, o); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, o Options) error {
	if o.Report == nil {
		o.Report = func(string) {}
	}
	if err := s.connect(o); err != nil {
		return err
	}
	js, err := jetstream.New(s.conn)
	if err != nil {
		return fmt.Errorf("JetStream: %w", err)
	}
	bucket := jetstream.KeyValueConfig{
		Bucket: o.Bucket, Description: "questions of agents", History: 1,
		Storage: jetstream.FileStorage, Replicas: max(o.Replicas, 1),
	}
	if bucket.Bucket == "" {
		bucket.Bucket = "questions"
	}
	for begin := time.Now(); ; {
		if s.kv, err = js.KeyValue(ctx, bucket.Bucket); errors.Is(err, jetstream.ErrBucketNotFound) {
			s.kv, err = js.CreateKeyValue(ctx, bucket)
		}
		if err == nil {
			break
		}
		if ctx.Err() != nil || o.URL == "" || !passes(err) || time.Since(begin) > readyTime {
			return fmt.Errorf("JetStream bucket %q: %w", bucket.Bucket, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(startPause):
		}
	}
	s.subject = "acp-bridge.hub." + bucket.Bucket
	return nil
}

// startPause is between two tries to open a bucket.
const startPause = 250 * time.Millisecond

// passes reports whether what a server says may be another thing in a moment: a
// cluster has no leader yet, or somebody else makes the bucket just now.
func passes(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code == 503
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrBucketExists)
}

// Shared reports whether other processes may have the bucket, too.
func (s *Store) Shared() bool { return s.server == nil }

// Tell sends something to all processes that have the bucket and listen, see
// [Store.Hear]. It is kept nowhere and may get lost.
func (s *Store) Tell(data []byte) error {
	if err := s.conn.Publish(s.subject, data); err != nil {
		return fmt.Errorf("tell others: %w", err)
	}
	return nil
}

// Hear calls f with everything that is told, by this process too, one after
// another, until stop is called.
func (s *Store) Hear(f func(data []byte)) (stop func(), err error) {
	sub, err := s.conn.Subscribe(s.subject, func(m *nats.Msg) { f(m.Data) })
	if err == nil {
		err = s.conn.FlushTimeout(readyTime) // from now on nothing is missed
	}
	if err != nil {
		return nil, fmt.Errorf("listen to others: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // it ends with the connection, too
}

func (s *Store) connect(o Options) (err error) {
	if o.URL == "" {
		if err := s.embed(o.Dir); err != nil {
			return err
		}
		s.conn, err = nats.Connect("", nats.InProcessServer(s.server))
		return err
	}
	opts := []nats.Option{
		nats.Name("acp-bridge-hub"),
		nats.MaxReconnects(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.Report("the connection to NATS is lost: " + err.Error())
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { o.Report("the connection to NATS is back") }),
	}
	if o.Creds != "" {
		opts = append(opts, nats.UserCredentials(o.Creds))
	}
	if s.conn, err = nats.Connect(o.URL, opts...); err != nil {
		return fmt.Errorf("NATS at %s: %w", hostsOf(o.URL), err)
	}
	return nil
}

// hostsOf names servers without the passwords that their addresses may have.
func hostsOf(urls string) string {
	hosts := strings.Split(urls, ",")
	for i, h := range hosts {
		hosts[i] = h[strings.LastIndexByte(h, '@')+1:]
	}
	return strings.Join(hosts, ", ")
}

// embed starts a server of our own that nobody else can reach.
func (s *Store) embed(dir string) error {
	if dir == "" {
		return errors.New("JetStream: expected a folder or an address, got neither")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	s.server, err = server.NewServer(&server.Options{
		ServerName: "acp-bridge-hub", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, SyncAlways: true,
		JetStreamMaxMemory: 1 << 20, JetStreamMaxStore: -1,
		NoSystemAccount: true,
	})
	if err != nil {
		return fmt.Errorf("embedded NATS: %w", err)
	}
	s.server.Start()
	if !s.server.ReadyForConnections(readyTime) {
		return fmt.Errorf("embedded NATS is not ready after %s", readyTime)
	}
	return nil
}

// Close ends the connection and the embedded server. What was written stays.
func (s *Store) Close() {
	s.once.Do(func() {
		if s.conn != nil {
			s.conn.Close()
		}
		if s.server != nil {
			s.server.Shutdown()
			s.server.WaitForShutdown()
		}
	})
}

// Create writes a value under a key that has none, or fails with [ErrConflict].
func (s *Store) Create(ctx context.Context, key string, value []byte) (revision uint64, err error) {
	revision, err = s.kv.Create(ctx, key, value)
	return revision, s.wrap("create", key, err)
}

// Update replaces the value that has this revision, or fails with
// [ErrConflict].
func (s *Store) Update(ctx context.Context, key string, value []byte, old uint64) (revision uint64, err error) {
	revision, err = s.kv.Update(ctx, key, value, old)
	return revision, s.wrap("update", key, err)
}

// Delete removes the value that has this revision, or fails with
// [ErrConflict].
func (s *Store) Delete(ctx context.Context, key string, old uint64) error {
	return s.wrap("delete", key, s.kv.Purge(ctx, key, jetstream.LastRevision(old)))
}

// Get returns a value, or [ErrNotFound].
func (s *Store) Get(ctx context.Context, key string) (Entry, error) {
	e, err := s.kv.Get(ctx, key)
	if err != nil {
		return Entry{}, s.wrap("get", key, err)
	}
	return Entry{key, e.Value(), e.Revision()}, nil
}

// Watch calls f for every value that there is, then ready once, and then f for
// every change, in the order of their revisions. It returns when ctx ends or the
// store is closed. Neither function may block for long.
func (s *Store) Watch(ctx context.Context, f func(Entry), ready func()) error {
	w, err := s.kv.WatchAll(ctx)
	if err != nil {
		return fmt.Errorf("watch the bucket: %w", err)
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-w.Updates():
			switch {
			case !ok && ctx.Err() != nil:
				return ctx.Err()
			case !ok:
				return errors.New("watch the bucket: the connection is closed")
			case e == nil:
				ready()
			case e.Operation() == jetstream.KeyValuePut:
				f(Entry{e.Key(), e.Value(), e.Revision()})
			default:
				f(Entry{e.Key(), nil, e.Revision()})
			}
		}
	}
}

func (s *Store) wrap(what, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		err = ErrConflict
	case errors.Is(err, jetstream.ErrKeyNotFound):
		err = ErrNotFound
	}
	return fmt.Errorf("%s %q: %w", what, key, err)
}
