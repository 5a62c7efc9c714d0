package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// formOf is a form of an MCP server with these properties, all required but
// `free`.
func formOf(t require.TestingT, id, properties string) ask.FormCall {
	var required []string
	gjson.Parse("{" + properties + "}").ForEach(func(k, _ gjson.Result) bool {
		if k.Str != "free" {
			required = append(required, k.Str)
		}
		return true
	})
	list, _ := json.Marshal(required)
	f := acptest.Must(ask.ServerForm{Server: "shop", Message: "Please", Schema: json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":` + string(list) + `}`)}.Call())
	f.Session, f.ID = "s1", id
	return f
}

const (
	port   = `"port":{"type":"integer","minimum":1,"maximum":9,"default":8}`
	free   = `"free":{"type":"string"}`
	size   = `"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]}`
	secret = `"password":{"type":"string","title":"Password"}`
	days   = `"days":{"type":"array","items":{"enum":["mo","tu","we"]},"minItems":2}`
)

func accepts(content string) string { return `{"action":"accept","content":{` + content + `}}` }

func TestAskForm(t *testing.T) {
	refuses := acp.NewMethodNotFound("elicitation/create")
	for name, tc := range map[string]struct {
		form   string
		opts   adapter.Options
		client scripted
		want   string
		asked  []string
	}{
		"as a form":                 {port, adapter.Options{Forms: true}, scripted{forms: []any{accepts(`"port":7,"more":1`)}}, accepts(`"port":7`), []string{"form f"}},
		"again where a rule breaks": {port, adapter.Options{Forms: true}, scripted{forms: []any{accepts(`"port":70`), accepts(`"port":7`)}}, accepts(`"port":7`), []string{"form f", "form f"}},
		"then by buttons":           {size, adapter.Options{Forms: true}, scripted{forms: []any{accepts(``), accepts(``), accepts(``)}, buttons: []any{"Small"}}, accepts(`"size":"s"`), []string{"form f", "form f", "form f", "button f"}},
		"wrong type, at once":       {size, adapter.Options{Forms: true}, scripted{forms: []any{accepts(`"size":"m"`)}, buttons: []any{"Small"}}, accepts(`"size":"s"`), []string{"form f", "button f"}},
		"form refused":              {size, adapter.Options{Forms: true}, scripted{forms: []any{refuses}, buttons: []any{"Large"}}, accepts(`"size":"l"`), []string{"form f", "button f"}},
		"a secret":                  {secret, adapter.Options{Forms: true}, scripted{forms: []any{accepts(`"password":"hunter2"`)}}, accepts(`"password":"hunter2"`), []string{"form f"}},
		"a secret, no form":         {secret, adapter.Options{}, scripted{buttons: []any{"__other__"}, words: []any{"hunter2"}}, `{"action":"cancel"}`, nil},
		"a secret, form refused":    {secret, adapter.Options{Forms: true}, scripted{forms: []any{refuses}, words: []any{"hunter2"}}, `{"action":"cancel"}`, []string{"form f"}},
		"a secret, for the hub":     {secret, adapter.Options{First: adapter.Elsewhere}, scripted{}, `{"action":"cancel"}`, nil},
		"default by button":         {port, adapter.Options{}, scripted{buttons: []any{"8"}}, accepts(`"port":8`), []string{"button f"}},
		"own words":                 {port, adapter.Options{}, scripted{buttons: []any{"__other__"}, words: []any{"7"}}, accepts(`"port":7`), []string{"button f", "words f"}},
		"numbers are values":        {port + "," + free, adapter.Options{First: adapter.Conversation}, scripted{words: []any{"1", "2"}}, accepts(`"port":1,"free":"2"`), []string{"words f", "words f:2"}},
		"words ask for the default": {port + "," + free, adapter.Options{First: adapter.Conversation}, scripted{words: []any{"8", "SKIP"}}, accepts(`"port":8`), []string{"words f", "words f:2"}},
		"what does not fit, twice":  {port, adapter.Options{First: adapter.Conversation}, scripted{words: []any{"many", "99", "9"}}, accepts(`"port":9`), []string{"words f", "words f", "words f"}},
		"and thrice":                {port, adapter.Options{First: adapter.Conversation}, scripted{words: []any{"many", "99", "1.5", "9"}}, `{"action":"cancel"}`, []string{"words f", "words f", "words f"}},
		"none but its options":      {size, adapter.Options{First: adapter.Conversation}, scripted{words: []any{"medium", "large"}}, accepts(`"size":"l"`), []string{"words f", "words f"}},
		"too few of several":        {days, adapter.Options{}, scripted{buttons: []any{"mo", "__done__", "we", "mo", "__done__"}}, accepts(`"days":["mo","we"]`), []string{"button f", "button f", "button f", "button f", "button f"}},
		"skip ends several":         {`"free":{"type":"array","items":{"enum":["mo","tu"]}}`, adapter.Options{}, scripted{buttons: []any{"mo", "Skip"}}, accepts(``), []string{"button f", "button f"}},
		"decline in the middle":     {port + "," + size, adapter.Options{}, scripted{buttons: []any{"8", "Decline"}}, `{"action":"decline"}`, []string{"button f", "button f:2"}},
		"decline in words":          {size, adapter.Options{First: adapter.Conversation}, scripted{words: []any{"3"}}, `{"action":"decline"}`, []string{"words f"}},
		"Other is not an answer":    {size, adapter.Options{}, scripted{buttons: []any{"__other__"}, words: []any{"small"}}, accepts(`"size":"s"`), []string{"button f", "words f"}},
		"by itself, then a person":  {size, adapter.Options{Forms: true, Guard: true, First: 0}, scripted{forms: []any{accepts(`"size":"s"`)}, buttons: []any{"Small"}, words: []any{"large"}}, accepts(`"size":"l"`), []string{"form f", "button f", "words f"}},
		"its defaults, by itself":   {`"name":{"type":"string","default":"Bo"}`, adapter.Options{Forms: true, Guard: true}, scripted{forms: []any{accepts(`"name":"Bo"`)}, buttons: []any{"Bo"}, words: []any{"Ann"}}, accepts(`"name":"Ann"`), []string{"form f", "button f", "words f"}},
		"own words, at once":        {`"name":{"type":"string","default":"Bo"}`, adapter.Options{Forms: true, Guard: true}, scripted{forms: []any{accepts(`"name":"Eve"`)}}, accepts(`"name":"Eve"`), []string{"form f"}},
		"gone":                      {size, adapter.Options{Forms: true}, scripted{forms: []any{convert.ErrDisconnected}}, `{"action":"cancel"}`, []string{"form f"}},
		"no way":                    {size, adapter.Options{First: adapter.Conversation}, scripted{words: []any{errors.New("no")}}, `{"action":"cancel"}`, []string{"words f"}},
	} {
		t.Run(name, func(t *testing.T) {
			reply, _ := adapter.New(&tc.client, &tc.opts).AskForm(t.Context(), formOf(t, "f", tc.form))
			require.JSONEq(t, tc.want, string(reply))
			require.Equal(t, tc.asked, tc.client.asked)
		})
	}
}

// buttonsAlone is a client that can neither show forms nor send words.
type buttonsAlone struct{ scripted *scripted }

func (b buttonsAlone) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return b.scripted.RequestPermission(ctx, r)
}

// The word Other is the answer to a question of a model where no text can be
// sent. It is no value of a form.
func TestOtherIsNoValue(t *testing.T) {
	client := buttonsAlone{&scripted{buttons: []any{"__other__"}}}
	reply, o := adapter.New(client, nil).AskForm(t.Context(), formOf(t, "f", free))
	require.JSONEq(t, `{"action":"cancel"}`, string(reply))
	require.Equal(t, convert.Failed, o.Status)
}

// A value that breaks a rule says nothing about the client; one of another type
// does.
func TestFormStaysUsableAfterABadValue(t *testing.T) {
	client := &scripted{forms: []any{accepts(``), accepts(``), accepts(``), accepts(`"size":"s"`), accepts(`"size":1`)}, buttons: []any{"Large", "Large", "Large"}}
	a := adapter.New(client, &adapter.Options{Forms: true})
	for _, want := range []string{"l", "s", "l", "l"} {
		reply, _ := a.AskForm(t.Context(), formOf(t, "f", size))
		require.JSONEq(t, accepts(`"size":"`+want+`"`), string(reply))
	}
	require.Equal(t, []string{"form f", "form f", "form f", "button f", "form f", "form f", "button f", "button f"}, client.asked)
	require.Equal(t, "The answer does not fit: \"size\" is required: expected one of the options.\n\n"+client.messages[0], client.messages[1])
}

// Code can answer a form, too, with answers that fit.
func TestRespondToAForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := adapter.New(never{}, nil)
		replies := make(chan json.RawMessage)
		go func() {
			reply, _ := a.AskForm(t.Context(), formOf(t, "f", port))
			replies <- reply
		}()
		synctest.Wait()
		require.ErrorIs(t, a.Desk().Answer(called(a, "f"), []convert.Answer{{Text: "99"}}, "code"), convert.ErrBadAnswer)
		require.NoError(t, a.Desk().Answer(called(a, "f"), []convert.Answer{{Text: "9"}}, "code"))
		require.JSONEq(t, accepts(`"port":9`), string(<-replies))
	})
}

// A secret is not taken at the desk, which keeps what it is told.
func TestSecretAtTheDesk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &scripted{forms: []any{accepts(`"password":"hunter2"`)}}
		a := adapter.New(client, &adapter.Options{Forms: true})
		first := make(chan json.RawMessage)
		blocked := adapter.New(never{}, &adapter.Options{Desk: a.Desk()})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			reply, _ := blocked.AskForm(ctx, formOf(t, "port", port))
			first <- reply
		}()
		synctest.Wait()
		replies := make(chan json.RawMessage)
		go func() {
			reply, o := a.AskForm(t.Context(), formOf(t, "f", secret))
			require.NotContains(t, o.Answers[0].Text, "hunter2")
			replies <- reply
		}()
		synctest.Wait()
		require.ErrorIs(t, a.Desk().Answer(called(a, "f"), []convert.Answer{{Text: "stolen"}}, "code"), convert.ErrBadAnswer)
		cancel()
		<-first
		require.JSONEq(t, accepts(`"password":"hunter2"`), string(<-replies))
	})
}

// racing is a client whose form is answered by code and by the user at once.
type racing struct {
	never
	a *adapter.Adapter
}

func (r *racing) CreateElicitation(_ context.Context, request any) (json.RawMessage, error) {
	f := request.(ask.FormRequest)
	err := r.a.Desk().Answer(called(r.a, f.ToolCallID), []convert.Answer{{Text: "9"}}, "code")
	return json.RawMessage(accepts(`"port":1`)), err
}

// An answer given by code wins, as it does for questions.
func TestRespondWinsOverTheClient(t *testing.T) {
	client := &racing{}
	client.a = adapter.New(client, &adapter.Options{Forms: true})
	reply, _ := client.a.AskForm(t.Context(), formOf(t, "f", port))
	require.JSONEq(t, accepts(`"port":9`), string(reply))
}

// A form that is dismissed leaves the questions behind it alone.
func TestDismissedFormWithdrawsNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := adapter.New(never{}, nil)
		form, question := make(chan convert.Outcome, 1), make(chan convert.Outcome, 1)
		go func() {
			_, o := a.AskForm(t.Context(), formOf(t, "f", port))
			form <- o
		}()
		synctest.Wait()
		go func() {
			o, _ := a.Ask(t.Context(), callOf("q", pick))
			question <- o
		}()
		synctest.Wait()
		require.NoError(t, a.Desk().Cancel(called(a, "f"), "code"))
		require.Equal(t, convert.Cancelled, (<-form).Status)
		synctest.Wait()
		require.Equal(t, desk.Asking, a.Desk().List()[0].State, "it is asked now")
		require.NoError(t, a.Desk().Cancel(called(a, "q"), "code"))
		<-question
	})
}

// never is a client whose user does nothing.
type never struct{}

func (never) RequestPermission(ctx context.Context, _ acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	<-ctx.Done()
	return acp.RequestPermissionResponse{}, ctx.Err()
}

// anyClient replies anything.
type anyClient struct{ t *rapid.T }

var anyContent = []string{`"port":7`, `"port":70`, `"port":"7"`, `"size":"s"`, `"size":"m"`, `"days":["mo","tu"]`, `"days":["mo"]`, `"days":"mo"`, `"free":"x"`, `"free":1`}

func (c anyClient) CreateElicitation(context.Context, any) (json.RawMessage, error) {
	content := ""
	for _, part := range rapid.SliceOfN(rapid.SampledFrom(anyContent), 0, 4).Draw(c.t, "content") {
		if content != "" {
			content += ","
		}
		content += part
	}
	reply := rapid.SampledFrom([]string{accepts(content), accepts(content), `{"action":"decline"}`, `{"action":"cancel"}`, `{"action":"accept"}`, `null`, `x`}).Draw(c.t, "reply")
	return json.RawMessage(reply), nil
}

func (c anyClient) RequestPermission(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	ids := []string{"", "nowhere", "__other__", "__done__"}
	for _, o := range r.Options {
		ids = append(ids, string(o.OptionId), string(o.OptionId))
	}
	if rapid.IntRange(0, 9).Draw(c.t, "dismiss") == 0 {
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
	}
	resp := acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(rapid.SampledFrom(ids).Draw(c.t, "id")))}
	switch rapid.IntRange(0, 3).Draw(c.t, "meta") {
	case 0:
		resp.Meta = map[string]any{"customText": c.words()}
	case 1:
		resp.Meta = map[string]any{"selectedOptionIds": []any{rapid.SampledFrom(ids).Draw(c.t, "one"), rapid.SampledFrom(ids).Draw(c.t, "two")}}
	}
	return resp, nil
}

func (c anyClient) words() string {
	return rapid.SampledFrom([]string{"7", "70", "x", "1", "1,2", "small", "Skip", "decline", "cancel", "", "mo, we"}).Draw(c.t, "words")
}

func (c anyClient) AskInConversation(context.Context, adapter.Message) (string, error) {
	return c.words(), nil
}

// Whatever a client replies on whatever rung: an accept fits the form.
func TestAnyClientAnyForm(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		properties := ""
		for i, p := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{port, free, size, days}), 1, 4, rapid.ID[string]).Draw(t, "fields") {
			if i > 0 {
				properties += ","
			}
			properties += p
		}
		f := formOf(t, "f", properties)
		opts := &adapter.Options{
			Forms: rapid.Bool().Draw(t, "forms"), Aware: rapid.Bool().Draw(t, "aware"),
			First: adapter.Rung(rapid.IntRange(0, 3).Draw(t, "first")),
		}
		reply, o := adapter.New(anyClient{t}, opts).AskForm(t.Context(), f)
		r := gjson.ParseBytes(reply)
		require.Equal(t, r.Get("action").Str == "decline", o.Status == convert.Declined)
		require.Equal(t, r.Get("action").Str == "accept", o.Status == convert.Answered)
		if o.Status != convert.Answered {
			return
		}
		accepted++
		content := r.Get("content")
		asked := gjson.Parse("{" + properties + "}")
		asked.ForEach(func(k, _ gjson.Result) bool {
			require.True(t, content.Get(k.Str).Exists() || k.Str == "free", "%s is missing in %s", k.Str, reply)
			return true
		})
		content.ForEach(func(k, v gjson.Result) bool {
			require.True(t, asked.Get(k.Str).Exists())
			switch k.Str {
			case "port":
				n, err := strconv.Atoi(v.Raw)
				require.True(t, err == nil && n >= 1 && n <= 9, v.Raw)
			case "size":
				require.Contains(t, []string{`"s"`, `"l"`}, v.Raw)
			case "days":
				require.GreaterOrEqual(t, len(v.Array()), 2)
				for _, day := range v.Array() {
					require.Contains(t, []string{"mo", "tu", "we"}, day.Str)
				}
			default:
				require.Equal(t, gjson.String, v.Type)
			}
			return true
		})
	})
	require.NotZero(t, accepted)
}

// A secret is asked for in a form or not at all.
func TestSecretIsNoOption(t *testing.T) {
	form := acptest.Must(ask.AgentForm{Params: json.RawMessage(`{"sessionId":"s","toolCallId":"c","mode":"form","message":"m","requestedSchema":{"type":"object",
	 "properties":{"key":{"type":"string","title":"Your key?","_meta":{"codex":{"isSecret":true}}}}}}`)}.Call())
	asked := false
	client := permissions(func() { asked = true })
	reply, outcome := adapter.New(client, nil).AskForm(t.Context(), form)
	require.Equal(t, convert.Failed, outcome.Status)
	require.Contains(t, outcome.Reason, "secret")
	require.JSONEq(t, `{"action":"cancel"}`, string(reply))
	require.False(t, asked)
}

type permissions func()

func (p permissions) RequestPermission(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	p()
	return acp.RequestPermissionResponse{}, nil
}
