package ask

import (
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Option ids of our own, beside the labels of the question.
const (
	// OtherID is the option that stands for an answer in the user's own words.
	OtherID = "__other__"
	// DoneID ends the rounds of a multi-select question.
	DoneID = "__done__"
)

const (
	otherName    = "Other (type custom answer)"
	defaultTitle = "Question"
	// maxTitle is for display alone; headers are short by convention.
	maxTitle = 120
)

// TitleStyle says what stands in the title of a question.
type TitleStyle int

const (
	// TitleHeader shows the header.
	TitleHeader TitleStyle = iota
	// TitleHeaderAndQuestion shows `Header: question`, for clients that show
	// nothing but the title.
	TitleHeaderAndQuestion
)

// PermissionOptions vary a permission request. The zero value asks the first
// round of a question in the usual style.
type PermissionOptions struct {
	Title TitleStyle
	// Aware is set for a client that answers a multi-select question in one
	// go: it gets no rounds.
	Aware bool
	// Round counts the requests made for this question, from 1; 0 means 1.
	Round int
	// Picked holds the positions (from 0) of the options picked in earlier
	// rounds. They leave the list.
	Picked []int
}

func (o PermissionOptions) picked(i int) bool {
	for _, p := range o.Picked {
		if p == i {
			return true
		}
	}
	return false
}

// Permission builds the ACP permission request for question q of the call,
// which counts from 0.
func Permission(c convert.Call, q int, o PermissionOptions) acp.RequestPermissionRequest {
	question := &c.Questions[q]
	kind, status := acp.ToolKindOther, acp.ToolCallStatusPending
	title := Title(c, q, o.Title)
	return acp.RequestPermissionRequest{
		SessionId: acp.SessionId(c.Session),
		ToolCall: acp.ToolCallUpdate{
			ToolCallId: acp.ToolCallId(ToolCallID(c, q)),
			Title:      &title,
			Kind:       &kind,
			Status:     &status,
			RawInput:   rawInput{question.Text, question.Header},
			Content:    textContent(clean.Block(question.Text)),
		},
		Options: permissionOptions(question, o),
		Meta:    permissionMeta(c, q, o),
	}
}

// rawInput is what a client gets of the tool's input: the question, as given.
type rawInput struct {
	Question string `json:"question"`
	Header   string `json:"header,omitempty"`
}

// Title is the title of question q, one line without control characters.
func Title(c convert.Call, q int, style TitleStyle) string {
	question := &c.Questions[q]
	header := clean.Line(question.Header)
	if clean.Blank(header) {
		header = defaultTitle
	}
	if style == TitleHeaderAndQuestion {
		header += ": " + clean.Line(question.Text)
	}
	return clean.Truncate(header, maxTitle)
}

// ToolCallID is the id under which question q is shown: the call's own for
// the first, with `:2`, `:3` … behind it for the others.
func ToolCallID(c convert.Call, q int) string {
	if q == 0 {
		return c.ID
	}
	return c.ID + ":" + strconv.Itoa(q+1)
}

func textContent(text string) []acp.ToolCallContent {
	return []acp.ToolCallContent{acp.ToolContent(acp.TextBlock(text))}
}

func permissionOptions(q *convert.Question, o PermissionOptions) []acp.PermissionOption {
	options := make([]acp.PermissionOption, 0, len(q.Options)+2)
	add := func(id, name string, kind acp.PermissionOptionKind) {
		options = append(options, acp.PermissionOption{Kind: kind, Name: name, OptionId: acp.PermissionOptionId(id)})
	}
	const pick = acp.PermissionOptionKindAllowOnce
	if len(o.Picked) > 0 {
		add(DoneID, doneName(q, o.Picked), pick)
	}
	for i := range q.Options {
		switch {
		case o.picked(i):
		case q.Options[i].Effect == convert.EffectDecline:
			add(optionID(q, i), optionName(&q.Options[i]), acp.PermissionOptionKindRejectOnce)
		default:
			add(optionID(q, i), optionName(&q.Options[i]), pick)
		}
	}
	if !q.Closed {
		add(OtherID, otherName, pick)
	}
	return options
}

// optionID is the label, or a name by position for a label that could be
// mistaken for an id of our own.
func optionID(q *convert.Question, i int) string {
	label := q.Options[i].Label
	if label == OtherID || label == DoneID || isPositionID(label) {
		return "__option_" + strconv.Itoa(i+1) + "__"
	}
	return label
}

func isPositionID(label string) bool {
	digits, ok := strings.CutPrefix(label, "__option_")
	if !ok {
		return false
	}
	digits, ok = strings.CutSuffix(digits, "__")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

func optionName(o *convert.Option) string {
	label := clean.Line(o.Label)
	if o.Description == "" {
		return label
	}
	if description := clean.Line(o.Description); description != "" {
		return label + " - " + description
	}
	return label
}

func doneName(q *convert.Question, picked []int) string {
	labels := make([]string, len(picked))
	for i, p := range picked {
		labels[i] = clean.Line(q.Options[p].Label)
	}
	return "Done: " + strings.Join(labels, ", ")
}

type claudeMeta struct {
	QuestionType string `json:"questionType"`
	MultiSelect  bool   `json:"multiSelect"`
}

// bridgeMeta tells an aware client where it is in a call.
type bridgeMeta struct {
	Question  int      `json:"question"`
	Questions int      `json:"questions"`
	MCPServer string   `json:"mcpServer,omitempty"`
	Round     int      `json:"round,omitempty"`
	Picked    []string `json:"picked,omitzero"`
}

func permissionMeta(c convert.Call, q int, o PermissionOptions) map[string]any {
	question := &c.Questions[q]
	meta := map[string]any{"claudeCode": claudeMeta{"askUserQuestion", question.MultiSelect}}
	if len(c.Questions) == 1 && !question.MultiSelect && c.Server == "" {
		return meta
	}
	where := bridgeMeta{Question: q + 1, Questions: len(c.Questions), MCPServer: c.Server}
	if question.MultiSelect && !o.Aware {
		where.Round = max(o.Round, 1)
		where.Picked = make([]string, len(o.Picked))
		for i, p := range o.Picked {
			where.Picked[i] = optionID(question, p)
		}
	}
	meta["acp-bridge"] = where
	return meta
}
