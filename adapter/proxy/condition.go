package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// permissionAsked is a request for permission that the editor has to answer. Its reply passes
// as it is written, unless it allows with words beside it: no agent takes them, and they
// may be a condition. Then the request is shown again.
type permissionAsked struct {
	line    []byte
	request acp.RequestPermissionRequest
	tries   int
}

// maxConditions is how often a permission may be given with words before nobody has given
// it.
const maxConditions = 3

// awaitsPermission remembers a request for permission that passes. One in which nothing
// refuses is a question, to which words may be the answer.
func (p *proxy) awaitsPermission(line []byte, m *message) {
	var r acp.RequestPermissionRequest
	if json.Unmarshal(m.params, &r) != nil || !slices.ContainsFunc(about.ToolOf(r).Picks, about.Rejects) {
		return
	}
	p.permitting[idKey(m.id)] = &permissionAsked{line: bytes.TrimSpace(bytes.Clone(line)), request: r}
}

// conditional takes the editor's reply to a request for permission, and reports whether
// that is no answer.
func (p *proxy) conditional(m *message) bool {
	key := idKey(m.id)
	r := p.permitting[key]
	delete(p.permitting, key)
	if r == nil || given(m.err) {
		return false
	}
	var condition about.Condition
	if !errors.As(r.judge(m.result), &condition) {
		return false
	}
	if r.tries++; r.tries == maxConditions {
		p.noPermit(p.permit[key], condition.Remark())
		p.passed.take(m.id)
		p.agent.post(errorLine(string(m.id), ndjson.Internal, "The user gave no permission without a condition, which cannot be checked"))
		return true
	}
	p.permitting[key] = r
	if p.titlesOnly {
		p.say(string(r.request.SessionId), "\n\n"+condition.Remark()+"\n\n")
	}
	p.editor.post(edit(r.line, func(old []byte) []byte {
		var content []json.RawMessage
		_ = json.Unmarshal(old, &content) // what is none is left out
		remark := clean.JSON(acp.ToolContent(acp.TextBlock(condition.Remark())))
		return clean.JSON(append([]json.RawMessage{remark}, content...))
	}, "params", "toolCall", "content"))
	return true
}

// judge is what is wrong with a reply, see [about.Tool.Picked].
func (r *permissionAsked) judge(result []byte) error {
	response, err := conn.DecodePermission(result)
	if err != nil || response.Outcome.Selected == nil {
		return nil
	}
	options := about.PermissionCall(r.request).Questions[0].Options
	i := slices.IndexFunc(r.request.Options, func(o acp.PermissionOption) bool { return o.OptionId == response.Outcome.Selected.OptionId })
	if i < 0 {
		return nil
	}
	_, _, err = about.ToolOf(r.request).Picked(options, []convert.Answer{{Selected: []string{options[i].Label}, Note: about.Beside(response)}})
	return err
}
