package client

import (
	"errors"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// errGone means that the agent closed the connection.
var errGone = errors.New("the agent ended the connection")

// agentError is what an agent said, in one line or several.
type agentError struct{ what, words string }

func (e agentError) Error() string {
	if e.words == "" {
		return e.what
	}
	return e.what + ": " + e.words
}

// split takes the words off an error whose agent used several lines.
func split(err error) (words string, short error) {
	if e, ok := errors.AsType[agentError](err); ok && strings.Contains(e.words, "\n") {
		return e.words, agentError{what: e.what}
	}
	return "", err
}

// explain says what an agent's error means to a person.
func (l *link) explain(err error) error {
	var re *acp.RequestError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &re) && re.Code == ndjson.AuthRequired:
		return agentError{"the agent needs a login", said(re) + l.logins()}
	case errors.As(err, &re):
		return agentError{"the agent answered with an error", said(re)}
	case errors.Is(err, conn.ErrClosed):
		return errGone
	}
	return err
}

// said is the error in the agent's words: its message, and where data holds
// more than that, the data.
func said(re *acp.RequestError) string {
	words := strings.TrimSpace(clean.Block(re.Message))
	data := re.Data
	if m, ok := data.(map[string]any); ok {
		for _, key := range []string{"details", "message", "error"} {
			if m[key] != nil {
				data = m[key]
				break
			}
		}
	}
	if s, ok := data.(string); ok && clean.Line(s) != "" && !strings.Contains(words, clean.Line(s)) {
		words += ": " + clean.Line(s)
	}
	return clean.Truncate(words, 2000)
}

// logins lists the ways to log in that the agent named.
func (l *link) logins() string {
	var ways []string
	for _, m := range l.auth {
		var name string
		var description *string
		switch {
		case m.Agent != nil:
			name, description = m.Agent.Name, m.Agent.Description
		case m.Terminal != nil:
			name, description = m.Terminal.Name, m.Terminal.Description
		case m.EnvVar != nil:
			name, description = m.EnvVar.Name, m.EnvVar.Description
		}
		way := clean.Line(name)
		if description != nil && clean.Line(*description) != "" {
			way += " (" + clean.Line(*description) + ")"
		}
		if way != "" {
			ways = append(ways, way)
		}
	}
	if len(ways) == 0 {
		return ""
	}
	return "\nIt offers:\n  " + strings.Join(ways, "\n  ")
}
