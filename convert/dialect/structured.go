package dialect

import (
	"encoding/json"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Structured is the result of a call as an object with one entry per question
// and flags for everything that is not an answer.
type Structured struct {
	Answered bool               `json:"answered"`
	Answers  []StructuredAnswer `json:"answers"`
	// Cancelled is set when the user dismissed or declined the call.
	Cancelled bool `json:"cancelled,omitempty"`
	// ConnectionLost is set when the client went away.
	ConnectionLost bool `json:"connectionLost,omitempty"`
	// PendingFile is where the questions wait when nobody could be asked.
	PendingFile string `json:"pendingFile,omitempty"`
	// Error says why the call failed.
	Error   string   `json:"error,omitempty"`
	Details *Details `json:"details,omitempty"`
}

// StructuredAnswer is one answer of a [Structured] result.
type StructuredAnswer struct {
	Question string `json:"question"`
	// Answer is a string, or a list of strings for a multi-select question.
	Answer AnswerValue `json:"answer"`
	// SelectedOption is the label picked for a single-select question.
	SelectedOption string `json:"selectedOption,omitempty"`
	// WasCustom says that the user typed text of their own.
	WasCustom bool   `json:"wasCustom"`
	Note      string `json:"note,omitempty"`
}

// AnswerValue is a string or, when Many is set, a list of strings.
type AnswerValue struct {
	Items []string
	Many  bool
}

// MarshalJSON writes a string or an array of strings.
func (v AnswerValue) MarshalJSON() ([]byte, error) {
	if v.Many {
		return clean.JSON(append([]string{}, v.Items...)), nil
	}
	if len(v.Items) == 0 {
		return []byte(`""`), nil
	}
	return clean.JSON(v.Items[0]), nil
}

// UnmarshalJSON reads a string or an array of strings.
func (v *AnswerValue) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*v = AnswerValue{Items: []string{one}}
		return nil
	}
	v.Many = true
	return json.Unmarshal(b, &v.Items)
}

// Details is kept beside a [Structured] result for sessions that are replayed
// or summarised later.
type Details struct {
	Questions json.RawMessage    `json:"questions,omitempty"`
	Answers   []StructuredAnswer `json:"answers"`
	// AnsweredAt is in milliseconds since 1970, 0 when not known.
	AnsweredAt int64 `json:"answeredAt,omitempty"`
	// Mode is "interactive", "print" or "rpc".
	Mode     string          `json:"mode,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// StructuredResult makes the object for an outcome, without details.
func StructuredResult(c convert.Call, o convert.Outcome) Structured {
	r := Structured{Answered: o.Status == convert.Answered, Answers: []StructuredAnswer{}}
	switch o.Status {
	case convert.Answered:
		r.Answers = structuredAnswers(c, o.Answers)
	case convert.Cancelled, convert.Declined:
		r.Cancelled = true
	case convert.Disconnected:
		r.ConnectionLost = true
	default:
		r.Error = o.Message()
	}
	return r
}

func structuredAnswers(c convert.Call, answers []convert.Answer) []StructuredAnswer {
	list := make([]StructuredAnswer, 0, len(answers))
	for i, a := range answers {
		if i >= len(c.Questions) || a.Empty() {
			continue
		}
		q := c.Questions[i]
		entry := StructuredAnswer{
			Question:  q.Text,
			Answer:    AnswerValue{Items: a.Items(), Many: q.MultiSelect},
			WasCustom: a.Text != "",
			Note:      a.Note,
		}
		if !q.MultiSelect && len(a.Selected) == 1 {
			entry.SelectedOption = a.Selected[0]
		}
		list = append(list, entry)
	}
	return list
}
