package editor

import (
	"errors"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/session"
)

// requestError is an error as the editor gets it.
func requestError(err error) *acp.RequestError {
	if re, ok := errors.AsType[*acp.RequestError](err); ok {
		return re
	}
	return conn.Internal(err.Error())
}

// ErrGone means that the agent's process has ended.
var ErrGone = session.ErrGone

// ErrPartStopped is why a request of a sub-agent is taken back that the user has
// stopped. The turn goes on.
var ErrPartStopped = session.ErrPartStopped

// ErrTakenBack is why a request is no longer asked: the turn was cancelled, or
// the session or the agent ended.
var ErrTakenBack = errors.New("the request was taken back")

// Why a session is over.
var (
	ErrSessionClosed       = session.ErrSessionClosed
	errEditorGone    error = session.Ended{Text: "the editor closed the connection", Kind: convert.ErrDisconnected}
	errStopped       error = session.Ended{Text: "acp-bridge was stopped", Kind: convert.ErrDisconnected}
)

// unattended reports whether all sessions are over with this one: nobody is told.
func unattended(why error) bool { return why == errEditorGone || why == errStopped }

// endOf is why a session is over after a request.
func endOf(method string) error {
	if method == acp.AgentMethodSessionDelete {
		return session.ErrSessionDeleted
	}
	return ErrSessionClosed
}
