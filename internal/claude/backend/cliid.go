package backend

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// The editor knows a session by one id. The CLI takes another one with each /clear, for a
// transcript of its own; what was said before stays in the old one. Notes lead from one to
// the other, for whoever opens the session next.
const (
	// cliNote is of a session: the CLI's ids of it, the newest first, without its own.
	cliNote = "cli"
	// sessionNote is of such an id: the session.
	sessionNote = "session"
)

// maxCLIIDs bounds how many ids are kept of a session.
const maxCLIIDs = 100

// cliIDs are all ids that the CLI had for a session, the newest first.
func (n notes) cliIDs(session string) []string {
	ids := strings.Fields(n.of(session, cliNote))
	return append(slices.DeleteFunc(ids, func(id string) bool { return !transcript.ValidID(id) }), session)
}

// sessionOf is the session of an id of the CLI's.
func (n notes) sessionOf(cli string) string {
	if session := n.of(cli, sessionNote); transcript.ValidID(session) {
		return session
	}
	return cli
}

// superseded reports whether something was said in the session under a newer id. Until then
// what was cleared stands for it in a list, which has none in which nothing was said.
func (n notes) superseded(configDir string, i transcript.Info) bool {
	for _, cli := range n.cliIDs(n.sessionOf(i.ID)) {
		if cli == i.ID {
			return false
		}
		path, _ := transcript.Find(configDir, cli, i.Cwd)
		if _, said := transcript.Stat(path); said {
			break
		}
	}
	return true
}

// cliID is the CLI's own id of the conversation.
func (s *conversation) cliID() string {
	if id := s.named.Load(); id != nil {
		return *id
	}
	return s.id
}

// goesBy takes the id that the CLI says it has for the conversation.
func (s *conversation) goesBy(id string) {
	if id == s.cliID() || !transcript.ValidID(id) {
		return
	}
	s.named.Store(&id)
	s.spentBefore, s.spent = s.spentBefore+s.spent, 0 // it counts anew
	n := s.agent.notes(s.env)
	ids := n.cliIDs(s.id)
	ids = append([]string{id}, ids[:min(len(ids)-1, maxCLIIDs)]...)
	n.keep(id, sessionNote, s.id)
	n.keep(s.id, cliNote, strings.Join(ids, "\n"))
}

// find finds what the CLI has written of a session, and the id that it has there.
func (a *backend) find(env []string, session acp.SessionId, cwd string) (path, cli string, err error) {
	for _, cli = range a.notes(env).cliIDs(string(session)) {
		if path, err = transcript.Find(a.configDir(env), cli, cwd); err == nil {
			return path, cli, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", conn.NotFound("there is no session %q in %s", session, cwd)
	}
	return "", "", conn.Invalid("%s", err)
}
