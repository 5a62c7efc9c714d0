package web

import (
	"math"
	"net/http"
	"slices"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// The second version of OpenCode's routes has the same questions and permissions, by
// session: what differs is how lists, events and the words for a permission are written.

// openCodePermissionV2 is a permission as the second version lists it.
type openCodePermissionV2 struct {
	ID        string         `json:"id"`
	SessionID string         `json:"sessionID"`
	Action    string         `json:"action"`
	Resources []string       `json:"resources"`
	Save      []string       `json:"save,omitempty"`
	Metadata  map[string]any `json:"metadata"`
}

func (p openCodePermission) v2() openCodePermissionV2 {
	return openCodePermissionV2{p.ID, p.SessionID, p.Permission, p.Patterns, p.Always, p.Metadata}
}

// openCodeQuestionV2 is an item of a list of questions, nil for what is none.
func openCodeQuestionV2(r *hub.Record) any {
	if request, _, ok := openCodeOf(r); ok {
		return request
	}
	return nil
}

// openCodePermitV2 is an item of a list of permissions, nil for what is none.
func openCodePermitV2(r *hub.Record) any {
	if p, ok := openCodePermissionOf(r); ok {
		return p.v2()
	}
	return nil
}

// openCodeListV2 lists what waits, the first asked first: of a session if the request
// names one, and else of a location.
func (s *Server) openCodeListV2(item func(*hub.Record) any) func(http.ResponseWriter, *http.Request, Device) {
	return func(w http.ResponseWriter, r *http.Request, d Device) {
		sees, err := openCodeSees(r, d)
		if err != nil {
			s.openCodeFailed(w, "", err)
			return
		}
		begin, session := `{"data":[`, r.PathValue("session")
		if session == "" {
			dir := openCodeDir(r)
			begin = `{"location":` + string(clean.JSON(map[string]any{
				"directory": dir, "project": map[string]string{"id": "global", "directory": dir},
			})) + `,"data":[`
		}
		open, _ := s.board.Waiting(math.MaxInt)
		slices.Reverse(open)
		replyItems(w, begin, "]}\n", only(open, sees), item)
	}
}

// openCodeEventV2 is an event of the second version.
type openCodeEventV2 struct {
	ID       string             `json:"id"`
	Type     string             `json:"type"`
	Data     any                `json:"data"`
	Location *openCodeDirectory `json:"location,omitempty"`
}

type openCodeDirectory struct {
	Directory string `json:"directory"`
}

// openCodeTypesV2 are the types of events that have another name in the second version.
var openCodeTypesV2 = map[string]string{
	"question.asked": "question.v2.asked", "question.replied": "question.v2.replied", "question.rejected": "question.v2.rejected",
	"permission.asked": "permission.v2.asked", "permission.replied": "permission.v2.replied",
}

// v2 is an event as the second version has it.
func (e openCodeEvent) v2(dir string) openCodeEventV2 {
	out := openCodeEventV2{ID: e.ID, Type: e.Type, Data: e.Properties}
	if name := openCodeTypesV2[e.Type]; name != "" {
		out.Type = name
	}
	if p, ok := e.Properties.(openCodePermission); ok {
		out.Data = p.v2()
	}
	if dir != "" {
		out.Location = &openCodeDirectory{dir}
	}
	return out
}
