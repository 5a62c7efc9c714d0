package backend

import (
	"context"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
)

const (
	methodAuthStatus = "auth/status"
	authStatusUpdate = "auth/status_update"
)

// What auth/status knows of a login.
const (
	authKnown   = "authenticated"
	authMissing = "unauthenticated"
	authUnclear = "unknown"
)

// Tell implements [editor.Backend].
func (a *backend) Tell(notify func(method string, params any)) { a.notify = notify }

// authStatus answers auth/status. It is no error that nobody is logged in.
func (a *backend) authStatus(ctx context.Context) (any, error) {
	state := authMissing
	ok, err := a.loggedIn(ctx)
	switch {
	case err != nil:
		a.log.Debug("whether somebody is logged in is not known", "err", err)
		state = authUnclear
	case ok:
		state = authKnown
	}
	a.authTold.Store(&state)
	return object{"state": state}, nil
}

// authIs tells a client that knows drafts how it is about the login, if it was told
// something else, or nothing. It may wait for the editor to read.
func (a *backend) authIs(state string) {
	if !a.editor().drafts {
		return
	}
	if told := a.authTold.Swap(&state); told == nil || *told != state {
		a.notify(authStatusUpdate, object{"state": state})
	}
}

// authSeen takes from the end of a turn how it is about the login: Claude Code and its
// model are the ones who know. A turn that went well is news only to a client that was
// told otherwise.
func (s *conversation) authSeen(end editor.TurnEnd) {
	told := s.agent.authTold.Load()
	switch {
	case s.badLogin && end.Err != nil:
		s.agent.authIs(authMissing)
	case end.Reason == acp.StopReasonEndTurn && told != nil && *told == authMissing:
		s.agent.authIs(authKnown)
	}
}
