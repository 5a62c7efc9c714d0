// Package hubstore keeps values in NATS JetStream: a server that is embedded
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
package hubstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	// them, used in place of an embedded one. Creds is a file with credentials as
	// NATS makes them or with one line USER:PASSWORD, or empty.
	URL, Creds string
	// Replicas is how many servers of a cluster keep each value at least; 0 is 1.
	Replicas int
	// Bucket is the name of the key-value bucket; empty is "questions".
	Bucket string
	// Report gets what happens to the connection to a server elsewhere, and what
	// is lost of a folder that was damaged; nil drops it. It must not block.
	Report func(problem string)
}

var (
	// ErrConflict means that the value is not the one that was to be replaced:
	// somebody else was first.
	ErrConflict = errors.New("the value has changed meanwhile")
	// ErrTooLarge means that the value is longer than [Store.Limit].
	ErrTooLarge = errors.New("the value is too large")
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
	server *server.Server // nil where it is elsewhere
	conn   *nats.Conn
	// shared says that other processes may have the bucket, too.
	shared   bool
	replicas int
	js       jetstream.JetStream
	direct   nats.JetStreamContext // for what js cannot do
	kv       jetstream.KeyValue
	most     int         // bytes of a value with its headers in this bucket; 0 is no limit
	subject  string      // of what is told and not kept
	batches  atomic.Bool // the bucket takes batches
	group    group
	watches  sync.Map // each a *watch, see [Store.wrote]
	fence    fence
	main     *Store // of a bucket beside it
	mark     string // key of its marks: others have one of a few others, mostly
	name     string
	run      string // of an embedded server, as a part of the name
	once     sync.Once
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
	o.Bucket = cmp.Or(o.Bucket, "questions")
	if err := s.connect(o); err != nil {
		return err
	}
	s.shared, s.replicas = o.URL != "", max(o.Replicas, 1)
	var err error
	wait, opts := readyTime, []jetstream.JetStreamOpt{jetstream.WithDefaultTimeout(readyTime)} // a slow disk is no reason to give up
	if s.shared {
		wait, opts = attemptTime, nil // another server may be faster
	}
	if s.js, err = jetstream.New(s.conn, opts...); err == nil {
		s.direct, err = s.conn.JetStream(nats.MaxWait(wait))
	}
	if err != nil {
		return fmt.Errorf("JetStream: %w", err)
	}
	if err = s.use(ctx, o.Bucket, "questions of agents", 0); err == nil && !s.shared {
		s.missing(ctx, o.Report)
	}
	return err
}

// Beside opens one more bucket on the same connection, whose name begins with
// that of this one. It ends with this store. Its values are forgotten some time after
// they were written; a keep of 0 keeps them.
func (s *Store) Beside(ctx context.Context, suffix, description string, keep time.Duration) (*Store, error) {
	other := &Store{server: s.server, conn: s.conn, shared: s.shared, replicas: s.replicas, js: s.js, direct: s.direct, main: s}
	other.once.Do(func() {}) // the connection is not its own
	return other, other.use(ctx, s.kv.Bucket()+suffix, description, keep)
}

// use opens a bucket as it is, or makes it.
func (s *Store) use(ctx context.Context, name, description string, keep time.Duration) (err error) {
	config := jetstream.KeyValueConfig{
		Bucket: name, Description: description, History: 1, TTL: keep,
		Storage: jetstream.FileStorage, Replicas: s.replicas,
	}
	made := false
	for begin := time.Now(); ; {
		if s.kv, err = s.js.KeyValue(ctx, name); errors.Is(err, jetstream.ErrBucketNotFound) {
			s.kv, err = s.js.CreateKeyValue(ctx, config)
			made = made || err == nil
		}
		var status jetstream.KeyValueStatus
		if err == nil {
			status, err = s.kv.Status(ctx)
		}
		if err == nil {
			s.most = max(int(status.Config().MaxValueSize), 0)
			if bucket, ok := status.(*jetstream.KeyValueBucketStatus); ok {
				s.name = strconv.FormatInt(bucket.StreamInfo().Created.UnixNano(), 36) + s.run
			}
			s.batches.Store(s.allowBatches(ctx, made || !s.shared))
			if s.replicas > 1 && !made {
				s.raise(ctx)
			}
			break
		}
		if ctx.Err() != nil || !s.shared || !soon(err) || time.Since(begin) > readyTime {
			return fmt.Errorf("JetStream bucket %q: %w", name, err)
		}
		pause(ctx, startPause)
	}
	s.subject = "acp-bridge.hub." + name
	s.mark = "mark" + rand.Text()[:1]
	return nil
}

// allowBatches reports whether the bucket takes batches, and makes it so if it is
// ours. A server that does not know them leaves them out.
func (s *Store) allowBatches(ctx context.Context, ours bool) bool {
	stream, err := s.js.Stream(ctx, s.stream())
	if err != nil {
		return false
	}
	config := stream.CachedInfo().Config
	if config.AllowAtomicPublish || !ours {
		return config.AllowAtomicPublish
	}
	config.AllowAtomicPublish = true
	stream, err = s.js.UpdateStream(ctx, config)
	return err == nil && stream.CachedInfo().Config.AllowAtomicPublish
}

// startPause is between two tries to open a bucket.
const startPause = 250 * time.Millisecond

// soon reports whether a bucket that cannot be opened may be there in a moment: of
// one that another process makes just now, a server of a cluster may know no stream.
func soon(err error) bool {
	return passes(err) || errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketExists)
}

// passes reports whether what a server says may be another thing in a moment: a
// cluster has no leader yet, or somebody else makes the bucket just now.
func passes(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.Code == 503
	}
	return slices.ContainsFunc([]error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrReconnectBufExceeded,
		jetstream.ErrNoStreamResponse, jetstream.ErrBucketExists, errFenced,
	}, func(e error) bool { return errors.Is(err, e) })
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Name tells the bucket from all others, also from one of the same name that was
// made anew: their revisions have nothing to do with each other. An embedded one has a dot and
// another ending each time: its files may have been mended or restored, and then it gives
// revisions again, for something else.
func (s *Store) Name() string { return s.name }

// Shared reports whether other processes may have the bucket, too.
func (s *Store) Shared() bool { return s.shared }

// Connected reports whether there is a connection to the server now.
func (s *Store) Connected() bool { return s.conn.IsConnected() }

// Limit is how long a value may be. It is the server's, and another server of a
// cluster may have another one.
func (s *Store) Limit() int {
	limit := int(s.conn.MaxPayload())
	if s.most > 0 {
		limit = min(limit, s.most)
	}
	return max(limit-headRoom, 0)
}

// headRoom is more than the headers of a write take.
const headRoom = 512

// Tell sends something to all processes that have the bucket and listen, see
// [Store.Hear]. It is kept nowhere and may get lost.
func (s *Store) Tell(data []byte) error { return s.conn.Publish(s.subject, data) }

// Hear calls f with everything that the others tell, one after another, until stop
// is called.
func (s *Store) Hear(f func(data []byte)) (stop func(), err error) {
	sub, err := s.conn.Subscribe(s.subject, func(m *nats.Msg) { f(m.Data) })
	if err == nil {
		err = s.conn.FlushTimeout(readyTime) // from now on nothing is missed
	}
	if errors.Is(err, nats.ErrConnectionClosed) && !s.conn.IsClosed() { // it was lost meanwhile, and that with it
		err = s.conn.FlushTimeout(readyTime)
	}
	if err != nil {
		return nil, fmt.Errorf("listen to others: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // it ends with the connection, too
}

func (s *Store) connect(o Options) (err error) {
	if o.URL == "" {
		if err := s.embed(o.Dir, o.Bucket, o.Report); err != nil {
			return err
		}
		s.conn, err = dial("", nats.InProcessServer(s.server), nats.Timeout(readyTime))
		return err
	}
	opts := []nats.Option{
		nats.Name("acp-bridge-hub"),
		nats.NoEcho(), // what is told is for the others
		nats.MaxReconnects(-1),
		// The next server is tried at once, and one that says nothing is left.
		nats.ReconnectWait(250 * time.Millisecond),
		nats.PingInterval(2 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.ReconnectBufSize(-1), // what was given up must not be written when a server is back
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.Report("the connection to NATS is lost: " + err.Error())
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { o.Report("the connection to NATS is back") }),
	}
	if o.Creds != "" {
		who, err := credentials(o.Creds)
		if err != nil {
			return err
		}
		opts = append(opts, who)
	}
	s.conn, err = dial(o.URL, opts...)
	if err != nil {
		if bad := new(url.Error); errors.As(err, &bad) && bad.Op == "parse" { // it has all of the address in it
			return errors.New("NATS: an address cannot be read: expected nats://USER:PASSWORD@HOST:PORT, with escapes such as %40 and %2C in a password")
		}
		return fmt.Errorf("NATS at %s: %w", hostsOf(o.URL), err)
	}
	return nil
}

// dial connects. A server that is slow to speak is given as long as one that comes up;
// each try is short, because another server may be faster. So is one that took this side
// for slow and asked whether it is there, which the client does not understand while it
// connects.
func dial(url string, opts ...nats.Option) (conn *nats.Conn, err error) {
	for begin := time.Now(); ; {
		conn, err = nats.Connect(url, opts...)
		var late net.Error
		again := errors.As(err, &late) && late.Timeout() || err != nil && strings.HasSuffix(err.Error(), "got 'PING'")
		if !again || time.Since(begin) > readyTime {
			return conn, err
		}
	}
}

// hostsOf names servers without the passwords that their addresses may have. Where
// one has an @, what stands without it may be a part of a password.
func hostsOf(urls string) string {
	var hosts []string
	for _, h := range strings.Split(urls, ",") {
		if at := strings.LastIndexByte(h, '@'); at >= 0 {
			hosts = append(hosts, h[at+1:])
		} else if !strings.Contains(urls, "@") {
			hosts = append(hosts, h)
		}
	}
	return strings.Join(hosts, ", ")
}

// maxValue is what an embedded server takes: as much as NATS advises at most.
const maxValue = 8 << 20

// embed starts a server of our own that nobody else can reach.
func (s *Store) embed(dir, bucket string, report func(problem string)) error {
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
	problem, err := mend(dir, bucket, time.Now())
	if err != nil {
		return err
	}
	if problem != "" {
		report(problem)
	}
	s.run = "." + rand.Text()[:8]
	s.server, err = server.NewServer(&server.Options{
		ServerName: "acp-bridge-hub", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, SyncAlways: true,
		JetStreamMaxMemory: 1 << 20, JetStreamMaxStore: -1,
		MaxPayload:      maxValue,
		WriteDeadline:   readyTime, // who is late to read on a busy machine is no reason to give up, either
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
