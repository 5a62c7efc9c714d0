package askuserquestion_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/adapter"
	auq "github.com/acp-bridge/acp-bridge/adapter/askuserquestion"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	_ "github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The schema of the document, as a model fills it in.
const authInput = `{"questions":[{"question":"Which auth method?","header":"Auth","multiSelect":false,"options":[
	{"label":"OAuth (Recommended)","description":"Browser flow"},{"label":"API key","description":"Static token"}]}]}`

func question(text string, labels ...string) auq.Question {
	q := auq.Question{Question: text, Header: "H"}
	for _, l := range labels {
		q.Options = append(q.Options, auq.Option{Label: l})
	}
	return q
}

func params(questions ...auq.Question) auq.Params { return auq.Params{Questions: questions} }

func TestConstants(t *testing.T) {
	require.Equal(t, "ask_user_question", auq.ToolName)
	require.Equal(t, "AskUserQuestion", auq.SDKToolName)
	require.Equal(t, []int{4, 2, 4, 12}, []int{auq.MaxQuestions, auq.MinOptions, auq.MaxOptions, auq.RecommendedHeaderLen})
	require.NotEmpty(t, auq.Description())
}

func TestValidate(t *testing.T) {
	ok := question("a?", "x", "y")
	headless := ok
	headless.Header = " "
	long := ok
	long.Header = "much longer than twelve characters"
	for name, test := range map[string]struct {
		params auq.Params
		want   error
		text   string
	}{
		"valid":           {params(ok), nil, ""},
		"long header":     {params(long), nil, ""},
		"asked twice":     {params(ok, ok), nil, ""},
		"no questions":    {params(), auq.ErrNoQuestions, "askuserquestion: questions must be a non-empty array"},
		"five questions":  {params(ok, ok, ok, ok, ok), auq.ErrTooManyQuestions, "askuserquestion: maximum 4 questions allowed"},
		"no text":         {params(question("", "x", "y")), auq.ErrEmptyQuestion, "askuserquestion: each question must have non-empty question text"},
		"no header":       {params(headless), auq.ErrEmptyHeader, "askuserquestion: each question must have a non-empty header"},
		"one option":      {params(ok, question("b?", "x")), auq.ErrOptionCount, "askuserquestion: each question must have 2-4 options"},
		"five options":    {params(question("a?", "1", "2", "3", "4", "5")), auq.ErrOptionCount, "askuserquestion: each question must have 2-4 options"},
		"no label":        {params(question("a?", "x", "")), auq.ErrEmptyLabel, "askuserquestion: each option must have a non-empty label"},
		"duplicate label": {params(question("a?", "x", "x")), auq.ErrDuplicateLabel, "askuserquestion: option labels within a question must be unique"},
	} {
		t.Run(name, func(t *testing.T) {
			err := auq.Validate(test.params)
			if test.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, test.want)
			require.Equal(t, test.text, test.want.Error())
			require.True(t, strings.HasPrefix(err.Error(), test.text+" ("), "says where: %s", err)
		})
	}
	require.EqualError(t, auq.ErrResolverCancelled, "askuserquestion: resolver cancelled by user")
	require.ErrorContains(t, auq.Validate(params(ok, question("b?", "x"))), "question 2")
}

// The answer text of the document.
func TestFormat(t *testing.T) {
	languages := question("Languages?", "Go", "Rust", "Zig")
	languages.MultiSelect = true
	req := auq.Request{Questions: []auq.Question{question("Auth method?", "OAuth", "API key"), languages, question("Name?", "a", "b")}}
	const whole = "Auth method?\nOAuth\n\nLanguages?\n- Go\n- Rust\n\nName?\nVincent Adultman"
	auth, lang, name := auq.Answer{Selected: []string{"OAuth"}}, auq.Answer{Selected: []string{"Go", "Rust"}}, auq.Answer{Other: "Vincent Adultman"}
	named := func(a auq.Answer, q string) auq.Answer { a.Question = q; return a }
	for label, test := range map[string]struct {
		answers []auq.Answer
		want    string
	}{
		"by position":             {[]auq.Answer{auth, lang, name}, whole},
		"by text":                 {[]auq.Answer{named(name, "Name?"), named(lang, "Languages?"), named(auth, "Auth method?")}, whole},
		"some by text":            {[]auq.Answer{named(name, "Name?"), lang, named(auth, "Auth method?")}, whole},
		"a text not asked":        {[]auq.Answer{named(auth, "Which way in?"), lang, name}, whole},
		"missing are left out":    {[]auq.Answer{auth}, "Auth method?\nOAuth"},
		"empty are left out":      {[]auq.Answer{{}, lang, {}}, "Languages?\n- Go\n- Rust"},
		"text replaces picks":     {[]auq.Answer{{Selected: []string{"OAuth"}, Other: "neither"}}, "Auth method?\nneither"},
		"one of several is a row": {[]auq.Answer{{}, {Selected: []string{"Zig"}}}, "Languages?\n- Zig"},
		"none":                    {nil, ""},
	} {
		require.Equal(t, test.want, auq.Format(req, test.answers), label)
	}
	twice := auq.Request{Questions: []auq.Question{question("Which?", "a", "b"), question("Which?", "a", "b")}}
	require.Equal(t, "Which?\nb\n\nWhich?\na", auq.Format(twice, []auq.Answer{
		{Question: "Which?", Selected: []string{"b"}}, {Question: "Which?", Selected: []string{"a"}}}))
}

// Answers that name their questions are the same in every order.
func TestFormatOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-d ?]{1,3}`), 1, 4, rapid.ID[string]).Draw(t, "texts")
		var req auq.Request
		var answers []auq.Answer
		for i, text := range texts {
			req.Questions = append(req.Questions, question(text, "x", "y"))
			answers = append(answers, auq.Answer{Question: text, Other: fmt.Sprint("answer ", i)})
		}
		want := auq.Format(req, answers)
		require.Equal(t, want, auq.Format(req, rapid.Permutation(answers).Draw(t, "order")))
	})
}

func TestTool(t *testing.T) {
	for name, test := range map[string]struct {
		resolver auq.Resolver
		input    string
		text     string
		isError  bool
	}{
		"answered":          {auq.StaticResolver{Answers: []auq.Answer{{Selected: []string{"API key"}}}}, authInput, "Which auth method?\nAPI key", false},
		"own words":         {auq.StaticResolver{Answers: []auq.Answer{{Other: "a passkey"}}}, authInput, "Which auth method?\na passkey", false},
		"cancelled":         {auq.StaticResolver{Err: auq.ErrResolverCancelled}, authInput, "[cancelled by user]", false},
		"cancelled, why":    {auq.StaticResolver{Err: fmt.Errorf("%w: a new message", auq.ErrResolverCancelled)}, authInput, "[cancelled by user]", false},
		"failed":            {auq.StaticResolver{Err: errors.New("no screen")}, authInput, "no screen", true},
		"not offered":       {auq.StaticResolver{Answers: []auq.Answer{{Selected: []string{"SAML"}}}}, authInput, `question could not be answered: question 1 has no option "SAML"`, true},
		"not asked":         {auq.StaticResolver{Answers: []auq.Answer{{Question: "Who?", Other: "me"}}}, authInput, `question could not be answered: answer 1 is for "Who?", which was not asked`, true},
		"too many":          {auq.StaticResolver{Answers: []auq.Answer{{Other: "a"}, {Other: "b"}}}, authInput, "question could not be answered: answer 2 has no question (2 answers for 1 questions)", true},
		"nobody":            {nil, authInput, "the Resolver panicked: runtime error: invalid memory address or nil pointer dereference", true},
		"none":              {auq.StaticResolver{}, authInput, "question could not be answered: no question has an answer", true},
		"no header":         {auq.StaticResolver{}, `{"questions":[{"question":"a?","options":["x","y"]}]}`, "askuserquestion: each question must have a non-empty header (question 1: header is required)", true},
		"no questions":      {auq.StaticResolver{}, `{"questions":[]}`, "askuserquestion: questions must be a non-empty array (at least one question is required)", true},
		"not JSON":          {auq.StaticResolver{}, `{`, "input is not valid JSON: expected an object with questions", true},
		"wrong type":        {auq.StaticResolver{}, `{"questions":7}`, "wrong type: questions must be an array, got a number", true},
		"through, refused":  {auq.Through(adapter.SubAgent(nil), ""), authInput, "question could not be answered: ask_user_question is not available to sub-agents", true},
		"through, declined": {auq.Through(adapter.Static{Err: convert.ErrDeclined}, ""), authInput, "[cancelled by user]", false},
		"through, a note":   {auq.Through(adapter.Static{Answers: []convert.Answer{{Selected: []string{"API key"}, Note: "a short one"}}}, ""), authInput, "Which auth method?\nAPI key (note: a short one)", false},
	} {
		t.Run(name, func(t *testing.T) {
			text, isError := auq.NewTool(test.resolver).Run(t.Context(), "call-1", []byte(test.input))
			require.Equal(t, test.text, text)
			require.Equal(t, test.isError, isError)
		})
	}
}

// The resolver gets what the model wrote.
func TestRequest(t *testing.T) {
	var got auq.Request
	tool := auq.NewToolNamed(auq.SDKToolName, auq.ResolverFunc(func(_ context.Context, req auq.Request) ([]auq.Answer, error) {
		got = req
		return nil, auq.ErrResolverCancelled
	}))
	require.Equal(t, "AskUserQuestion", tool.Name())
	tool.Run(t.Context(), "call-1", []byte(authInput))
	var want auq.Params
	require.NoError(t, json.Unmarshal([]byte(authInput), &want))
	require.Equal(t, auq.Request{ToolCallID: "call-1", Questions: want.Questions}, got)
}

// The schema requires what [auq.Params] has, under the same names.
func TestSchema(t *testing.T) {
	type property struct {
		Required   []string
		Properties map[string]json.RawMessage
		Items      json.RawMessage
	}
	var root, q, o, list property
	read := func(data []byte, into *property) { require.NoError(t, json.Unmarshal(data, into)) }
	read(auq.NewTool(nil).Schema(), &root)
	read(root.Properties["questions"], &list)
	read(list.Items, &q)
	read(q.Properties["options"], &list)
	read(list.Items, &o)
	for _, test := range []struct {
		schema property
		typ    reflect.Type
	}{{root, reflect.TypeFor[auq.Params]()}, {q, reflect.TypeFor[auq.Question]()}, {o, reflect.TypeFor[auq.Option]()}} {
		for i := range test.typ.NumField() {
			require.Contains(t, test.schema.Properties, test.typ.Field(i).Tag.Get("json"))
		}
		require.Len(t, test.schema.Properties, test.typ.NumField())
	}
	require.Equal(t, []string{"question", "header", "options"}, q.Required)
}

// Two calls, one behind the other, take their own lines and no others.
func TestStdinResolver(t *testing.T) {
	many := question("Which?", "a", "b", "c")
	many.MultiSelect = true
	req := auq.Request{Questions: []auq.Question{question("One?", "a", "b"), many}}
	in := strings.NewReader("2\n1,3\nother my own words\nback\nother\nwords\n1\n\nleft over\n")
	var out strings.Builder
	resolver := auq.StdinResolver{In: in, Out: &out}

	answers := acptest.Must(resolver.Ask(t.Context(), req))
	require.Equal(t, []auq.Answer{{Question: "One?", Selected: []string{"b"}}, {Question: "Which?", Selected: []string{"a", "c"}}}, answers)
	require.Contains(t, out.String(), "One?\n1. a\n2. b\nType a number, a label or your own words. An empty line cancels.\n> Your answer: b\n")

	answers = acptest.Must(resolver.Ask(t.Context(), req))
	require.Equal(t, []auq.Answer{{Question: "One?", Other: "words"}, {Question: "Which?", Selected: []string{"a"}}}, answers)

	require.ErrorIs(t, acptest.Err(resolver.Ask(t.Context(), req)), auq.ErrResolverCancelled, "an empty line")
	rest, _ := io.ReadAll(in)
	require.Equal(t, "left over\n", string(rest))
	require.ErrorIs(t, acptest.Err(resolver.Ask(t.Context(), req)), auq.ErrResolverCancelled, "the end of the input")
}

func TestStdinResolverEndsWithItsContext(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the session was closed"))
	_, err := auq.StdinResolver{In: in, Out: io.Discard}.Ask(ctx, auq.Request{Questions: []auq.Question{question("One?", "a", "b")}})
	require.ErrorContains(t, err, "the session was closed")
	require.NotErrorIs(t, err, auq.ErrResolverCancelled)
}

// What a terminal shows has no signs of Markdown and no header that is longer than
// is good; a number that is not on the list is no answer until it is said twice;
// and words beside picks do not take the picks away.
func TestStdinResolverAsks(t *testing.T) {
	many := question("Which **parts** of `x`?", "a", "b")
	many.MultiSelect, many.Header = true, "A header that is long"
	for typed, want := range map[string]auq.Answer{
		"9\n2\n":          {Selected: []string{"b"}},
		"9\n9\n":          {Other: "9"},
		"1,9\n1\n":        {Selected: []string{"a"}},
		"other 9\n":       {Other: "9"},
		"9\n8\n9\n9\n":    {Other: "9"},
		"1, other x, y\n": {Selected: []string{"a"}, Other: `a, "x, y"`},
	} {
		var out strings.Builder
		answers, err := auq.StdinResolver{In: strings.NewReader(typed), Out: &out}.Ask(t.Context(), auq.Request{Questions: []auq.Question{many}})
		require.NoError(t, err, "%q", typed)
		want.Question = many.Question
		require.Equal(t, []auq.Answer{want}, answers, "%q", typed)
		require.True(t, strings.HasPrefix(out.String(), "A header th…\nWhich parts of x?\n"), out.String())
	}
}
