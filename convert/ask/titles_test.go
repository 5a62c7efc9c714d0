package ask_test

import (
	"encoding/json"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// A client that shows the title alone learns from it that several can be picked, and
// which of how many questions it is. What has no room there is said beside it.
func TestTitlesThatAreAll(t *testing.T) {
	features := convert.Question{Header: "Features", Text: "Which features?", MultiSelect: true,
		Options: []convert.Option{{Label: "Auth"}, {Label: "Logs, metrics"}, {Label: "Cache"}}}
	database := convert.Question{Header: "Database", Text: "Which database?", Options: []convert.Option{{Label: "PostgreSQL"}, {Label: "SQLite"}}}
	asking := func(q int, questions ...convert.Question) *ask.Asking {
		return ask.New(convert.Call{ID: "c1", Questions: questions}, q, ask.Options{Title: ask.TitleHeaderAndQuestion})
	}
	title := func(a *ask.Asking) string { return *a.Request().ToolCall.Title }

	require.Equal(t, "Database: Which database?", title(asking(0, database)))
	require.Equal(t, "Database (1 of 2): Which database?", title(asking(0, database, features)))
	require.Equal(t, "Go on?", title(asking(0, convert.Question{Header: "Go on?", Text: "Go on?"})), "said once")
	a := asking(1, database, features)
	require.Equal(t, "Features (2 of 2, pick several, then Done): Which features?", title(a))
	step := acptest.Must(a.Reply(acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected("Auth")}))
	require.Equal(t, ask.Again, step)
	require.Equal(t, "Features (2 of 2, pick more, or Done): Which features?", title(a))

	require.Empty(t, asking(0, database).Beside())
	long := database
	long.Text = strings.Repeat("a long plan ", 20) + "?"
	require.Contains(t, asking(0, long).Beside(), long.Text)
	lines := database
	lines.Text = "1. do it\n2. be done"
	require.Equal(t, lines.Text, asking(0, lines).Beside())
	preview := database
	preview.Options = []convert.Option{{Label: "A", Preview: "x := 1"}, {Label: "B"}}
	require.Contains(t, asking(0, preview).Beside(), "x := 1")
	require.Empty(t, ask.New(convert.Call{Questions: []convert.Question{lines}}, 0, ask.Options{}).Beside(), "the content shows it")
}

// Of several picks, one with a comma is seen as one.
func TestPicksWithCommas(t *testing.T) {
	c := convert.Call{ID: "c1", Questions: []convert.Question{{Header: "F", Text: "Which?", MultiSelect: true}}}
	done := ask.Updates(c).Complete(0, convert.Answer{Selected: []string{"Logs, metrics", "Auth"}}).ToolCallUpdate
	require.Equal(t, `F → "Logs, metrics", Auth`, *done.Title)
	require.Equal(t, `Which? → "Logs, metrics", Auth`, done.Content[0].Content.Content.Text.Text)
	done = ask.Updates(c).Complete(0, convert.Answer{Selected: []string{"Logs, metrics"}}).ToolCallUpdate
	require.Equal(t, `F → Logs, metrics`, *done.Title)
}

// A client that appends what it gets to what it shows gets the question once.
func TestContentOnce(t *testing.T) {
	q := convert.Question{Header: "F", Text: "Which?", MultiSelect: true, Options: []convert.Option{{Label: "A"}, {Label: "B"}}}
	a := ask.New(convert.Call{ID: "c1", Questions: []convert.Question{q}}, 0, ask.Options{Appends: true})
	text := func() string { return a.Request().ToolCall.Content[0].Content.Content.Text.Text }
	require.Equal(t, "Which?\n\nPick several, one at a time, then Done.", text())
	require.Nil(t, a.Request().ToolCall.RawInput, "it would be shown, too")
	acptest.Must(a.Reply(acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected("A")}))
	require.Equal(t, "Picked so far: A. Pick more, or Done.", text())
}

// What is typed to a question that asks for a secret is kept nowhere; what is picked is
// no secret, nor is what is said about one.
func TestKept(t *testing.T) {
	for text, secret := range map[string]bool{
		"What is your API key?":                  true,
		"Please enter the password for staging.": true,
		"Wie lautet dein Passwort?":              true,
		"Paste your GitHub token":                true,
		"Which database?":                        false,
		"Where shall passwords be kept?":         false,
	} {
		c := convert.Call{Questions: []convert.Question{{Text: text}, {Text: "Which database?"}}}
		given := []convert.Answer{{Selected: []string{"A"}, Text: "typed", Note: "noted"}, {Text: "DuckDB"}}
		want := []convert.Answer{{Selected: []string{"A"}, Text: "typed", Note: "noted"}, {Text: "DuckDB"}}
		if secret {
			want[0].Text, want[0].Note = "(not shown)", "(not shown)"
		}
		require.Equal(t, want, ask.Kept(c, given), text)
		require.Equal(t, "typed", given[0].Text, "whoever asked gets it")
	}
	require.Empty(t, ask.Kept(convert.Call{}, nil))
}

// fourQuestions is a call as large as Claude Code sends them.
const fourQuestions = `{"questions":[` +
	`{"question":"Which database should the service use for its orders?","header":"Database","multiSelect":false,"options":[{"label":"PostgreSQL (Recommended)","description":"Relational, proven, runs everywhere"},{"label":"SQLite","description":"A file beside the program, no server"},{"label":"MongoDB","description":"Documents without a schema"},{"label":"None","description":"Keep everything in memory"}]},` +
	`{"question":"Which features should the first version have?","header":"Features","multiSelect":true,"options":[{"label":"Authentication","description":"Login, roles and sessions"},{"label":"Caching","description":"Answers kept in memory for a minute"},{"label":"Audit log","description":"Who did what, when"},{"label":"Metrics","description":"Counters for the operators"}]},` +
	`{"question":"How should the service be deployed?","header":"Deployment","multiSelect":false,"options":[{"label":"Container","description":"One image, any host"},{"label":"Systemd","description":"A unit on a virtual machine"},{"label":"Serverless","description":"Scales to zero, starts slowly"}]},` +
	`{"question":"Which licence should the repository carry?","header":"Licence","multiSelect":false,"options":[{"label":"MIT","description":"Short and permissive"},{"label":"Apache-2.0","description":"Permissive, with a patent grant"}]}]}`

func TestParseAndBuildAllocations(t *testing.T) {
	input := []byte(fourQuestions)
	n := testing.AllocsPerRun(100, func() {
		c, err := convert.Parse(input, convert.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for q := range c.Questions {
			ask.New(c, q, ask.Options{}).Request()
		}
	})
	if n > 160 {
		t.Errorf("%v allocations, want at most 160", n)
	}
}

const benchForm = `{"type":"object","properties":{` +
	`"environment":{"type":"string","title":"Environment","description":"Where the service is deployed to","oneOf":[{"const":"staging","title":"Staging"},{"const":"production","title":"Production"}]},` +
	`"branch":{"type":"string","title":"Branch","description":"The branch that is built, as in origin/main"},` +
	`"replicas":{"type":"integer","title":"Replicas","minimum":1,"maximum":9},` +
	`"note":{"type":"string","title":"Note for the release","description":"What users are told about this version"}},"required":["environment"]}`

func TestSecretFieldsAllocations(t *testing.T) {
	n := testing.AllocsPerRun(100, func() { ask.SecretFields("How shall the service be deployed?", json.RawMessage(benchForm)) })
	if n > 2 {
		t.Errorf("%v allocations, want at most 2", n)
	}
}
