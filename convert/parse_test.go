package convert_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func TestParseKeepsWhatItReads(t *testing.T) {
	input := `{"questions":[{"question":"Q?","header":"H","multiSelect":true,"options":[{"label":"a","description":"d","preview":"p"},"b"]}]}`
	call := acptest.Must(convert.Parse([]byte(input), convert.Limits{}))
	require.Equal(t, []convert.Question{{
		Text: "Q?", Header: "H", MultiSelect: true,
		Options: []convert.Option{{Label: "a", Description: "d", Preview: "p"}, {Label: "b"}},
	}}, call.Questions)
	require.Equal(t, input, string(call.Input))
}

func TestParseErrors(t *testing.T) {
	tests := map[string]struct {
		input            string
		limits           convert.Limits
		is               error
		question, option int
	}{
		"not JSON":           {`{`, convert.Limits{}, convert.ErrInvalidJSON, 0, 0},
		"nothing":            {``, convert.Limits{}, convert.ErrInvalidJSON, 0, 0},
		"string not JSON":    {`{"questions":"["}`, convert.Limits{}, convert.ErrInvalidJSON, 0, 0},
		"not an object":      {`null`, convert.Limits{}, convert.ErrWrongType, 0, 0},
		"no questions":       {`{}`, convert.Limits{}, convert.ErrNoQuestions, 0, 0},
		"too many":           {`{"questions":[{"question":"a?","options":["x","y"]},{"question":"b?","options":["x","y"]}]}`, convert.Limits{MaxQuestions: 1}, convert.ErrTooManyQuestions, 0, 0},
		"empty question":     {`{"questions":[{"question":" ","options":["x","y"]}]}`, convert.Limits{}, convert.ErrEmptyQuestion, 1, 0},
		"empty header":       {`{"questions":[{"question":"a?","options":["x","y"]}]}`, convert.Limits{RequireHeader: true}, convert.ErrEmptyHeader, 1, 0},
		"option count":       {`{"questions":[{"question":"a?","options":["x"]}]}`, convert.Limits{}, convert.ErrOptionCount, 1, 0},
		"no options":         {`{"questions":[{"question":"a?"}]}`, convert.Limits{MinOptions: -1}, convert.ErrOptionCount, 1, 0},
		"empty label":        {`{"questions":[{"question":"a?","options":["x",""]}]}`, convert.Limits{}, convert.ErrEmptyLabel, 1, 2},
		"half a character":   {`{"questions":[{"question":"a?","options":["x","\ud83d"]}]}`, convert.Limits{}, convert.ErrHalfLabel, 1, 2},
		"half in an object":  {`{"questions":[{"question":"a?","options":[{"label":"x \ude00"},"y"]}]}`, convert.Limits{}, convert.ErrHalfLabel, 1, 1},
		"filler as label":    {`{"questions":[{"question":"a?","options":["x","\u3164\uffa0"]}]}`, convert.Limits{}, convert.ErrEmptyLabel, 1, 2},
		"Braille as label":   {`{"questions":[{"question":"a?","options":["\u2800 ","x"]}]}`, convert.Limits{}, convert.ErrEmptyLabel, 1, 1},
		"selectors as label": {`{"questions":[{"question":"a?","options":["x","\ufe0f\udb40\udd00"]}]}`, convert.Limits{}, convert.ErrEmptyLabel, 1, 2},
		"tags as question":   {`{"questions":[{"question":"\udb40\udc41\u200d","options":["x","y"]}]}`, convert.Limits{}, convert.ErrEmptyQuestion, 1, 0},
		"filler as header":   {`{"questions":[{"question":"a?","header":"\u115f","options":["x","y"]}]}`, convert.Limits{RequireHeader: true}, convert.ErrEmptyHeader, 1, 0},
		"duplicate label":    {`{"questions":[{"question":"a?","options":["x","y","x"]}]}`, convert.Limits{}, convert.ErrDuplicateLabel, 1, 3},
		"duplicate question": {`{"questions":[{"question":"a?","options":["x","y"]},{"question":"a?","options":["x","y"]}]}`, convert.Limits{}, convert.ErrDuplicateQuestion, 2, 0},
		"wrong type":         {`{"questions":[{"question":"a?","options":["x",3]}]}`, convert.Limits{}, convert.ErrWrongType, 1, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			call, err := convert.Parse([]byte(test.input), test.limits)
			require.ErrorIs(t, err, test.is)
			var where *convert.InputError
			require.ErrorAs(t, err, &where)
			require.Equal(t, test.question, where.Question)
			require.Equal(t, test.option, where.Option)
			require.Empty(t, call)
		})
	}
}

func TestLimits(t *testing.T) {
	anything := convert.NoLimits
	for name, input := range map[string]string{
		"no options":      `{"questions":[{"question":"a?"}]}`,
		"one option":      `{"questions":[{"question":"a?","options":["x"]}]}`,
		"nine options":    `{"questions":[{"question":"a?","options":["1","2","3","4","5","6","7","8","9"]}]}`,
		"five, two alike": `{"questions":[{"question":"a?"},{"question":"a?"},{"question":"b?"},{"question":"c?"},{"question":"d?"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			acptest.Must(convert.Parse([]byte(input), anything))
			require.Error(t, acptest.Err(convert.Parse([]byte(input), convert.Limits{})))
		})
	}
}

func TestOutcomeErr(t *testing.T) {
	require.NoError(t, convert.Outcome{Status: convert.Answered}.Err())
	for status, want := range map[convert.Status]error{
		convert.Declined:     convert.ErrDeclined,
		convert.Cancelled:    convert.ErrCancelled,
		convert.Disconnected: convert.ErrDisconnected,
		convert.Failed:       convert.ErrFailed,
		0:                    convert.ErrFailed,
	} {
		err := convert.Outcome{Status: status, Reason: "because"}.Err()
		require.ErrorIs(t, err, want, status.String())
		require.ErrorContains(t, err, "because")
		for _, other := range []error{convert.ErrDeclined, convert.ErrCancelled, convert.ErrDisconnected, convert.ErrFailed} {
			require.Equal(t, other == want, errors.Is(err, other), "%s is %v", status, other)
		}
	}
}

func TestCheckRefusesAnswersThatDoNotFit(t *testing.T) {
	call := convert.Call{Questions: []convert.Question{
		{Text: "a?", Options: []convert.Option{{Label: "x"}, {Label: "y"}}},
		{Text: "b?", MultiSelect: true, Options: []convert.Option{{Label: "x"}, {Label: "y"}}},
	}}
	x, xy := []string{"x"}, []string{"x", "y"}
	for name, test := range map[string]struct {
		answers []convert.Answer
		ok      bool
	}{
		"one each":     {[]convert.Answer{{Selected: x}, {Selected: xy}}, true},
		"second open":  {[]convert.Answer{{Selected: x}}, true},
		"text":         {[]convert.Answer{{}, {Text: "own"}}, true},
		"none":         {[]convert.Answer{{}, {}}, false},
		"too many":     {[]convert.Answer{{Selected: x}, {Selected: x}, {Selected: x}}, false},
		"two for one":  {[]convert.Answer{{Selected: xy}}, false},
		"not a label":  {[]convert.Answer{{Selected: []string{"z"}}}, false},
		"no answers":   {nil, false},
		"note and not": {[]convert.Answer{{Note: "n"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := convert.Outcome{Status: convert.Answered, Answers: test.answers}.Check(call)
			if test.ok {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, convert.ErrFailed)
			}
		})
	}
}

// Input of nothing but brackets is refused, however long it is.
func TestDeepNesting(t *testing.T) {
	deep := []byte(`{"questions":` + strings.Repeat("[", 5_000_000))
	require.ErrorIs(t, acptest.Err(convert.Parse(deep, convert.Limits{})), convert.ErrInvalidJSON)
	require.ErrorIs(t, acptest.Err(ask.FormOutcome(convert.Call{Questions: make([]convert.Question, 1)}, deep)), convert.ErrProtocol)
	require.ErrorIs(t, acptest.Err(ask.ParseForm(deep)), convert.ErrInvalidJSON)
}

// A model that gave too many or too few options is told how many are taken.
func TestOptionCountSaysHowMany(t *testing.T) {
	for want, limits := range map[string]convert.Limits{
		"expected 2 to 4, got 5":     {},
		"expected 1 to 4, got 5":     {MinOptions: -1},
		"expected at least 6, got 5": {MinOptions: 6, MaxOptions: -1},
	} {
		require.ErrorContains(t, acptest.Err(convert.Parse([]byte(`{"questions":[{"question":"a?","options":["1","2","3","4","5"]}]}`), limits)), want)
	}
	// Where nobody says how many, it is as many as a person can be asked.
	q := convert.Question{Text: "a?", Options: make([]convert.Option, 1001)}
	require.ErrorContains(t, convert.Call{Questions: []convert.Question{q}}.Validate(convert.NoLimits), "expected 1 to 1000, got 1001")
	require.ErrorContains(t, convert.Call{Questions: make([]convert.Question, 101)}.Validate(convert.NoLimits), "at most 100, got 101")
}
