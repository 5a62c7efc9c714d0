package backend_test

import (
	"bytes"
	"sync"
	"testing"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// play joins a client that behaves like a row to an agent that asks a question
// in its first turn.
func (r row) play(t *testing.T, questions ...map[string]any) (*client, *ct.CLI) {
	cli := ct.New(t, turns(
		steps{ct.Message(ct.Question("toolu_1", questions...)), ct.Text("Noted.")},
		steps{ct.Message(ct.Question("toolu_2", questions...)), ct.Text("Next.")},
	))
	return r.connect(t, cli, scenario{}), cli
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
