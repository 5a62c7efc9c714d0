package transcript

import (
	"time"

	"github.com/tidwall/gjson"
)

// row is a line of the conversation, its fields found in one pass.
type row struct {
	message    gjson.Result
	content    gjson.Result // of the message
	model      string       // of the message
	attachment gjson.Result
	text       gjson.Result // of a system line
	structured gjson.Result // toolUseResult
	uuid       gjson.Result
	session    gjson.Result
	stamp      gjson.Result
	failure    gjson.Result
	origin     gjson.Result
	subtype    string
	denial     string
	unanswered bool // nobody was there to say whether the call may run
	cwd        string
	hidden     bool // the CLI's own
	failed     bool
	sidechain  bool
}

func parseRow(line gjson.Result) row {
	var r row
	line.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "message":
			r.message = v
			v.ForEach(func(key, v gjson.Result) bool {
				switch key.Str {
				case "content":
					r.content = v
				case "model":
					r.model = v.Str
				}
				return true
			})
		case "attachment":
			r.attachment = v
		case "content":
			r.text = v
		case "toolUseResult":
			r.structured = v
		case "uuid":
			r.uuid = v
		case "sessionId":
			r.session = v
		case "timestamp":
			r.stamp = v
		case "error":
			r.failure = v
		case "origin":
			r.origin = v
		case "subtype":
			r.subtype = v.Str
		case "toolDenialKind":
			r.denial = v.Str
		case "toolDenialUnanswered":
			r.unanswered = v.Str != ""
		case "cwd":
			r.cwd = v.Str
		case "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly":
			r.hidden = r.hidden || v.Bool()
		case "isApiErrorMessage":
			r.failed = v.Bool()
		case "isSidechain":
			r.sidechain = v.Bool()
		}
		return true
	})
	return r
}

func (r row) time() time.Time {
	t, _ := time.Parse(time.RFC3339, r.stamp.Str)
	return t
}

// notPrompt reports whether a user line is the CLI's own and never shown.
func (r row) notPrompt() bool {
	return r.hidden || r.origin.Get("kind").Str == "task-notification" && r.origin.Get("subkind").Str == ""
}

// queued is a prompt that the user sent while a turn was running; the CLI
// keeps it as an attachment.
func (r row) queued() gjson.Result {
	a := r.attachment
	if a.Get("type").Str != "queued_command" {
		return gjson.Result{}
	}
	if mode := a.Get("commandMode").Str; mode != "prompt" && mode != "" {
		return gjson.Result{}
	}
	return a.Get("prompt")
}

// blocks are the content blocks of a message; a plain string counts as one
// text.
func blocks(content gjson.Result) []gjson.Result {
	if content.Type == gjson.String {
		return []gjson.Result{gjson.Parse(`{"type":"text","text":` + content.Raw + `}`)}
	}
	if !content.IsArray() {
		return nil
	}
	return content.Array()
}
