package backend

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// What AIR gets by a capability that it names, as claude-agent-acp 0.99.1 has it:
//
//	capability             what it does
//	recommendedValue       model and effort have the value that is recommended in the
//	                       place of one called Default
//	planFile               a plan is named by its file, which AIR shows, and not written out
//	sessionFailure         a turn that fails says of what kind that is and what may help
//	agentFileChangeReport  a prompt may ask which files its turn has edited
const (
	airRecommended = "recommendedValue"
	airPlanFile    = "planFile"
	airFailure     = "sessionFailure"
	airFileReport  = "agentFileChangeReport"
)

var airSpoken = []string{airFailure, airFileReport, airRecommended, airPlanFile}

// airTakes are the capabilities that AIR names, of those that we have.
func airTakes(capabilities acp.ClientCapabilities) map[string]bool {
	air, takes := airOf(capabilities.Meta), map[string]bool{}
	if version, _ := air["version"].(float64); version < 1 {
		return takes
	}
	named, _ := air["capabilities"].([]any)
	for _, name := range airSpoken {
		takes[name] = slices.Contains(named, any(name))
	}
	return takes
}

// recommend puts the value that is recommended in the place of the first, which
// leaves the choice to Claude Code, and reports whether it is one of the others.
func recommend(o acp.SessionConfigOption, value string) bool {
	list := (*o.Select.Options.Ungrouped)[1:]
	if !slices.ContainsFunc(list, func(c acp.SessionConfigSelectOption) bool { return string(c.Value) == value }) {
		return false
	}
	if o.Select.CurrentValue == (*o.Select.Options.Ungrouped)[0].Value {
		o.Select.CurrentValue = acp.SessionConfigValueId(value)
	}
	o.Select.Options.Ungrouped = (*acp.SessionConfigSelectOptionsUngrouped)(&list)
	o.Select.Meta = forAIR(nil, airRecommended, value)
	return true
}

// recommendAll recommends the model that Claude Code's default is, and the level of effort
// that it takes by itself, or what is usual.
func recommendAll(options []acp.SessionConfigOption, c *choices, info *claude.InitInfo) {
	for _, o := range options {
		switch {
		case o.Select == nil:
		case o.Select.Id == effortOption:
			lowest := string((*o.Select.Options.Ungrouped)[1].Value)
			_ = recommend(o, c.settings.Effort) || recommend(o, "medium") || recommend(o, lowest)
		case o.Select.Id == modelOption:
			recommend(o, defaultModel(info.Models))
		}
	}
}

// defaultModel is another name of the model that is Claude Code's default, empty if it has none.
func defaultModel(models []claude.Model) string {
	if len(models) == 0 || models[0].Value != defaultValue || models[0].Resolved == "" {
		return ""
	}
	for _, m := range models[1:] {
		if m.Resolved == models[0].Resolved || m.Value == models[0].Resolved {
			return m.Value
		}
	}
	return ""
}

const planFileKey = "planFilePath"

// planInput is the input of a call as AIR takes it: a plan that is in a file is named
// by it. It reports whether it is one.
func (p *painter) planInput(t display.Tool, result gjson.Result) (any, bool) {
	if !p.client.airTakes[airPlanFile] || t.Name != "ExitPlanMode" {
		return rawJSON(t.Input), false
	}
	for _, path := range []string{gjson.GetBytes(t.Input, planFileKey).String(), result.Get("filePath").String()} {
		if info, err := os.Stat(path); err != nil || !filepath.IsAbs(path) || !info.Mode().IsRegular() {
			continue
		}
		var input object
		if json.Unmarshal(t.Input, &input) != nil || input == nil {
			input = object{}
		}
		delete(input, "plan")
		return merged(input, object{planFileKey: path}), true
	}
	return rawJSON(t.Input), false
}

// planLeft ends what AIR shows of a plan's file, once the plan is accepted. It is a
// call of its own, so that the plan's keeps its file.
func (p *painter) planLeft(id string, c *toolCall, structured gjson.Result) {
	if _, ok := p.planInput(c.tool, structured); ok {
		p.show(c, acp.SessionUpdate{ToolCall: &acp.SessionUpdateToolCall{
			ToolCallId: acp.ToolCallId(id + ":plan-file-clear"), Title: "Exited plan mode", Kind: acp.ToolKindSwitchMode,
			Status: acp.ToolCallStatusCompleted, RawInput: object{planFileKey: ""},
		}})
	}
}

// failures are the kinds of errors that the CLI names, with what may help.
var failures = map[string]struct {
	category string
	actions  []string
}{
	"rate_limit":             {"limit", []string{"retry"}},
	"billing_error":          {"limit", nil},
	"account_on_hold":        {"limit", nil},
	"max_output_tokens":      {"limit", []string{"new_session"}},
	"error_max_budget_usd":   {"limit", []string{"new_session"}},
	"overloaded":             {"service", []string{"retry"}},
	"verification_required":  {"service", []string{"retry"}},
	"cloud_credential_error": {"service", []string{"retry"}},
	"invalid_request":        {"request", nil},
	"model_not_found":        {"request", nil},
	"gone":                   {"connection", []string{"retry"}}, // the CLI itself; the next prompt starts it
}

// failure is what AIR reads of one.
func failure(kind, id, text, severity string) object {
	of, ok := failures[kind]
	switch {
	case usedUp(text):
		of = failures["billing_error"]
	case !ok:
		of.category, of.actions = "service", []string{"retry"}
	}
	if severity == "warning" || of.actions == nil {
		of.actions = []string{}
	}
	title, details, _ := strings.Cut(clean.Block(text), "\n")
	f := object{"id": id, "revision": 1, "category": of.category, "severity": severity, "title": title, "actions": of.actions}
	if details = strings.TrimSpace(details); details != "" {
		f["details"] = details
	}
	return forAIR(nil, airFailure, f)
}

// forFailure makes of a turn that failed one that says so to AIR. A login that is
// missing stays an error: it is what begins the editor's own login.
func (s *conversation) forFailure(end *editor.TurnEnd, kind string) {
	if end.Err == nil || s.badLogin || !s.agent.editor().airTakes[airFailure] {
		return
	}
	id := life.UUID()
	if len(end.Prompts) > 0 {
		id = end.Prompts[0]
	}
	text := end.Err.Error()
	if re, ok := end.Err.(*acp.RequestError); ok {
		text = re.Message
	}
	meta, err := json.Marshal(failure(kind, id+":error", text, "error"))
	if err == nil {
		end.Reason, end.Err, end.Meta = acp.StopReasonEndTurn, nil, string(meta)
	}
}

// warn tells AIR of trouble that may pass.
func (s *conversation) warn(kind, text, severity string) {
	if s.agent.editor().airTakes[airFailure] {
		s.out.UpdateNow(acp.SessionUpdate{SessionInfoUpdate: &acp.SessionSessionInfoUpdate{Meta: failure(kind, life.UUID(), text, severity)}})
	}
}

// reportRequest is the name under which a prompt asks for a report, or empty.
func reportRequest(meta map[string]any) string {
	request, _ := airOf(meta)[airFileReport+"Request"].(map[string]any)
	id, _ := request["requestId"].(string)
	if version, _ := request["version"].(float64); version != 1 || len(request) != 2 || len(id) > 128 || strings.Trim(id, reportLetters) != "" {
		return ""
	}
	return id
}

const reportLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"

// maxReported bounds the files of a report, as AIR does.
const maxReported = 1024

// edited notes a file that a tool has edited.
func (p *painter) noteEdit(t display.Tool) {
	var path string
	switch t.Name {
	case "Edit", "Write", "MultiEdit":
		path = gjson.GetBytes(t.Input, "file_path").String()
	case "NotebookEdit":
		path = gjson.GetBytes(t.Input, "notebook_path").String()
	}
	if path == "" || !p.client.airTakes[airFileReport] {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.cwd, path)
	}
	if p.edits == nil {
		p.edits = map[string]bool{}
	}
	p.edits[filepath.Clean(path)] = true
}

// report tells AIR which files the turn has edited, for the prompts that asked for
// it and have ended: all of them if none is named. What commands have changed is not
// known, so that it is never all.
func (p *pump) report(prompts []string, why string) {
	var asked []string
	p.s.reports.Range(func(prompt, request any) bool {
		if len(prompts) == 0 || slices.Contains(prompts, prompt.(string)) {
			asked = append(asked, request.(string))
			p.s.reports.Delete(prompt)
		}
		return true
	})
	slices.Sort(asked)
	edits := slices.Sorted(maps.Keys(p.painter.edits))
	p.painter.edits = nil
	for _, request := range asked {
		r := object{"version": 1, "requestId": request, "status": "unavailable", "reason": why}
		if why == "" {
			paths, cut := p.s.within(edits)
			r = object{"version": 1, "requestId": request, "status": "reported", "paths": paths, "declaredComplete": false, "truncated": cut}
		}
		p.s.out.UpdateNow(acp.SessionUpdate{SessionInfoUpdate: &acp.SessionSessionInfoUpdate{Meta: forAIR(nil, airFileReport, r)}})
	}
}

// within are the paths that are in the session's folders, and whether that leaves
// some out.
func (s *conversation) within(all []string) (paths []string, cut bool) {
	paths = []string{}
	for _, path := range all {
		in := slices.ContainsFunc(append([]string{s.cwd}, s.dirs...), func(dir string) bool {
			rel, err := filepath.Rel(dir, path)
			return err == nil && filepath.IsLocal(rel) && rel != "."
		})
		if !in || len(paths) == maxReported || clean.Line(path) != path {
			cut = true
			continue
		}
		paths = append(paths, path)
	}
	return paths, cut
}

// unreported is why there is no report; empty if there is one.
func unreported(cancelled, failed bool) string {
	switch {
	case cancelled:
		return "cancelled"
	case failed:
		return "providerError"
	}
	return ""
}

// retries tells AIR that the CLI tries again to reach its model. A login that is
// missing is told as what it is when that fails.
func (s *conversation) retries(m claude.Message) {
	kind := m.Get("error").String()
	if kind == "authentication_failed" || kind == "oauth_org_not_allowed" {
		return
	}
	what := "Trying Claude again"
	if m.Get("error_status").Type == gjson.Null {
		what = "Reconnecting to Claude"
	}
	s.warn(kind, fmt.Sprintf("%s, attempt %d of %d", what, m.Get("attempt").Int(), m.Get("max_retries").Int()), "warning")
}
