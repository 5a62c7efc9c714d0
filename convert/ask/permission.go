package ask

import (
	"regexp"
	"slices"
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

// Options vary how a question is asked. The zero value is the usual way.
type Options struct {
	Title TitleStyle
	// Aware is set for a client that answers a multi-select question in one
	// go: it gets no rounds.
	Aware bool
	// Appends is set for a client that adds the content of a request to what it
	// shows of the tool call already, and shows the input of one that it does not know: it
	// gets no text twice.
	Appends bool
}

// Request is the permission request of the current round.
func (a *Asking) Request() acp.RequestPermissionRequest {
	c, q, question := a.call, a.index, a.Question()
	kind, status := acp.ToolKindOther, acp.ToolCallStatusPending
	_, round := a.roundWords()
	title := title(c, q, a.opts.Title, round)
	var input any = rawInput{question.Text, question.Header}
	if a.opts.Appends {
		input = nil
	}
	return acp.RequestPermissionRequest{
		SessionId: acp.SessionId(c.Session),
		ToolCall: acp.ToolCallUpdate{
			ToolCallId: acp.ToolCallId(Updates(c).IDOf(q)),
			Title:      &title,
			Kind:       &kind,
			Status:     &status,
			RawInput:   input,
			Content:    a.content(),
		},
		Options: a.options(),
		Meta:    a.meta(),
	}
}

// content is the question, or in later rounds, for a client that still shows it, what
// is new.
func (a *Asking) content() []acp.ToolCallContent {
	text, _ := a.roundWords()
	if a.opts.Appends && a.round > 1 {
		return textContent(strings.TrimSpace(text))
	}
	return textContent(shownText(a.call, a.index) + text)
}

// roundWords say that several options can be picked, one a round, as a text and
// for a title: nothing else tells the first round from a question that takes one.
func (a *Asking) roundWords() (text, title string) {
	switch {
	case !a.Question().MultiSelect || a.opts.Aware:
		return "", ""
	case len(a.picked) == 0:
		return "\n\nPick several, one at a time, then Done.", "pick several, then Done"
	}
	return "\n\nPicked so far: " + names(a.Question(), a.picked) + ". Pick more, or Done.", "pick more, or Done"
}

// Beside is what a client has to show in the conversation, because its title, which
// is all that it shows of a request, has no room for it; empty if there is nothing.
func (a *Asking) Beside() string {
	text, shown := a.Question().Text, shownText(a.call, a.index)
	if a.opts.Title != TitleHeaderAndQuestion || a.round > 1 {
		return ""
	}
	if strings.Contains(*a.Request().ToolCall.Title, text) && previews(a.Question()) == "" {
		return ""
	}
	return shown
}

// rawInput is what a client gets of the tool's input: the question, as given.
type rawInput struct {
	Question string `json:"question"`
	Header   string `json:"header,omitempty"`
}

// title is the title of question q, one line without control characters. A long one
// says which round it is.
func title(c convert.Call, q int, style TitleStyle, round string) string {
	if style == TitleHeaderAndQuestion {
		return longTitle(c, q, round)
	}
	who := c.SubAgent.Whose()
	if who != "" {
		who = " (" + who + ")"
	}
	return clean.Truncate(heading(c, q), maxTitle) + who
}

// longTitle is the title for a client that shows nothing else: with the question,
// and before it what else has to be known.
func longTitle(c convert.Call, q int, round string) string {
	var marks []string
	if who := c.SubAgent.Whose(); who != "" {
		marks = append(marks, who)
	}
	if n := len(c.Questions); n > 1 && c.Server == "" {
		marks = append(marks, strconv.Itoa(q+1)+" of "+strconv.Itoa(n))
	}
	if round != "" {
		marks = append(marks, round)
	}
	title, text := heading(c, q), ": "+clean.Line(c.Questions[q].Text)
	if text == ": "+title {
		text = ""
	}
	if len(marks) > 0 {
		title += " (" + strings.Join(marks, ", ") + ")"
	}
	return clean.Truncate(title+text, maxTitle)
}

// heading is what question q is about.
func heading(c convert.Call, q int) string {
	for _, words := range []string{c.Questions[q].Header, c.Title} {
		if !clean.Blank(words) {
			return clean.Line(words)
		}
	}
	return defaultTitle
}

// IDOf is the id under which question q is shown: the call's own for
// the first, with `:2`, `:3` … behind it for the others.
func (u Updates) IDOf(q int) string {
	if q == 0 {
		return u.ID
	}
	return u.ID + ":" + strconv.Itoa(q+1)
}

func textContent(text string) []acp.ToolCallContent {
	return []acp.ToolCallContent{acp.ToolContent(acp.TextBlock(text))}
}

func (a *Asking) options() []acp.PermissionOption {
	q := a.Question()
	options := make([]acp.PermissionOption, 0, len(q.Options)+2)
	add := func(id, name string, kind acp.PermissionOptionKind) {
		options = append(options, acp.PermissionOption{Kind: kind, Name: name, OptionId: acp.PermissionOptionId(id)})
	}
	const pick = acp.PermissionOptionKindAllowOnce
	if len(a.picked) > 0 {
		add(DoneID, "Done: "+names(q, a.picked), pick)
	}
	for i := range q.Options {
		switch {
		case slices.Contains(a.picked, i):
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
	if label == OtherID || label == DoneID || positionID.MatchString(label) {
		return "__option_" + strconv.Itoa(i+1) + "__"
	}
	return label
}

var positionID = regexp.MustCompile(`^__option_[0-9]+__$`)

func optionName(o *convert.Option) string {
	label := clean.Line(o.Label)
	if description := clean.Line(o.Description); description != "" {
		return label + " - " + description
	}
	return label
}

// names are the labels of options, for people.
func names(q *convert.Question, picked []int) string {
	labels := make([]string, len(picked))
	for i, p := range picked {
		labels[i] = clean.Line(q.Options[p].Label)
		if strings.Contains(labels[i], ",") {
			labels[i] = `"` + labels[i] + `"`
		}
	}
	return strings.Join(labels, ", ")
}

type claudeMeta struct {
	QuestionType string `json:"questionType"`
	MultiSelect  bool   `json:"multiSelect"`
	// Parent is the tool call of the sub-agent that asks.
	Parent string `json:"parentToolUseId,omitempty"`
}

// bridgeMeta tells an aware client where it is in a call.
type bridgeMeta struct {
	Question  int      `json:"question"`
	Questions int      `json:"questions"`
	MCPServer string   `json:"mcpServer,omitempty"`
	Round     int      `json:"round,omitempty"`
	Picked    []string `json:"picked,omitzero"`
}

func (a *Asking) meta() map[string]any {
	c, question := a.call, a.Question()
	meta := map[string]any{"claudeCode": claudeMeta{"askUserQuestion", question.MultiSelect, c.SubAgent.Parent}}
	if len(c.Questions) == 1 && !question.MultiSelect && c.Server == "" {
		return meta
	}
	where := bridgeMeta{Question: a.index + 1, Questions: len(c.Questions), MCPServer: c.Server}
	if question.MultiSelect && !a.opts.Aware {
		where.Round = a.round
		where.Picked = make([]string, len(a.picked))
		for i, p := range a.picked {
			where.Picked[i] = optionID(question, p)
		}
	}
	meta["acp-bridge"] = where
	return meta
}
