package askuserquestion

import (
	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

const (
	// ToolName is the name under which the tool is registered by default.
	ToolName = adapter.ToolName
	// SDKToolName is the spelling of Claude's SDK.
	SDKToolName = adapter.ClaudeToolName
)

// Limits of a call.
const (
	MaxQuestions = convert.MaxQuestions
	MinOptions   = convert.MinOptions
	MaxOptions   = convert.MaxOptions
)

// RecommendedHeaderLen is how long a header should be at most. It is advice:
// [Validate] takes longer ones, and they are cut where they are drawn.
const RecommendedHeaderLen = 12

// Params is the input of the tool.
type Params struct {
	Questions []Question `json:"questions" description:"The questions, one to four, in the order in which to ask them"`
}

// Question is one question with its choices.
type Question struct {
	// Question is what the user reads.
	Question string `json:"question" description:"The whole question, ending with a question mark"`
	// Header names the topic in a word or two.
	Header string `json:"header" description:"The topic in at most 12 characters, such as \"Database\""`
	// Options are the choices, two to four. An answer in the user's own words
	// is always possible besides.
	Options []Option `json:"options" description:"The choices, two to four"`
	// MultiSelect allows more than one of them.
	MultiSelect bool `json:"multiSelect" description:"Whether more than one option can be picked"`
}

// Option is one choice of a question.
type Option struct {
	Label string `json:"label" description:"One to five words; unique within the question"`
	// Description says what follows from the choice.
	Description string `json:"description" description:"What follows from this choice"`
}

// Request is what a [Resolver] is asked.
type Request struct {
	// ToolCallID is the model's id of the call.
	ToolCallID string
	// Questions have been validated.
	Questions []Question
}

// Answer is the user's answer to one question: Selected or Other.
type Answer struct {
	// Question is the text of the question answered. It may be empty where
	// answers come in the order of the questions.
	Question string
	// Selected are the labels picked; one for a single-select question.
	Selected []string
	// Other is what the user typed. It replaces Selected in the result.
	Other string
}

// limits are those of [Validate]. Answers are found by position too, so a
// question may be asked twice.
var limits = convert.Limits{RequireHeader: true, RepeatQuestions: true}

func callOf(id string, questions []Question) convert.Call {
	c := convert.Call{ID: id, Name: ToolName}
	for _, q := range questions {
		made := convert.Question{Text: q.Question, Header: q.Header, MultiSelect: q.MultiSelect}
		for _, o := range q.Options {
			made.Options = append(made.Options, convert.Option{Label: o.Label, Description: o.Description})
		}
		c.Questions = append(c.Questions, made)
	}
	return c
}

// shown is a request as it is drawn: with short headers.
func shown(req Request) convert.Call {
	c := callOf(req.ToolCallID, req.Questions)
	for i := range c.Questions {
		c.Questions[i].Header = clean.Truncate(clean.Line(c.Questions[i].Header), RecommendedHeaderLen)
	}
	return c
}

func requestOf(c convert.Call) Request {
	r := Request{ToolCallID: c.ID}
	for _, q := range c.Questions {
		made := Question{Question: q.Text, Header: q.Header, MultiSelect: q.MultiSelect}
		for _, o := range q.Options {
			made.Options = append(made.Options, Option{o.Label, o.Description})
		}
		r.Questions = append(r.Questions, made)
	}
	return r
}
