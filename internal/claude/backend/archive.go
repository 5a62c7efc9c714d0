package backend

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// Which sessions a list has, of those that are archived. A client that does not know
// archives gets all: it could not get at the others.
const (
	archiveExclude = "exclude"
	archiveInclude = "include"
	archiveOnly    = "only"
)

// archive answers session/archive and session/unarchive for a session that is not
// open, or not any more: cwd and env are then what it was opened with. The CLI has
// the same mark, see [transcript.Archive].
func (a *backend) archive(id acp.SessionId, archived bool, cwd string, env []string) (any, error) {
	path, _, err := a.find(env, id, cwd)
	if err != nil {
		return nil, err
	}
	if err := transcript.Archive(a.configDir(env), path, archived); err != nil {
		return nil, conn.Internal("the session was not archived: " + err.Error())
	}
	return object{}, nil
}

// session is a session of a list as a client of drafts knows it.
type session struct {
	acp.SessionInfo
	Archived *bool `json:"archived,omitempty"`
}

// listSessions answers session/list from the CLI's own files, a page at a time,
// newest first.
func (a *backend) listSessions(ctx context.Context, _ acp.ListSessionsRequest, params json.RawMessage) (any, error) {
	o := transcript.Options{ConfigDir: a.configDir(nil), Cwd: gjson.GetBytes(params, "cwd").Str, Cursor: gjson.GetBytes(params, "cursor").Str}
	drafts, which := a.editor().drafts, gjson.GetBytes(params, "archived")
	filter := archiveInclude
	switch {
	case which.Type == gjson.String:
		filter, drafts = which.Str, true
	case drafts:
		filter = archiveExclude
	}
	if !slices.Contains([]string{archiveExclude, archiveInclude, archiveOnly}, filter) {
		return nil, conn.Invalid("archived: expected exclude, include or only, got %q", filter)
	}
	notes := a.notes(nil)
	o.Leave = func(i transcript.Info) bool {
		return filter == archiveExclude && i.Archived || filter == archiveOnly && !i.Archived || notes.superseded(o.ConfigDir, i)
	}
	page, next, err := transcript.List(ctx, o)
	if err != nil {
		return nil, conn.Invalid("%s", err)
	}
	resp := struct {
		NextCursor string    `json:"nextCursor,omitempty"`
		Sessions   []session `json:"sessions"`
	}{next, make([]session, 0, len(page))}
	for _, info := range page {
		s := session{SessionInfo: acp.SessionInfo{SessionId: acp.SessionId(notes.sessionOf(info.ID)), Cwd: info.Cwd, UpdatedAt: acp.Ptr(info.Updated.UTC().Format(time.RFC3339))}}
		if info.Title != "" {
			s.Title = acp.Ptr(info.Title)
		}
		if drafts {
			s.Archived = &info.Archived
		}
		resp.Sessions = append(resp.Sessions, s)
	}
	return resp, nil
}
