package claude_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) {
	claudetest.Main()
	bridgeMain()
	leaktest.Parallel(8)
	leaktest.Main(m)
}

const bridgeVariable = "CLAUDE_TEST_BRIDGE"

// bridgeMain is a process that starts the CLI which the variable names and waits
// to be killed.
func bridgeMain() {
	path := os.Getenv(bridgeVariable)
	if path == "" {
		return
	}
	p, err := claude.Start(context.Background(), claude.Options{Path: path})
	if err == nil {
		_, err = p.Initialize(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("pid", p.Pid())
	select {}
}

type object = map[string]any

// session is a started process and what its test needs.
type session struct {
	*claude.Process
	t        testing.TB
	ctx      context.Context
	cli      *claudetest.CLI
	messages chan claude.Message // some wait here, further ones in the CLI
	closing  context.Context
	close    context.CancelFunc
}

// patience is how long a test waits for something that must happen.
const patience = 5 * time.Minute

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// run starts a stand-in with that script. It is closed with the test.
func run(t testing.TB, script claudetest.Script, change ...func(*claude.Options)) *session {
	t.Helper()
	s := &session{t: t, ctx: testContext(t), cli: claudetest.New(t, script)}
	s.start(change...)
	return s
}

// prompted is run, with a prompt that the stand-in has.
func prompted(t testing.TB, script claudetest.Script, change ...func(*claude.Options)) *session {
	t.Helper()
	s := run(t, script, change...)
	require.NoError(t, s.Prompt("hi"))
	return s
}

// initialized is run, of a stand-in that is ready.
func initialized(t testing.TB, script claudetest.Script, change ...func(*claude.Options)) *session {
	t.Helper()
	s := run(t, script, change...)
	acptest.Must(s.Initialize(s.ctx))
	return s
}

func (s *session) start(change ...func(*claude.Options)) {
	s.t.Helper()
	opts := claude.Options{
		Path: s.cli.Path, Dir: s.t.TempDir(), SessionID: claude.NewSessionID(),
		EOFGrace: 2 * time.Second, TermGrace: 2 * time.Second,
	}
	for _, c := range change {
		c(&opts)
	}
	s.launch(opts)
}

func (s *session) launch(opts claude.Options) {
	s.t.Helper()
	messages := make(chan claude.Message, 700)
	closing, stop := context.WithCancel(context.Background())
	if opts.OnMessage == nil {
		opts.OnMessage = func(m claude.Message) {
			select {
			case messages <- m:
			case <-closing.Done():
			}
		}
	}
	p := acptest.Must(claude.Start(s.ctx, opts))
	s.Process, s.messages, s.closing, s.close = p, messages, closing, stop
	s.t.Cleanup(func() {
		stop()
		require.NoError(s.t, p.Close(context.Background()))
	})
}

// Close drops what was not read.
func (s *session) Close(ctx context.Context) error {
	s.close()
	return s.Process.Close(ctx)
}

// Next returns the next message, and after the last why there are no more.
func (s *session) Next(ctx context.Context) (claude.Message, error) {
	gone, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	process := s.Process
	go func() { ended <- process.Wait(gone) }()
	if s.closing.Err() != nil {
		return claude.Message{}, <-ended
	}
	select {
	case m := <-s.messages:
		return m, nil
	case err := <-ended:
		if len(s.messages) > 0 {
			return <-s.messages, nil
		}
		return claude.Message{}, err
	}
}

// until reads messages up to the first that is of that type, and returns all.
func (s *session) until(typ string) []claude.Message {
	s.t.Helper()
	var all []claude.Message
	for {
		m, err := s.Next(s.ctx)
		require.NoError(s.t, err, "waiting for %s after %d messages", typ, len(all))
		all = append(all, m)
		if m.Type == typ {
			return all
		}
	}
}

// last is the last message of until.
func (s *session) last(typ string) claude.Message {
	s.t.Helper()
	all := s.until(typ)
	return all[len(all)-1]
}

// end reads to the end and returns the error that says why.
func (s *session) end() error {
	s.t.Helper()
	for {
		if _, err := s.Next(s.ctx); err != nil {
			return err
		}
	}
}

func turns(steps ...claudetest.Step) claudetest.Script {
	return claudetest.Script{Turns: []claudetest.Turn{{Steps: steps}}}
}

// deltas joins the text deltas of messages.
func deltas(messages []claude.Message) string {
	text := ""
	for _, m := range messages {
		text += field(m, "event.delta.text").String()
	}
	return text
}

// toolResults lists the calls whose results are among messages, in order.
func toolResults(messages []claude.Message) (ids []string) {
	for _, m := range messages {
		if id := field(m, "message.content.0.tool_use_id"); m.Type == claude.TypeUser && id.Exists() {
			ids = append(ids, id.String())
		}
	}
	return ids
}

func field(m claude.Message, path string) gjson.Result { return gjson.GetBytes(m.Raw, path) }
