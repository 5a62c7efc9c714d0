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
	m := line.Map()
	message := m["message"].Map()
	return row{
		message: m["message"], content: message["content"], model: message["model"].Str,
		attachment: m["attachment"], text: m["content"], structured: m["toolUseResult"],
		uuid: m["uuid"], session: m["sessionId"], stamp: m["timestamp"], failure: m["error"], origin: m["origin"],
		subtype: m["subtype"].Str, denial: m["toolDenialKind"].Str, unanswered: m["toolDenialUnanswered"].Str != "", cwd: m["cwd"].Str,
		hidden: m["isMeta"].Bool() || m["isCompactSummary"].Bool() || m["isVisibleInTranscriptOnly"].Bool(),
		failed: m["isApiErrorMessage"].Bool(), sidechain: m["isSidechain"].Bool(),
	}
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
