package editor

import (
	"maps"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Severities of a notice.
const (
	info    = "info"
	warning = "warning"
)

// Notice tells the user something that is no part of the conversation: in one
// line, and in full. An editor without notices gets the text in the conversation,
// or nothing if there is none. It is sent as [Session.Update] sends.
func (s *Session) Notice(warn bool, title, text string) {
	if !s.front.notices.Load() {
		s.Text(MessageChunk, text)
		return
	}
	n := map[string]any{"sessionUpdate": "notice", "severity": info, "title": clean.Line(title)}
	if warn {
		n["severity"] = warning
	}
	if text = strings.TrimSpace(text); text != "" && text != title {
		n["description"] = text
	}
	s.UpdateOf("", n)
}

// Notice tells the user something about a request of the agent.
func (a *asking) Notice(title string) {
	if a.s != nil {
		a.s.Notice(true, title, "")
	}
}

// announce tells all sessions something, in the background. Editors without notices
// are told nothing.
func (f *front) announce(warn bool, title string) {
	if !f.notices.Load() {
		return
	}
	var all []*Session
	f.step(func(sessions map[string]*Session) { all = slices.Collect(maps.Values(sessions)) })
	for _, s := range all {
		go s.Notice(warn, title, "")
	}
}
