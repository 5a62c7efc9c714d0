package dialect

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// gemini is Gemini CLI's ask_user: questions with a type, answers by the numbers
// of the questions, from 0.
type gemini struct{}

func (gemini) recognises(d document) bool { return d.tool == "ask_user" && d.typed() }

var geminiLimits = convert.Limits{MinOptions: -1, FreeText: true, RepeatQuestions: true}

const (
	geminiChoice = "choice"
	geminiText   = "text"
	geminiYesNo  = "yesno"
)

func (gemini) decode(d document) (convert.Call, error) {
	call, err := convert.Parse([]byte(d.input.Raw), geminiLimits)
	if err != nil {
		return convert.Call{}, err
	}
	for i, v := range d.questions() {
		q := &call.Questions[i]
		if err := geminiType(q, v.Get("type"), i+1); err != nil {
			return convert.Call{}, err
		}
	}
	return call, nil
}

// geminiType gives a question the options that its type means.
func geminiType(q *convert.Question, kind gjson.Result, pos int) error {
	switch n := len(q.Options); kind.String() {
	case geminiYesNo:
		q.Options, q.MultiSelect = []convert.Option{{Label: "Yes"}, {Label: "No"}}, false
	case geminiText:
		q.Options, q.MultiSelect = nil, false
	case geminiChoice, "":
		if n < convert.MinOptions {
			return &convert.InputError{Question: pos, Err: convert.ErrOptionCount, Detail: "expected 2 to 4, got " + strconv.Itoa(n)}
		}
	default:
		return &convert.InputError{Question: pos, Err: convert.ErrWrongType, Detail: "type must be choice, text or yesno, got " + clean.Truncate(kind.Raw, 40)}
	}
	return nil
}

const geminiDismissed = "User dismissed the dialog without answering."

func (gemini) encode(d document, c convert.Call, r Reply) Result {
	switch r.Outcome.Status {
	case convert.Answered:
	case convert.Declined, convert.Cancelled:
		return Result{Body: []byte(geminiDismissed)}
	default:
		return Result{Body: []byte(r.Outcome.Message()), IsError: true}
	}
	return d.respond(map[string]any{"answers": numbered(c, r.Outcome.Answers)})
}
