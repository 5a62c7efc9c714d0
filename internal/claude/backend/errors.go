package backend

import (
	"errors"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

func authRequired(message string) *acp.RequestError {
	return &acp.RequestError{Code: ndjson.AuthRequired, Message: clean.Block(message)}
}

// loginHelp says what to do about a missing login.
const loginHelp = "Claude Code is not logged in: run `acp-bridge login` or `claude /login` in a terminal, or set ANTHROPIC_API_KEY for the editor"

// processError turns an error of the CLI's process into one for the editor.
func processError(err error) *acp.RequestError {
	if re, ok := errors.AsType[*acp.RequestError](err); ok {
		return re
	}
	if exit, ok := errors.AsType[*claude.ExitError](err); ok {
		return conn.Internal(exit.Error())
	}
	return conn.Internal(err.Error())
}
