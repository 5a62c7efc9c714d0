package agent

import (
	"context"
	"encoding/json"
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
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

// questionChanged logs how questions are asked.
func (a *Agent) questionChanged(e desk.Entry) {
	if e.State == desk.Asking && e.Kind != desk.Permission {
		a.log.Debug("question", "session", e.Call.Session, "call", e.Call.ID, "question", e.Question+1, "rung", e.Rung)
	}
}

// asks reports whether a question of the session is in front of the user. One
// in the conversation does not count.
func (s *session) asks() bool {
	return slices.ContainsFunc(s.agent.desk.List(), func(e desk.Entry) bool {
		return e.Call.Session == s.id && e.State == desk.Asking && e.Kind != desk.Permission && e.Rung != adapter.Conversation.String()
	})
}
