package ask_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

const kimiForm = `{"sessionId":"s","toolCallId":"0:c","mode":"form","message":"Which database?\nWhich features?","_meta":{"x":1},
"requestedSchema":{"type":"object","properties":{
 "q0":{"type":"string","title":"Database","oneOf":[{"const":"PostgreSQL","title":"PostgreSQL"},{"const":"SQLite","title":"SQLite"}]},
 "q1":{"type":"array","title":"Features","minItems":1,"items":{"anyOf":[{"const":"Auth","title":"Auth"},{"const":"Logs","title":"Logs"}]}}},
 "required":["q0","q1"]}}`

// Kimi's fields have headers alone. The texts are in the message, or, should one
// of them have several lines, in the input of the tool call.
func TestKimiForm(t *testing.T) {
	form := acptest.Must(ask.AgentForm{Params: json.RawMessage(kimiForm)}.Call())
	require.Equal(t, "Which database?", form.Questions[0].Text)
	require.Equal(t, "Database", form.Questions[0].Header)
	require.Equal(t, "Which features? (at least 1 of the options)", form.Questions[1].Text)
	for _, q := range form.Questions {
		require.True(t, q.Closed, "own words would vanish")
	}
	require.Equal(t, "s", form.Session)
	require.Equal(t, "0:c", form.ID)

	two := strings.Replace(kimiForm, `Which database?\n`, `Which database?\nThink twice.\n`, 1)
	input := `{"questions":[{"question":"Which database?\nThink twice."},{"question":"Which features?"}]}`
	form = acptest.Must(ask.AgentForm{Params: json.RawMessage(two), Input: json.RawMessage(input)}.Call())
	require.Equal(t, "Which database?\nThink twice.", form.Questions[0].Text)

	form = acptest.Must(ask.AgentForm{Params: json.RawMessage(two)}.Call())
	require.Contains(t, form.Questions[0].Text, "Which features?", "nothing is left out")
}

const openCodeForm = `{"mode":"form","sessionId":"s","toolCallId":"c","message":"Questions","requestedSchema":{"type":"object","properties":{
 "q0":{"type":"string","title":"Database","description":"Which database?","oneOf":[{"const":"PostgreSQL","title":"PostgreSQL","description":"big"},{"const":"SQLite","title":"SQLite"}]},
 "q0_custom":{"type":"string","title":"Database (other)","description":"Type your own answer"}},"required":[]}}`

// OpenCode 2 has the question beside its header, and a name for the form in the message.
// Words count there in the place of a pick, so a note names it.
func TestOpenCodeForm(t *testing.T) {
	form := acptest.Must(ask.AgentForm{Params: json.RawMessage(openCodeForm)}.Call())
	require.Len(t, form.Questions, 1, "the field for own words belongs to its question")
	q := form.Questions[0]
	require.Equal(t, "Which database?", q.Text)
	require.Equal(t, "Database", q.Header)
	require.False(t, q.Closed)
	for want, a := range map[string]convert.Answer{
		`{"action":"accept","content":{"q0":"SQLite"}}`:                                                             {Selected: []string{"SQLite"}},
		`{"action":"accept","content":{"q0_custom":"DuckDB"}}`:                                                      {Text: "DuckDB"},
		`{"action":"accept","content":{"q0_custom":"DuckDB\nfor now"}}`:                                             {Text: "DuckDB", Note: "for now"},
		`{"action":"accept","content":{"q0":"SQLite","q0_custom":"` + convert.WithNote("SQLite", "for now") + `"}}`: {Selected: []string{"SQLite"}, Note: "for now"},
	} {
		reply := acptest.Must(form.Reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{a}}))
		require.JSONEq(t, want, string(reply))
	}
}

const codexForm = `{"sessionId":"s","toolCallId":"c","mode":"form","message":"Codex needs your input to continue.","requestedSchema":{"type":"object","properties":{
 "db":{"title":"Which database?","description":"Database","_meta":{"codex":{"isOther":true,"isSecret":SECRET}},"type":"string","oneOf":[
  {"const":"PostgreSQL","title":"PostgreSQL"},{"const":"SQLite","title":"SQLite"},{"const":"None of the above","title":"None of the above","description":"Provide a different answer in the note field."}]},
 "db_note":{"type":"string","title":"Additional answer or note","_meta":{"codex":{"questionId":"db","role":"user_note","isSecret":SECRET}}}},
 "required":["db"]},"_meta":{"codex":{"autoResolutionMs":null}}}`

func codex(t *testing.T, secret string) ask.FormCall {
	t.Helper()
	return acptest.Must(ask.AgentForm{Params: json.RawMessage(strings.ReplaceAll(codexForm, "SECRET", secret))}.Call())
}

func TestCodexForm(t *testing.T) {
	form := codex(t, "false")
	require.Len(t, form.Questions, 1, "the note belongs to its question")
	q := form.Questions[0]
	require.Equal(t, "Which database?", q.Text)
	require.Equal(t, "Database", q.Header)
	require.Len(t, q.Options, 2, "own words stand for none of them")
	require.False(t, q.Closed)
	require.False(t, form.Secret())
	for want, a := range map[string]convert.Answer{
		`{"action":"accept","content":{"db":"SQLite"}}`:                                     {Selected: []string{"SQLite"}},
		`{"action":"accept","content":{"db":"SQLite","db_note":"for now"}}`:                 {Selected: []string{"SQLite"}, Note: "for now"},
		`{"action":"accept","content":{"db":"None of the above","db_note":"DuckDB, mine"}}`: {Text: "DuckDB, mine"},
	} {
		reply := acptest.Must(form.Reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{a}}))
		require.JSONEq(t, want, string(reply))
		o, back := acptest.Must2(form.Read(reply))
		require.Equal(t, string(reply), string(back), "as it came")
		require.Equal(t, []convert.Answer{a}, o.Answers)
	}
	require.ErrorIs(t, acptest.Err(form.Reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{}}})), convert.ErrBadAnswer)
}

func TestCodexAsyncForm(t *testing.T) {
	form := acptest.Must(ask.AgentForm{Params: json.RawMessage(`{"sessionId":"s","mode":"form","message":"It keeps working.","_meta":{"codex":{"delivery":"async"}},
	 "requestedSchema":{"type":"object","properties":{"question_0":{"title":"Name of the service?","type":"string","_meta":{"codex":{}}}}}}`)}.Call())
	require.Equal(t, "It keeps working.\n\nName of the service?", form.Questions[0].Text)
}

// A secret does not get into a record of the answers.
func TestSecretForm(t *testing.T) {
	form := codex(t, "true")
	require.True(t, form.Secret())
	o, back := acptest.Must2(form.Read(json.RawMessage(`{"action":"accept","content":{"db":"None of the above","db_note":"hunter2"}}`)))
	require.Contains(t, string(back), "hunter2")
	require.Equal(t, []convert.Answer{{Text: "(not shown)"}}, o.Answers)
}

// A client with forms gets an agent's form as it came, unknown members and all.
func TestAgentFormIsPassedOn(t *testing.T) {
	request := acptest.Must(ask.AgentForm{Params: json.RawMessage(kimiForm)}.Call()).Request()
	sent := acptest.Must(json.Marshal(request))
	require.JSONEq(t, kimiForm, string(sent))

	request.Message = "That does not fit.\n\n" + request.Message
	sent = acptest.Must(json.Marshal(request))
	require.JSONEq(t, strings.Replace(kimiForm, `"message":"`, `"message":"That does not fit.\n\n`, 1), string(sent))
}

func TestAgentFormAddress(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://example.com/x": true, "http://localhost:1/": true,
		"javascript:alert(1)": false, "file:///etc/passwd": false, "": false, "https://exa\u202emple.com": false,
	} {
		params := acptest.Must(json.Marshal(map[string]string{"mode": "url", "message": "Log in", "url": address, "elicitationId": "e"}))
		form, err := ask.AgentForm{Params: params}.Call()
		if !ok {
			require.ErrorIs(t, err, convert.ErrWrongType, address)
			continue
		}
		require.NoError(t, err, address)
		require.True(t, form.IsURL())
		require.Contains(t, form.Questions[0].Text, address)
	}
}

// None of the above stands for own words in Codex's forms alone. Elsewhere it is
// an option like any other.
func TestNoneOfTheAboveIsAnOption(t *testing.T) {
	c := convert.Call{ID: "c", Questions: []convert.Question{{Text: "Which?", Options: []convert.Option{{Label: "a"}, {Label: "None of the above"}}}}}
	form := acptest.Must(ask.AgentForm{Params: acptest.Must(json.Marshal(ask.Form(c)))}.Call())
	require.Equal(t, c.Questions[0].Options, form.Questions[0].Options)
}

// Whatever an agent sends as a form, and a client replies: it can be asked, and
// what goes back is JSON.
func FuzzAgentForm(f *testing.F) {
	f.Add([]byte(kimiForm), []byte(`{"questions":[{"question":"a"},{"question":"b"}]}`), []byte(`{"action":"accept","content":{"q0":"SQLite","q1":["Auth"]}}`))
	f.Add([]byte(strings.ReplaceAll(codexForm, "SECRET", "true")), []byte(``), []byte(`{"action":"accept","content":{"db":"None of the above","db_note":"x"}}`))
	f.Add([]byte(`{"mode":"url","url":"https://example.com/","message":"m"}`), []byte(`7`), []byte(`{"action":"decline"}`))
	f.Fuzz(func(t *testing.T, params, input, reply []byte) {
		form, err := ask.AgentForm{Params: params, Input: input}.Call()
		if err != nil {
			return
		}
		for _, sent := range []any{form.Request(), form.Announce()} {
			acptest.Must(json.Marshal(sent))
		}
		o, forAgent, err := form.Read(reply)
		if err != nil {
			require.True(t, errors.Is(err, convert.ErrProtocol) || errors.Is(err, convert.ErrBadAnswer))
			require.Empty(t, o)
			return
		}
		require.True(t, json.Valid(forAgent))
	})
}
