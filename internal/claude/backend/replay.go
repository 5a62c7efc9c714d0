package backend

import (
	"context"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// replay sends what was said in a session as updates, in order. Only one line
// of the file is in memory at a time.
func (s *conversation) replay(ctx context.Context, path string) error {
	t, err := transcript.Open(ctx, path)
	if err != nil {
		return err
	}
	defer t.Close()
	p := newPainter(s)
	p.past = true
	if s.agent.editor().parts {
		p.haveParts()
	}
	defer func() {
		p.abandon()
		s.past = p.pastParts()
	}()
	for e, err := range t.Entries(ctx) {
		if err != nil {
			return err
		}
		p.replay(e)
	}
	if skipped := t.Skipped(); skipped != (transcript.Skipped{}) {
		s.agent.log.Info("lines of a transcript were passed over", "session", s.id, "skipped", skipped)
	}
	return nil
}

// replay draws one step of a transcript.
func (p *painter) replay(e transcript.Entry) {
	switch e.Kind {
	case transcript.Prompt:
		if e.ParentToolUseID == "" && e.Message.Get("message.content.0.text").Str != clearCommand { // what that cleared is not there
			p.prompt(e.Message)
		}
	case transcript.Failure:
		p.out.Stream(editor.MessageChunk, messageID(e.Message), e.Message.Get("message.content.0.text").String())
	case transcript.ToolResult:
		p.partReturned(e)
		p.user(e.Message)
	case transcript.Interrupted:
		p.abandon()
		p.endParts(object{"stopReason": "cancelled"})
	case transcript.Compacted:
		p.boundary(e.Message)
	default:
		p.assistant(e.Message)
		p.partBegan(e.ToolUseID, e.Agent)
	}
}

// prompt draws what the user once sent.
func (p *painter) prompt(m claude.Message) {
	id := messageID(m)
	said := func(b acp.ContentBlock) {
		p.out.Update(acp.SessionUpdate{UserMessageChunk: &acp.SessionUpdateUserMessageChunk{Content: b, MessageId: &id}})
	}
	content := m.Get("message.content")
	if content.Type == gjson.String {
		said(acp.TextBlock(content.Str))
		return
	}
	for _, b := range content.Array() {
		switch b.Get("type").Str {
		case "text":
			said(acp.TextBlock(b.Get("text").String()))
		case "image":
			if data := b.Get("source.data").String(); data != "" {
				said(acp.ImageBlock(data, b.Get("source.media_type").String()))
			}
		}
	}
}
