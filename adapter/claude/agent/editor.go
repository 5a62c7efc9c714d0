package agent

import (
	"context"
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
)

// editor is the editor as the adapter sees it: its requests go over the
// connection, its updates through the session's outlet.
type editor struct{ agent *Agent }

func (e *editor) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return e.agent.connection().RequestPermission(ctx, r)
}

func (e *editor) CreateElicitation(ctx context.Context, request any) (json.RawMessage, error) {
	return e.agent.connection().CreateElicitation(ctx, request)
}

func (e *editor) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	return e.update(n, true)
}

func (e *editor) SessionUpdateSoon(_ context.Context, n acp.SessionNotification) error {
	return e.update(n, false)
}

func (e *editor) update(n acp.SessionNotification, urgent bool) error {
	s := e.agent.known(string(n.SessionId))
	if s == nil {
		return errSessionClosed
	}
	s.out.put(n, urgent)
	return nil
}

func (e *editor) AskInConversation(ctx context.Context, m adapter.Message) (string, error) {
	s, err := e.agent.session(acp.SessionId(m.Session))
	if err != nil {
		return "", err
	}
	return s.park(ctx, m)
}

func (e *editor) Done() <-chan struct{} { return e.agent.connection().Done() }

// ask returns the adapter that fits the client.
func (a *Agent) ask() *adapter.Adapter {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asker
}

// questionChanged keeps track of the questions that are in front of the user.
func (a *Agent) questionChanged(c adapter.Change) {
	s := a.known(c.Call.Session)
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.State == adapter.Asking && c.Rung != adapter.Conversation {
		s.asking[c.Call.ID] = true
	} else {
		delete(s.asking, c.Call.ID)
	}
	if c.State == adapter.Asking {
		a.log.Debug("question", "session", c.Call.Session, "call", c.Call.ID, "question", c.Question+1, "rung", c.Rung.String())
	}
}
