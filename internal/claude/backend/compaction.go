package backend

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// What the CLI says while it makes room in the model's context, and what the
// editor is told. One without session.compaction reads a line where it begins and
// one where it ends: it may take a minute, in which nothing else comes.
//
//	system status, compacting            in_progress
//	system status, compact_result        failed, or completed behind the summary
//	system compact_boundary              how much is left, for the usage
//	user, the summary for the model      compaction_summary_chunk, completed
//	the end of the turn or the process   cancelled
//
// Of these the first may be missing, and the last but one.

// compaction is one that has begun.
type compaction struct {
	id   string
	done bool // the summary may still come
}

const (
	compactBegins = "Compacting the conversation…"
	compactEnds   = "The conversation was compacted."
	compactFails  = "The conversation could not be compacted."
)

// status takes what the CLI says it does.
func (p *painter) status(m claude.Message) {
	if m.ParentToolUseID() != "" {
		return
	}
	switch result := m.Get("compact_result").Str; {
	case m.Get("status").Str == "compacting":
		p.compacts(m)
	case result == "success":
		p.compacted(m)
	case result == "failed":
		p.compacts(m)
		p.compactionIs("failed", m.Get("compact_error").String())
	}
}

// compacts notes that it has begun, if it has not before.
func (p *painter) compacts(m claude.Message) {
	if p.compaction != nil {
		return
	}
	p.compaction = &compaction{id: messageID(m)}
	if p.client.compaction {
		p.compactionUpdate(object{"status": "in_progress"})
		return
	}
	p.out.Notice(false, compactBegins, "\n\n"+compactBegins+"\n\n")
}

// compacted notes that it is done. The summary follows, if anything does.
func (p *painter) compacted(m claude.Message) {
	p.compacts(m)
	p.compaction.done = true
}

// boundary takes what is left of the conversation. It comes in transcripts, too.
func (p *painter) boundary(m claude.Message) {
	if left := m.Get("compact_metadata.post_tokens"); left.Exists() {
		p.used = gjson.Parse(fmt.Sprintf(`{"input_tokens":%d}`, left.Int()))
	}
	if p.past {
		if p.client.compaction {
			p.compaction = &compaction{id: messageID(m)}
			p.compactionIs("completed", "")
		}
		return
	}
	p.compacted(m)
}

// summary takes the summary that the model goes on with.
func (p *painter) summary(text string) {
	if p.compaction == nil || !p.compaction.done {
		return
	}
	if words := summaryOf(text); words != "" && p.client.compaction {
		p.out.UpdateOf("", object{"sessionUpdate": "compaction_summary_chunk", "compactionId": p.compaction.id,
			"content": object{"type": "text", "text": words}})
	}
	p.compactionOver(false)
}

// compactionOver ends what has begun: something else comes, or with broken nothing
// does.
func (p *painter) compactionOver(broken bool) {
	switch c := p.compaction; {
	case c == nil:
	case c.done:
		p.compactionIs("completed", "")
	case broken:
		p.compactionIs("cancelled", "")
	}
}

func (p *painter) compactionIs(status, problem string) {
	problem = clean.Block(strings.TrimSpace(problem))
	switch {
	case p.client.compaction:
		u := object{"status": status}
		if problem != "" {
			u["error"] = problem
		}
		p.compactionUpdate(u)
	case status == "completed":
		p.out.Notice(false, compactEnds, compactEnds+"\n\n")
	default:
		p.out.Notice(true, compactFails, strings.TrimSpace(compactFails+" "+problem)+"\n\n")
	}
	p.compaction = nil
}

func (p *painter) compactionUpdate(u object) {
	p.out.UpdateOf("", merged(object{"sessionUpdate": "compaction_update", "compactionId": p.compaction.id}, u))
}

// summaryOf is the summary in what the CLI tells the model, without what it says
// about it. A text of another form has none for people.
func summaryOf(text string) string {
	_, words, ok := strings.Cut(text, "\nSummary:\n")
	if !ok || !strings.HasPrefix(text, "This session is being continued from a previous conversation") {
		return ""
	}
	for _, end := range []string{"\nIf you need specific details from before compaction", "\nContinue the conversation from where it left off", "\nPlease continue the conversation from where"} {
		words, _, _ = strings.Cut(words, end)
	}
	return strings.TrimSpace(words)
}
