package web

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// openCodePermission is a permission as OpenCode lists it. What it is for is in
// metadata, all of it.
type openCodePermission struct {
	ID         string         `json:"id"`
	SessionID  string         `json:"sessionID"`
	Permission string         `json:"permission"`
	Patterns   []string       `json:"patterns"`
	Metadata   map[string]any `json:"metadata"`
	Always     []string       `json:"always"`
}

// openCodeReplies are OpenCode's replies to a permission, by what the options do.
var openCodeReplies = map[string]string{"once": "allow_once", "always": "allow_always", "reject": "reject_once"}

// openCodePermissionOf returns a record as a permission of OpenCode; ok is false if it
// is none, or has options that OpenCode's replies cannot tell apart.
func openCodePermissionOf(r *hub.Record) (p openCodePermission, ok bool) {
	if r.Kind != "permission" || !buttons(r) || len(r.About.Picks) != len(r.Call.Questions[0].Options) || !slices.Contains(r.About.Picks, "allow_once") {
		return p, false
	}
	for i, kind := range r.About.Picks {
		if slices.Contains(r.About.Picks[:i], kind) || kind != "allow_once" && kind != "allow_always" && kind != "reject_once" {
			return p, false
		}
	}
	title := r.Call.Questions[0].Text
	p = openCodePermission{
		ID: openCodeName("per_", r), SessionID: openCodeSession(r), Permission: openCodeTool(r.About.Tool),
		Patterns: []string{title}, Metadata: map[string]any{"title": title, "agent": r.Agent}, Always: []string{},
	}
	if r.Detail != "" {
		p.Metadata["input"] = asRaw(r.Detail)
	}
	if len(r.About.Changes) > 0 {
		p.Metadata["changes"] = r.About.Changes
	}
	if r.About.Text != "" {
		p.Metadata["text"] = r.About.Text
	}
	if i := slices.Index(r.About.Picks, "allow_always"); i >= 0 {
		p.Always = []string{r.Call.Questions[0].Options[i].Label}
	}
	return p, true
}

// asRaw is JSON as it is, and anything else as a text.
func asRaw(detail string) any {
	if json.Valid([]byte(detail)) {
		return json.RawMessage(detail)
	}
	return detail
}

// openCodeTool names a permission as OpenCode does, where it has a name for it.
func openCodeTool(t about.Tool) string {
	switch t.Kind {
	case "execute":
		return "bash"
	case "fetch":
		return "webfetch"
	case "edit", "read":
		return t.Kind
	}
	return "other"
}

// openCodePermissions lists the permissions that wait, the first asked first.
func (s *Server) openCodePermissions(w http.ResponseWriter, r *http.Request, d Device) {
	sees, err := openCodeSees(r, d)
	if err != nil {
		s.openCodeFailed(w, "", err)
		return
	}
	open, _ := s.board.Waiting(math.MaxInt)
	slices.Reverse(open)
	replyItems(w, "[", "]\n", only(open, sees), func(r *hub.Record) any {
		if p, ok := openCodePermissionOf(r); ok {
			return p
		}
		return nil
	})
}

// openCodePermit takes a reply to a permission: an option that the agent has offered.
func (s *Server) openCodePermit(w http.ResponseWriter, r *http.Request, d Device, g given) {
	rec, err := s.openCodeNamed(r, d, "per_", func(r *hub.Record) bool { _, ok := openCodePermissionOf(r); return ok })
	if err == nil {
		err = s.answer(r, rec.Ref(), d, func(r *hub.Record) ([]convert.Answer, error) { return readOpenCodePermit(r, g) })
	}
	s.openCodeDone(w, r, err)
}

func readOpenCodePermit(r *hub.Record, g given) ([]convert.Answer, error) {
	var said struct{ Reply, Message string }
	if err := g.into(&said); err != nil {
		return nil, err
	}
	kind, known := openCodeReplies[said.Reply]
	i := slices.Index(r.About.Picks, kind)
	switch {
	case !known:
		return nil, badf("reply: expected once, always or reject, got %q", clean.Truncate(clean.Line(said.Reply), 40))
	case i < 0:
		return nil, badf("reply: the agent did not offer %s", said.Reply)
	case strings.TrimSpace(said.Message) != "" && said.Reply != "reject":
		return nil, badf("message: a permission takes no words; a rejection does")
	}
	return []convert.Answer{{Selected: []string{r.Call.Questions[0].Options[i].Label}, Note: strings.TrimSpace(said.Message)}}, nil
}

// openCodePermitEnd is how a permission ended, in OpenCode's words.
func openCodePermitEnd(r *hub.Record) string {
	if result := r.End.Shown(); result.Status == convert.Answered && len(result.Answers) == 1 && len(result.Answers[0].Selected) == 1 {
		for i, o := range r.Call.Questions[0].Options {
			for reply, kind := range openCodeReplies {
				if o.Label == result.Answers[0].Selected[0] && r.About.Picks[i] == kind {
					return reply
				}
			}
		}
	}
	return "reject" // it has no other word for what was taken back
}
