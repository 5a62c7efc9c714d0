package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// scripted is a client with forms, buttons and a conversation. Each takes its
// replies from a list; what was asked is kept.
type scripted struct {
	forms    []any // string: the reply; error
	buttons  []any // string: the id; error
	words    []any // string: the reply; error
	asked    []string
	messages []string // of forms
}

func next(list *[]any) (string, error) {
	if len(*list) == 0 {
		return "", errors.New("nothing scripted")
	}
	head := (*list)[0]
	*list = (*list)[1:]
	if err, ok := head.(error); ok {
		return "", err
	}
	return head.(string), nil
}

func (s *scripted) RequestPermission(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	s.asked = append(s.asked, "button "+string(r.ToolCall.ToolCallId))
	id, err := next(&s.buttons)
	if err != nil {
		return acp.RequestPermissionResponse{}, err
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(id))}, nil
}

func (s *scripted) CreateElicitation(_ context.Context, request any) (json.RawMessage, error) {
	form := request.(ask.FormRequest)
	s.asked, s.messages = append(s.asked, "form "+form.ToolCallID), append(s.messages, form.Message)
	reply, err := next(&s.forms)
	return json.RawMessage(reply), err
}

func (s *scripted) AskInConversation(_ context.Context, m adapter.Message) (string, error) {
	s.asked = append(s.asked, "words "+m.ToolCallID)
	return next(&s.words)
}

func one(label string) []convert.Answer { return []convert.Answer{{Selected: []string{label}}} }

func TestFormComesFirst(t *testing.T) {
	client := &scripted{forms: []any{`{"action":"accept","content":{"question_0":"SQLite","question_1":["Logs","Auth"]}}`}}
	o := acptest.Must(adapter.New(client, &adapter.Options{Forms: true}).Ask(t.Context(), callOf("q", pick, multi)))
	require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}, {Selected: []string{"Auth", "Logs"}}}, o.Answers)
	require.Equal(t, []string{"form q"}, client.asked)
}

func TestFormIsNotSentUnadvertised(t *testing.T) {
	client := &scripted{buttons: []any{"SQLite"}}
	acptest.Must(adapter.New(client, nil).Ask(t.Context(), callOf("q", pick)))
	require.Equal(t, []string{"button q"}, client.asked)
}

// Without options the adapter goes by what the client declared.
func TestFormByDeclaration(t *testing.T) {
	e := newEditor(t)
	a := adapter.New(e.conn, nil)
	first := begin(t.Context(), a, callOf("before", pick))
	request := e.request()
	require.Equal(t, "session/request_permission", request.Get("method").Str, "nothing is declared yet")
	e.selects(request, "SQLite")
	require.Equal(t, one("SQLite"), first.wait().Answers)

	acptest.Must(io.WriteString(e.out, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"elicitation":{"form":{}}}}}`+"\n"))
	for {
		if caps, ok := e.conn.ClientCapabilities(); ok {
			require.NotNil(t, caps.Elicitation)
			break
		}
		runtime.Gosched()
	}
	second := begin(t.Context(), a, callOf("after", pick))
	for request = e.request(); request.Get("method").Str != "elicitation/create"; request = e.request() { // past the refusal of initialize
		require.Empty(t, request.Get("method").Str)
	}
	e.result(request, `{"action":"accept","content":{"question_0":"PostgreSQL"}}`)
	require.Equal(t, one("PostgreSQL"), second.wait().Answers)
}

func TestFormThatFailsIsRemembered(t *testing.T) {
	client := &scripted{forms: []any{acp.NewMethodNotFound("elicitation/create")}, buttons: []any{"SQLite", "PostgreSQL", "SQLite"}}
	a := adapter.New(client, &adapter.Options{Forms: true})
	for _, want := range []string{"SQLite", "PostgreSQL"} {
		o := acptest.Must(a.Ask(t.Context(), callOf("q", pick)))
		require.Equal(t, one(want), o.Answers)
	}
	require.Equal(t, []string{"form q", "button q", "button q"}, client.asked)

	other := callOf("q", pick)
	other.Session = "s2"
	client.forms = []any{`{"action":"accept","content":{"question_0":"PostgreSQL"}}`}
	o, err := a.Ask(t.Context(), other)
	require.NoError(t, err, "another session tries the form again")
	require.Equal(t, one("PostgreSQL"), o.Answers)
}

func TestButtonsThatFailLeadToTheConversation(t *testing.T) {
	client := &scripted{buttons: []any{"Oracle"}, words: []any{"2", "postgresql"}}
	o := acptest.Must(adapter.New(client, nil).Ask(t.Context(), callOf("q", pick, pick)))
	require.Equal(t, append(one("SQLite"), one("PostgreSQL")...), o.Answers)
	require.Equal(t, []string{"button q", "words q", "words q:2"}, client.asked)
}

func TestFirstRungByOption(t *testing.T) {
	client := &scripted{words: []any{"2"}}
	acptest.Must(adapter.New(client, &adapter.Options{Forms: true, First: adapter.Conversation}).Ask(t.Context(), callOf("q", pick)))
	require.Equal(t, []string{"words q"}, client.asked)
}

func TestConversation(t *testing.T) {
	for name, test := range map[string]struct {
		question convert.Question
		buttons  []any
		words    []any
		want     []convert.Answer
		status   convert.Status
	}{
		"other, then words":         {pick, []any{"__other__"}, []any{"Redis"}, []convert.Answer{{Text: "Redis"}}, convert.Answered},
		"other, then a label":       {pick, []any{"__other__"}, []any{"sqlite"}, one("SQLite"), convert.Answered},
		"picks, other, then words":  {multi, []any{"Logs", "__other__"}, []any{"Metrics"}, []convert.Answer{{Selected: []string{"Logs"}, Text: "Metrics"}}, convert.Answered},
		"picks, other, then number": {multi, []any{"Logs", "__other__"}, []any{"1"}, []convert.Answer{{Selected: []string{"Auth", "Logs"}}}, convert.Answered},
		"picks, other, then done":   {multi, []any{"Logs", "__other__"}, []any{"Done"}, one("Logs"), convert.Answered},
		"picks, garbage, then done": {multi, []any{"Logs", "Oracle"}, []any{"done"}, one("Logs"), convert.Answered},
		"done is a word of its own": {pick, []any{"__other__"}, []any{"done"}, []convert.Answer{{Text: "done"}}, convert.Answered},
		"empty, then a number":      {pick, []any{"Oracle"}, []any{"", "1,2", "1"}, one("PostgreSQL"), convert.Answered},
		"other, then a number":      {pick, []any{"__other__"}, []any{"", "1"}, []convert.Answer{{Text: "1"}}, convert.Answered},
		"cancel":                    {pick, []any{"__other__"}, []any{"cancel"}, nil, convert.Cancelled},
		"the conversation fails":    {pick, []any{"__other__"}, []any{errors.New("agent died")}, nil, convert.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			client := &scripted{buttons: test.buttons, words: test.words}
			o, _ := adapter.New(client, nil).Ask(t.Context(), callOf("q", test.question))
			require.Equal(t, test.status, o.Status, o.Reason)
			require.Equal(t, test.want, o.Answers)
			require.Empty(t, client.words)
		})
	}
}

func TestAwareClientGetsNoRounds(t *testing.T) {
	client := &scripted{buttons: []any{"Cache"}}
	o := acptest.Must(adapter.New(client, &adapter.Options{Aware: true}).Ask(t.Context(), callOf("q", multi)))
	require.Equal(t, one("Cache"), o.Answers)
	require.Len(t, client.asked, 1)
}

// A client that does not show options is not given any to pick from, also when
// its form fails, unless the user says so.
func TestUnseenOptions(t *testing.T) {
	for name, test := range map[string]struct {
		options adapter.Options
		asked   []string
	}{
		"no forms":        {adapter.Options{Unseen: true}, []string{"words q"}},
		"forms that fail": {adapter.Options{Unseen: true, Forms: true}, []string{"form q", "words q"}},
		"by option":       {adapter.Options{Unseen: true, First: adapter.Permission}, []string{"button q"}},
	} {
		t.Run(name, func(t *testing.T) {
			client := &scripted{forms: []any{errors.New("no forms")}, buttons: []any{"SQLite"}, words: []any{"2"}}
			o := acptest.Must(adapter.New(client, &test.options).Ask(t.Context(), callOf("q", pick)))
			require.Equal(t, one("SQLite"), o.Answers)
			require.Equal(t, test.asked, client.asked)
		})
	}
}

// A way that failed is left alone for the rest of the session, and no longer: an
// editor may open another one with the same id.
func TestBrokenUntilTheSessionEnds(t *testing.T) {
	client := &scripted{buttons: []any{errors.New("no window"), "PostgreSQL"}, words: []any{"2", "2"}}
	a := adapter.New(client, &adapter.Options{First: adapter.Permission})
	for _, want := range []string{"SQLite", "SQLite", "PostgreSQL"} {
		if want == "PostgreSQL" {
			a.EndSession("s1")
		}
		o := acptest.Must(a.Ask(t.Context(), callOf("q", pick)))
		require.Equal(t, one(want), o.Answers)
	}
	require.Equal(t, []string{"button q", "words q", "words q", "button q"}, client.asked)
}

// The guard holds for forms, too: one that is filled in at once with single
// picks, or cancelled at once, was not in front of a person.
func TestGuardOfForms(t *testing.T) {
	for reply, believed := range map[string]bool{
		`{"action":"accept","content":{"question_0":"SQLite"}}`:                       false,
		`{"action":"accept","content":{"question_0":"SQLite","question_1":["Logs"]}}`: false,
		`{"action":"cancel"}`:  false,
		`{"action":"decline"}`: false,
		`{"action":"accept","content":{"question_1":["Logs","Auth"]}}`:                          true,
		`{"action":"accept","content":{"question_0_custom":"Redis"}}`:                           true,
		`{"action":"accept","content":{"question_0":"SQLite","question_0_custom":"in a file"}}`: true,
	} {
		client := &scripted{forms: []any{reply}, words: []any{"1", "1"}}
		now := time.Unix(0, 0)
		a := adapter.New(client, &adapter.Options{Forms: true, Unseen: true, Guard: true, Now: func() time.Time { return now }})
		acptest.Must(a.Ask(t.Context(), callOf("q", pick, multi)))
		require.Equal(t, believed, len(client.asked) == 1, reply)
	}
}

// noting is a client that can tell its user something.
type noting struct {
	scripted
	notices []string
}

func (n *noting) Notice(title string) { n.notices = append(n.notices, title) }

// Whoever is asked another way is told why.
func TestTheNextRungIsExplained(t *testing.T) {
	client := &noting{scripted: scripted{forms: []any{errors.New("no such method")}, buttons: []any{"Large"}}}
	reply, _ := adapter.New(client, &adapter.Options{Forms: true}).AskForm(t.Context(), formOf(t, "f", size))
	require.JSONEq(t, accepts(`"size":"l"`), string(reply))
	require.Equal(t, []string{"This question could not be shown as a form here; it is asked another way."}, client.notices)
}

// People and models read words, not the JSON of an error.
func TestWords(t *testing.T) {
	re := &acp.RequestError{Code: -32603, Message: "Claude Code exited with status 3", Data: map[string]any{"a": 1}}
	for err, want := range map[error]string{
		re:                                   "Claude Code exited with status 3",
		fmt.Errorf("session/new: %w", re):    "session/new: Claude Code exited with status 3",
		errors.Join(errors.New("first"), re): "first\nClaude Code exited with status 3",
		errors.New("plain"):                  "plain",
	} {
		require.Equal(t, want, adapter.Words(err))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(re)
	require.Equal(t, "The question was withdrawn: Claude Code exited with status 3", adapter.Withdrawn(ctx).Reason)
}
