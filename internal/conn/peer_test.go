package conn

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// peer is the other end of a Conn, line by line. Tests run it inside synctest,
// where whatever hangs fails at once.
type peer struct {
	t    testing.TB
	conn *Conn
	in   *io.PipeWriter // the Conn reads from it
	out  *io.PipeReader // the Conn writes to it
	br   *bufio.Reader
}

func newPeer(t testing.TB, h Handler, opts *Options) *peer {
	if opts == nil {
		opts = &Options{}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &peer{t: t, conn: New(inR, outW, h, opts), in: inW, out: outR, br: bufio.NewReader(outR)}
	t.Cleanup(p.close)
	return p
}

func (p *peer) close() {
	p.in.Close()
	p.out.Close()
	p.conn.Close()
}

func (p *peer) write(lines ...string) {
	for _, line := range lines {
		_, err := io.WriteString(p.in, line+"\n")
		require.NoError(p.t, err)
	}
}

func (p *peer) read() string {
	line, err := p.br.ReadString('\n')
	require.NoError(p.t, err)
	return line[:len(line)-1]
}

// discard reads on, so that the Conn's writer never waits.
func (p *peer) discard() { go io.Copy(io.Discard, p.br) }

// funcs is a Handler of two functions, either of which may be nil.
type funcs struct {
	request func(ctx context.Context, method string, params json.RawMessage) (any, error)
	notify  func(ctx context.Context, method string, params json.RawMessage)
}

func (f funcs) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if f.request == nil {
		return method, nil
	}
	return f.request(ctx, method, params)
}

func (f funcs) Notify(ctx context.Context, method string, params json.RawMessage) {
	if f.notify != nil {
		f.notify(ctx, method, params)
	}
}

// acceptor adds an Accept to funcs.
type acceptor struct {
	funcs
	accept func(ctx context.Context, method string, params json.RawMessage) Answer
}

func (a acceptor) Accept(ctx context.Context, method string, params json.RawMessage) Answer {
	return a.accept(ctx, method, params)
}

type result struct {
	raw json.RawMessage
	err error
}

// call starts a Call, and returns when that waits for the peer or is done.
func (p *peer) call(ctx context.Context, method string, params any) <-chan result {
	ch := make(chan result, 1)
	go func() {
		raw, err := p.conn.Call(ctx, method, params)
		ch <- result{raw, err}
	}()
	synctest.Wait()
	return ch
}

// bubble runs a test whose clock moves when nothing else does.
func bubble(t *testing.T, name string, test func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}
