package ask_test

import (
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
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
	a := asking(1, database, features)
	require.Equal(t, "Features (2 of 2, pick several, then Done): Which features?", title(a))
	step, err := a.Reply(acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected("Auth")})
	require.NoError(t, err)
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
	done := ask.Complete(c, 0, convert.Answer{Selected: []string{"Logs, metrics", "Auth"}}).ToolCallUpdate
	require.Equal(t, `F → "Logs, metrics", Auth`, *done.Title)
	require.Equal(t, `Which? → "Logs, metrics", Auth`, done.Content[0].Content.Content.Text.Text)
	done = ask.Complete(c, 0, convert.Answer{Selected: []string{"Logs, metrics"}}).ToolCallUpdate
	require.Equal(t, `F → Logs, metrics`, *done.Title)
}

// A client that appends what it gets to what it shows gets the question once.
func TestContentOnce(t *testing.T) {
	q := convert.Question{Header: "F", Text: "Which?", MultiSelect: true, Options: []convert.Option{{Label: "A"}, {Label: "B"}}}
	a := ask.New(convert.Call{ID: "c1", Questions: []convert.Question{q}}, 0, ask.Options{Appends: true})
	text := func() string { return a.Request().ToolCall.Content[0].Content.Content.Text.Text }
	require.Equal(t, "Which?\n\nPick several, one at a time, then Done.", text())
	_, err := a.Reply(acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected("A")})
	require.NoError(t, err)
	require.Equal(t, "Picked so far: A. Pick more, or Done.", text())
}
