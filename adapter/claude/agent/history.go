package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/claude"
	"github.com/acp-bridge/acp-bridge/adapter/claude/transcript"
	"github.com/acp-bridge/acp-bridge/adapter/conn"
)

// configDir is where the CLI keeps its sessions, started with env on top of its
// environment.
func (a *Agent) configDir(env []string) string {
	return transcript.ConfigDir(func(name string) string {
		if value, ok := lookup(env, name); ok {
			return value
		}
		return a.getenv(name)
	})
}

// listSessions answers session/list from the CLI's own files, a page at a time,
// newest first.
func (a *Agent) listSessions(ctx context.Context, r acp.ListSessionsRequest) (any, error) {
	o := transcript.Options{ConfigDir: a.configDir(nil)}
	if r.Cwd != nil {
		o.Cwd = *r.Cwd
	}
	if r.Cursor != nil {
		o.Cursor = *r.Cursor
	}
	page, next, err := transcript.List(ctx, o)
	if err != nil {
		return nil, invalid("%s", err)
	}
	resp := acp.ListSessionsResponse{Sessions: make([]acp.SessionInfo, 0, len(page))}
	for _, info := range page {
		session := acp.SessionInfo{SessionId: acp.SessionId(info.ID), Cwd: info.Cwd, UpdatedAt: acp.Ptr(info.Updated.UTC().Format(time.RFC3339))}
		if info.Title != "" {
			session.Title = acp.Ptr(info.Title)
		}
		resp.Sessions = append(resp.Sessions, session)
	}
	if next != "" {
		resp.NextCursor = &next
	}
	return resp, nil
}

// loadSession answers session/load: it replays what was said and goes on.
func (a *Agent) loadSession(ctx context.Context, r acp.LoadSessionRequest) (any, error) {
	u, err := newSetup(r.Cwd, r.AdditionalDirectories, r.McpServers, r.Meta, a.log)
	if err != nil {
		return nil, err
	}
	s, err := a.reopen(ctx, r.SessionId, u, true)
	if err != nil {
		return nil, err
	}
	return conn.Then(acp.LoadSessionResponse{Modes: s.modes(), ConfigOptions: s.options()}, s.announce), nil
}

// resumeSession answers session/resume: it goes on without a replay.
func (a *Agent) resumeSession(ctx context.Context, r acp.ResumeSessionRequest) (any, error) {
	u, err := newSetup(r.Cwd, r.AdditionalDirectories, r.McpServers, r.Meta, a.log)
	if err != nil {
		return nil, err
	}
	s, err := a.reopen(ctx, r.SessionId, u, false)
	if err != nil {
		return nil, err
	}
	return conn.Then(acp.ResumeSessionResponse{Modes: s.modes(), ConfigOptions: s.options()}, s.announce), nil
}

// reopen makes a session of one that the CLI has on disk. A session that is
// open already is closed first: the editor starts over with it.
func (a *Agent) reopen(ctx context.Context, id acp.SessionId, u setup, replay bool) (*session, error) {
	path, err := transcriptPath(a.configDir(u.env), id, u.cwd)
	if err != nil {
		return nil, err
	}
	if old, err := a.session(id); err == nil {
		a.end(old, errSessionClosed)
		<-old.ended
	}
	ctx, done, err := a.starting(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	s := a.prepare(string(id), u)
	s.prompted = true
	if err := s.check(); err != nil {
		s.cancel(err)
		return nil, err
	}
	// The CLI starts while its file is read.
	started := make(chan error, 1)
	go func() { started <- s.start(ctx) }()
	if replay {
		if err := s.replay(ctx, path); err != nil {
			a.log.Warn("the transcript was not read to its end", "session", s.id, "err", err)
		}
	}
	if err := <-started; err != nil {
		s.cancel(err)
		return nil, processError(err)
	}
	return s, a.add(s)
}

func transcriptPath(configDir string, id acp.SessionId, cwd string) (string, error) {
	path, err := transcript.Find(configDir, string(id), cwd)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", notFound("there is no session %q in %s", id, cwd)
	case err != nil:
		return "", invalid("%s", err)
	}
	return path, nil
}

// forkSession answers session/fork: a new session that begins with all that was
// said in another.
func (a *Agent) forkSession(ctx context.Context, params json.RawMessage) (any, error) {
	r, err := decode[acp.LoadSessionRequest](params)
	if err != nil {
		return nil, err
	}
	u, err := newSetup(r.Cwd, r.AdditionalDirectories, r.McpServers, r.Meta, a.log)
	if err != nil {
		return nil, err
	}
	if _, err := transcriptPath(a.configDir(u.env), r.SessionId, r.Cwd); err != nil {
		return nil, err
	}
	s := a.prepare(claude.NewSessionID(), u)
	s.forkOf = string(r.SessionId)
	if err := a.open(ctx, s); err != nil {
		return nil, err
	}
	return conn.Then(acp.NewSessionResponse{
		SessionId: acp.SessionId(s.id), Modes: s.modes(), ConfigOptions: s.options(),
	}, s.announce), nil
}

// deleteSession answers session/delete. A session that is open is closed first.
func (a *Agent) deleteSession(r acp.UnstableDeleteSessionRequest) (any, error) {
	cwd, dir := "", a.configDir(nil)
	if s, err := a.session(r.SessionId); err == nil {
		cwd, dir = s.cwd, a.configDir(s.env)
		a.end(s, errSessionClosed)
		<-s.ended
	}
	path, err := transcriptPath(dir, r.SessionId, cwd)
	if err != nil {
		return nil, err
	}
	if err := transcript.Delete(dir, path); err != nil {
		return nil, internal("the session was not deleted: " + err.Error())
	}
	return acp.UnstableDeleteSessionResponse{}, nil
}

// titleChanged tells the editor the session's title once it is known or new.
func (s *session) titleChanged() {
	s.mu.Lock()
	id, before := s.cliID, s.title
	s.mu.Unlock()
	path, err := transcript.Find(s.agent.configDir(s.env), id, s.cwd)
	if err != nil {
		return
	}
	info, ok := transcript.Stat(path)
	if !ok || info.Title == "" || info.Title == before {
		return
	}
	s.mu.Lock()
	s.title = info.Title
	s.mu.Unlock()
	s.out.now(acp.SessionUpdate{SessionInfoUpdate: &acp.SessionSessionInfoUpdate{
		Title: &info.Title, UpdatedAt: acp.Ptr(info.Updated.UTC().Format(time.RFC3339)),
	}})
}
