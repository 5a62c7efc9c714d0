package convert_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func given(multi bool, labels ...string) convert.Call {
	q := convert.Question{Text: "Which?", MultiSelect: multi}
	for _, l := range labels {
		q.Options = append(q.Options, convert.Option{Label: l})
	}
	return convert.Call{Questions: []convert.Question{q}}
}

func TestReadAnswer(t *testing.T) {
	one := given(false, "PostgreSQL", "SQLite", "3")
	many := given(true, "Auth", "API", "Admin")
	free := given(false)
	counts := given(false, "2", "4", "8")
	port := given(false, "8080")
	port.Questions[0].OwnWords = true
	for _, tc := range []struct {
		call convert.Call
		in   string
		want convert.Answer
	}{
		{one, `"PostgreSQL"`, convert.Answer{Selected: []string{"PostgreSQL"}}},
		{one, `"sqlite "`, convert.Answer{Selected: []string{"SQLite"}}},
		{one, `2`, convert.Answer{Selected: []string{"SQLite"}}},
		{one, `2.0`, convert.Answer{Selected: []string{"SQLite"}}},
		{one, `"2"`, convert.Answer{Text: "2"}},
		{one, `"#2"`, convert.Answer{Text: "#2"}},
		{one, `3`, convert.Answer{Selected: []string{"3"}}},
		{one, `"3"`, convert.Answer{Selected: []string{"3"}}},
		{counts, `2`, convert.Answer{Selected: []string{"4"}}},
		{counts, `"2"`, convert.Answer{Selected: []string{"2"}}},
		{counts, `["2"]`, convert.Answer{Selected: []string{"2"}}},
		{counts, `{"selected":[2]}`, convert.Answer{Selected: []string{"4"}}},
		{counts, `{"selected":["2"]}`, convert.Answer{Selected: []string{"2"}}},
		{port, `1`, convert.Answer{Text: "1"}},
		{port, `8080`, convert.Answer{Text: "8080"}},
		{port, `"8080"`, convert.Answer{Selected: []string{"8080"}}},
		{one, `["SQLite"]`, convert.Answer{Selected: []string{"SQLite"}}},
		{one, `" DynamoDB\n"`, convert.Answer{Text: "DynamoDB"}},
		{one, `"7"`, convert.Answer{Text: "7"}},
		{one, `{"text":"cancel"}`, convert.Answer{Text: "cancel"}},
		{one, `"other use Redis"`, convert.Answer{Text: "use Redis"}},
		{given(false, "Cancel", "Go on"), `"cancel"`, convert.Answer{Selected: []string{"Cancel"}}},
		{one, `null`, convert.Answer{}},
		{one, `"  "`, convert.Answer{}},
		{one, `[]`, convert.Answer{}},
		{one, `{}`, convert.Answer{}},
		{one, `{"text":"2"}`, convert.Answer{Text: "2"}},
		{one, `{"selected":["SQLite"],"note":"for tests"}`, convert.Answer{Selected: []string{"SQLite"}, Note: "for tests"}},
		{one, `{"selected":"sqlite"}`, convert.Answer{Selected: []string{"SQLite"}}},
		{many, `["admin",1,"auth"]`, convert.Answer{Selected: []string{"Auth", "Admin"}}},
		{many, `["API","and logs","and more"]`, convert.Answer{Selected: []string{"API"}, Text: "and logs, and more"}},
		{many, `[1,3]`, convert.Answer{Selected: []string{"Auth", "Admin"}}},
		{many, `"1,3"`, convert.Answer{Text: "1,3"}},
		{many, `"Auth, admin"`, convert.Answer{Selected: []string{"Auth", "Admin"}}},
		{many, `"Auth, other logs, metrics"`, convert.Answer{Selected: []string{"Auth"}, Text: "logs, metrics"}},
		{many, `"API"`, convert.Answer{Selected: []string{"API"}}},
		{free, `"order-processor"`, convert.Answer{Text: "order-processor"}},
		{free, `8080`, convert.Answer{Text: "8080"}},
		{free, `"1,3"`, convert.Answer{Text: "1,3"}},
	} {
		got, err := tc.call.ReadAnswer(0, []byte(tc.in))
		require.NoError(t, err, tc.in)
		require.Equal(t, tc.want, got, tc.in)
	}
}

func TestReadAnswerErrors(t *testing.T) {
	one := given(false, "PostgreSQL", "SQLite")
	many := given(true, "Auth", "API")
	twins := given(false, "go", "GO")
	closed := given(false, "a", "b")
	closed.Questions[0].Closed = true
	for _, tc := range []struct {
		call convert.Call
		in   string
		want string
	}{
		{one, `["PostgreSQL","SQLite"]`, `question 1: the answer does not fit: "Which?" takes one answer, got 2`},
		{one, `"PostgreSQL, SQLite"`, `question 1: the answer does not fit: "PostgreSQL, SQLite": This question takes one answer`},
		{one, `"cancel"`, `question 1: user cancelled the question: the answer is the word cancel; as a text it is {"text":"cancel"}`},
		{one, `["CANCEL"]`, `question 1: user cancelled the question: the answer is the word cancel; as a text it is {"text":"cancel"}`},
		{one, `"other"`, "question 1: the answer does not fit: \"other\": Write your own words behind `other`"},
		{one, `0`, `question 1: the answer does not fit: there is no option 0, only 1 to 2; a number is the option at that position, in quotes it is your own words`},
		{one, `1e400`, `question 1: the answer does not fit: there is no option 1e400, only 1 to 2; a number is the option at that position, in quotes it is your own words`},
		{one, `{"selected":["1"]}`, `question 1: the answer does not fit: "Which?" has no option "1"`},
		{one, `{"selected":[3]}`, `question 1: the answer does not fit: there is no option 3, only 1 to 2; a number is the option at that position, in quotes it is your own words`},
		{one, `{"selected":[true]}`, `question 1: wrong type: selected must be a label, a number, or a list of them, got a boolean`},
		{one, `{"text":"a","text":"b"}`, `question 1: the answer does not fit: text is given twice`},
		{closed, `3`, `question 1: the answer does not fit: there is no option 3, only 1 to 2; a number is the option at that position`},
		{closed, `"x"`, `question 1: the answer does not fit: "x": This question accepts only its options`},
		{closed, `{"text":"x"}`, `question 1: the answer does not fit: "Which?" accepts only its options, and no words beside them`},
		{closed, `{"selected":["a"],"note":"only if staging is green"}`, `question 1: the answer does not fit: "Which?" accepts only its options, and no words beside them`},
		{twins, `"Go"`, `question 1: the answer does not fit: "Go": "Go" fits more than one option. Write one of them exactly, or its number`},
		{one, `true`, `question 1: wrong type: answer must be a label, a number, your own words, or a list of them, got a boolean`},
		{one, `7`, `question 1: the answer does not fit: there is no option 7, only 1 to 2; a number is the option at that position, in quotes it is your own words`},
		{one, `1.5`, `question 1: the answer does not fit: there is no option 1.5, only 1 to 2; a number is the option at that position, in quotes it is your own words`},
		{one, `{"choice":1}`, `question 1: the answer does not fit: an answer has selected, text and note, not "choice"`},
		{one, `{"selected":["Oracle"]}`, `question 1: the answer does not fit: "Which?" has no option "Oracle"`},
		{one, `{"selected":["SQLite"],"text":"x"}`, `question 1: the answer does not fit: "Which?" takes one answer, got 2`},
		{one, `{"text":1}`, `question 1: wrong type: text must be a string, got a number`},
		{many, `["Auth",null]`, `question 1: wrong type: answer must be a label, a number, your own words, or a list of them, got null`},
		{many, `["Auth",""]`, `question 1: the answer does not fit: an entry of the list is empty`},
		{many, `[["Auth"]]`, `question 1: wrong type: answer must be a label, a number, your own words, or a list of them, got an array`},
		{many, `x`, `question 1: input is not valid JSON: expected an answer`},
	} {
		got, err := tc.call.ReadAnswer(0, []byte(tc.in))
		require.EqualError(t, err, tc.want, tc.in)
		require.Zero(t, got)
	}
}

func TestReadAnswers(t *testing.T) {
	call := convert.Call{Questions: []convert.Question{
		{Text: "Which database?", Options: []convert.Option{{Label: "PostgreSQL"}, {Label: "SQLite"}}},
		{Text: "What name?"},
	}}
	answers := acptest.Must(call.ReadAnswers([]byte(`["postgresql","order-processor"]`)))
	require.Equal(t, []convert.Answer{{Selected: []string{"PostgreSQL"}}, {Text: "order-processor"}}, answers)
	for in, want := range map[string]string{
		`["SQLite"]`:                         `question 2: no answer given: "What name?" (1 given for 2 questions)`,
		`[]`:                                 `question 1: no answer given: "Which database?" (0 given for 2 questions)`,
		`["SQLite","x","y"]`:                 `question 2: the answer does not fit: "What name?" is the last question, but there are 3 answers for 2`,
		`["SQLite",null]`:                    `question 2: no answer given: "What name?"`,
		`["SQLite",{"text":"\u200b\u00ad"}]`: `question 2: no answer given: "What name?"`,
		`["",null]`:                          `question 1: no answer given: "Which database?"`,
		`["SQLite"`:                          `input is not valid JSON: expected an array with one answer per question, or an object by question text`,
		`"SQLite"`:                           `wrong type: answers must be an array with one answer per question, or an object by question text, got a string`,
		`1`:                                  `wrong type: answers must be an array with one answer per question, or an object by question text, got a number`,
		`{"Which database?":1}`:              `question 2: no answer given: "What name?"`,
		`{}`:                                 `question 1: no answer given: "Which database?"`,
		`{"Which database?":1,"Where?":1,"What name?":"x","How?":2}`: `the answer does not fit: no such question: "Where?", "How?"`,
		`{"Which database?":1,"What name?":"x","Which database?":2}`: `question 1: the answer does not fit: "Which database?" is answered twice`,
		`{"Which database?":1,"What name?":"cancel"}`:                `question 2: user cancelled the question: the answer is the word cancel; as a text it is {"text":"cancel"}`,
		`{"Which database?":7,"What name?":"x"}`:                     `question 1: the answer does not fit: there is no option 7, only 1 to 2; a number is the option at that position, in quotes it is your own words`,
		`{"selected":["SQLite"]}`:                                    `the answer does not fit: no such question: "selected"`,
	} {
		_, err := call.ReadAnswers([]byte(in))
		require.EqualError(t, err, want, in)
		require.Equal(t, strings.Contains(want, "cancelled"), errors.Is(err, convert.ErrCancelled), in)
	}
}

func TestReadAnswersByQuestion(t *testing.T) {
	call := convert.Call{Questions: []convert.Question{
		{Text: "Which\ndatabase?", Options: []convert.Option{{Label: "PostgreSQL"}, {Label: "SQLite"}}},
		{Text: "text"},
	}}
	want := []convert.Answer{{Selected: []string{"SQLite"}}, {Text: "order-processor"}}
	for _, in := range []string{
		`{"Which\ndatabase?":2,"text":"order-processor"}`,
		`{"text":{"text":"order-processor"},"Which database?":["sqlite"]}`, // as it is shown
	} {
		answers, err := call.ReadAnswers([]byte(in))
		require.NoError(t, err, in)
		require.Equal(t, want, answers, in)
	}
	call.Questions[1].Text = call.Questions[0].Text
	require.ErrorIs(t, acptest.Err(call.ReadAnswers([]byte(`{"Which\ndatabase?":2}`))), convert.ErrDuplicateQuestion)
}

// The answer to a single question needs no list around it.
func TestReadAnswersOfOneQuestion(t *testing.T) {
	one, many, free := given(false, "PostgreSQL", "SQLite"), given(true, "Auth", "API"), given(false)
	for _, tc := range []struct {
		call convert.Call
		in   string
		want convert.Answer
	}{
		{one, `"sqlite"`, convert.Answer{Selected: []string{"SQLite"}}},
		{one, `2`, convert.Answer{Selected: []string{"SQLite"}}},
		{one, `{"selected":["SQLite"],"note":"n"}`, convert.Answer{Selected: []string{"SQLite"}, Note: "n"}},
		{one, `{"Which?":"SQLite"}`, convert.Answer{Selected: []string{"SQLite"}}},
		{many, `{"Which?":["Auth","API"]}`, convert.Answer{Selected: []string{"Auth", "API"}}},
		{free, `8080`, convert.Answer{Text: "8080"}},
	} {
		answers, err := tc.call.ReadAnswers([]byte(tc.in))
		require.NoError(t, err, tc.in)
		require.Equal(t, []convert.Answer{tc.want}, answers, tc.in)
	}
	for in, want := range map[string]string{
		`["Auth","API"]`: `question 1: the answer does not fit: "Which?" is the last question, but there are 2 answers for 1; several picks for one question are a list in the list, such as [[1,2]]`,
		`{"which":1}`:    `the answer does not fit: no such question: "which"`,
		`null`:           `question 1: no answer given: "Which?"`,
		`true`:           `question 1: wrong type: answer must be a label, a number, your own words, or a list of them, got a boolean`,
	} {
		require.EqualError(t, acptest.Err(many.ReadAnswers([]byte(in))), want, in)
	}
}

// What is written down says the same when it is read, whatever the text looks
// like: a label, a number, a list.
func TestWriteAnswerReadsBack(t *testing.T) {
	words := rapid.OneOf(rapid.SampledFrom([]string{"1", "2", "a", "A", " a", "b, c", "1,2", "cancel", "null", `"`, "a\nb", "\u202ex"}), rapid.StringN(1, 8, -1))
	rapid.Check(t, func(t *rapid.T) {
		c := given(rapid.Bool().Draw(t, "multi"), rapid.SliceOfNDistinct(words, 0, 4, rapid.ID[string]).Draw(t, "labels")...)
		q := c.Questions[0]
		var a convert.Answer
		for _, o := range q.Options {
			if (q.MultiSelect || len(a.Selected) == 0) && rapid.Bool().Draw(t, "pick") {
				a.Selected = append(a.Selected, o.Label)
			}
		}
		if q.MultiSelect || len(a.Selected) == 0 {
			a.Text = rapid.OneOf(rapid.Just(""), words).Draw(t, "text")
		}
		if a.Empty() {
			a.Text = ""
		} else {
			a.Note = rapid.SampledFrom([]string{"", "a note"}).Draw(t, "note")
		}
		data := c.WriteAnswer(0, a)
		back, err := c.ReadAnswer(0, data)
		require.NoError(t, err, "%s", data)
		require.Equal(t, a, back, "%s", data)
	})
}
