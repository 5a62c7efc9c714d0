package backend

import (
	"context"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// configDir is where the CLI keeps its sessions, started with env on top of its
// environment.
func (a *backend) configDir(env []string) string { return transcript.ConfigDir(a.environ(env)) }

// reopen answers session/load and session/resume: it goes on with a session that the CLI has
// on disk, and replays what was said first if it is loaded. The responses are alike.
func (a *backend) reopen(ctx context.Context, o editor.Opening) (*conversation, any, error) {
	u, id, err := a.setupOf(o.Params)
	if err != nil {
		return nil, nil, err
	}
	path, cli, err := a.find(u.env, id, u.cwd)
	if err != nil {
		return nil, nil, err
	}
	s := a.prepare(o, string(id), u)
	s.named.Store(&cli)
	s.prompted.Store(true)
	s.recall()
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	s.reasks = s.unanswered(ctx, path) // before the CLI can write
	// The CLI starts while its file is read.
	started := make(chan error, 1)
	go func() { started <- s.start(ctx) }()
	if o.Method == acp.AgentMethodSessionLoad {
		if err := s.replay(ctx, path); err != nil {
			a.log.Warn("the transcript was not read to its end", "session", s.id, "err", err)
		}
	}
	if err := <-started; err != nil {
		return nil, nil, processError(err)
	}
	return s, conn.Then(acp.LoadSessionResponse{Modes: s.modes(), ConfigOptions: s.options(), Meta: s.reasks.meta()}, s.goOn), nil
}

// goOn tells the editor what it needs, and asks what is still open.
func (s *conversation) goOn() {
	s.tellPastParts()
	s.announce()
	s.reask(s.reasks)
}

// deleteSession answers session/delete for a session that is not open, or not any
// more: cwd and env are then what it was opened with.
func (a *backend) deleteSession(id acp.SessionId, cwd string, env []string) (any, error) {
	dir, notes := a.configDir(env), a.notes(env)
	if _, _, err := a.find(env, id, cwd); err != nil {
		return nil, err
	}
	for _, cli := range notes.cliIDs(string(id)) { // what was cleared, too
		if path, err := transcript.Find(dir, cli, cwd); err == nil {
			if err := transcript.Delete(dir, path); err != nil {
				return nil, conn.Internal("the session was not deleted: " + err.Error())
			}
		}
		notes.remove(cli, sessionNote)
	}
	notes.remove(string(id), cliNote)
	for _, option := range []string{effortOption, agentOption} {
		notes.remove(string(id), optionNote+option)
	}
	return acp.UnstableDeleteSessionResponse{}, nil
}

// titleChanged tells the editor the session's title once it is known or new.
func (s *conversation) titleChanged() {
	path, err := transcript.Find(s.agent.configDir(s.env), s.cliID(), s.cwd)
	if err != nil {
		return
	}
	info, ok := transcript.Stat(path)
	if !ok || info.Title == "" || info.Title == s.title {
		return
	}
	s.title = info.Title
	s.out.UpdateNow(acp.SessionUpdate{SessionInfoUpdate: &acp.SessionSessionInfoUpdate{
		Title: &info.Title, UpdatedAt: acp.Ptr(info.Updated.UTC().Format(time.RFC3339)),
	}})
}
