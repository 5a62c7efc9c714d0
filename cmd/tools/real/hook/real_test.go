//go:build unix

package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

type object = map[string]any

func question(text, header string, multi bool, labels ...string) object {
	var options []object
	for _, l := range labels {
		options = append(options, object{"label": l, "description": "about " + l})
	}
	return object{"question": text, "header": header, "multiSelect": multi, "options": options}
}

func asks(id string, questions ...object) apitest.Block {
	return apitest.ToolUse(id, "AskUserQuestion", object{"questions": questions})
}

const database = "Which database?"

func asksDatabase(id string) apitest.Reply {
	return apitest.Use(asks(id, question(database, "Database", false, "PostgreSQL", "SQLite")))
}

// A question is answered at the hub, in the terminal, dismissed there, talked about, and
// answered at both. The model gets what the first one said, and the card says what became
// of it.
func TestRealQuestion(t *testing.T) {
	t.Parallel()
	c, s := terminals.NewClaude(t, nil)
	c.Start()

	c.API.Script(asksDatabase("toolu_1"), apitest.Say("Noted one."))
	c.Prompt("one")
	c.See("Chat about this")
	r := s.Next()
	require.Equal(t, "toolu_1", r.Hold.Call)
	s.Answer(r, convert.Answer{Selected: []string{"SQLite"}, Note: "for now"})
	told := c.Told("toolu_1").Text
	require.Contains(t, told, `"Which database?"="SQLite"`)
	require.Contains(t, told, "for now")
	c.See("Noted one.")
	s.Receipt(r, "consumed")

	c.API.Script(asksDatabase("toolu_2"), apitest.Say("Noted two."))
	c.Prompt("two")
	c.See("Chat about this")
	r = s.Next()
	c.Choose("Chat about this", "2")
	require.Contains(t, c.Told("toolu_2").Text, `"Which database?"="SQLite"`)
	end := s.Settled(r).End
	require.Equal(t, "answered", end.Outcome)
	require.Equal(t, "the terminal", end.By)
	require.Equal(t, []convert.Answer{watchtest.Picks("SQLite")}, end.Answers)
	c.See("Noted two.")

	c.API.Script(asksDatabase("toolu_3"))
	c.Prompt("three")
	c.See("Chat about this")
	r = s.Next()
	c.Choose("Chat about this", "Escape")
	end = s.Settled(r).End
	require.Equal(t, "failed", end.Outcome)
	require.Empty(t, end.By)
	c.Ready()

	c.API.Script(asksDatabase("toolu_4"), apitest.Say("Let us talk."))
	c.Prompt("four")
	c.See("Chat about this")
	r = s.Next()
	c.Choose("Chat about this", "4")
	require.Equal(t, "failed", s.Settled(r).End.Outcome)
	c.See("Let us talk.")

	c.API.Script(asksDatabase("toolu_5"), apitest.Say("Noted five."))
	c.Prompt("five")
	c.See("Chat about this")
	r = s.Next()
	c.Press("1")
	_, err := s.Board.Answer(t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{watchtest.Picks("SQLite")}, nil }, "phone")
	c.See("Noted five.")
	now := s.Becomes(r, "known", func(r *hub.Record) bool {
		return !r.Open() && r.End.Receipt() != "accepted" && r.End.Receipt() != "delivered"
	})
	switch first := strings.Contains(c.Told("toolu_5").Text, "PostgreSQL"); {
	case first && err == nil:
		require.Equal(t, "undeliverable", now.End.Receipt(), "the terminal was first, and the hub did not know yet")
	case first:
		require.ErrorIs(t, err, hub.ErrSettled)
		require.Equal(t, "the terminal", now.End.By)
	default:
		require.NoError(t, err)
		require.Equal(t, "consumed", now.End.Receipt())
		require.Contains(t, c.Told("toolu_5").Text, "SQLite")
	}
}

// Two question calls in one message: the terminal answers one, the hub the other.
func TestRealTwoQuestions(t *testing.T) {
	t.Parallel()
	c, s := terminals.NewClaude(t, nil, apitest.Use(asks("toolu_1", question("First?", "One", false, "a", "b")), asks("toolu_2", question("Second?", "Two", false, "c", "d"))), apitest.Say("Noted."))
	c.Start()
	c.Prompt("hello")
	first := s.Next()
	second := s.Next()
	if first.Call.Questions[0].Text != "First?" {
		first, second = second, first
	}
	require.Equal(t, "toolu_1", first.Hold.Call)
	require.Equal(t, "toolu_2", second.Hold.Call)
	s.Answer(second, watchtest.Picks("d"))
	c.See("Second? → d")
	c.See("First?")
	c.Choose("Enter to select", "1")
	require.Contains(t, c.Told("toolu_1").Text, `"First?"="a"`)
	require.Contains(t, c.Told("toolu_2").Text, `"Second?"="d"`)
	require.Equal(t, []convert.Answer{watchtest.Picks("a")}, s.Settled(first).End.Answers)
	s.Receipt(second, "consumed")
}

func bash(id, command string) apitest.Reply {
	return apitest.Use(apitest.ToolUse(id, "Bash", object{"command": command, "description": "test"}))
}

// Commands and files: allowed, allowed for good, rejected with a reason; in the terminal
// first, and told No there.
func TestRealTools(t *testing.T) {
	t.Parallel()
	c, s := terminals.NewClaude(t, nil)
	require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "package.json"), []byte(`{"scripts":{"test":"echo tested"}}`), 0o600))
	c.Start()

	c.API.Script(bash("toolu_1", "npm test"), apitest.Say("Done one."))
	c.Prompt("one")
	c.See("Do you want to proceed?")
	r := s.Next()
	require.Contains(t, r.Detail, "npm test")
	s.Answer(r, convert.Answer{Selected: []string{"Reject"}, Note: "use make"})
	require.Contains(t, c.Told("toolu_1").Text, "use make")
	c.See("Done one.")
	s.Receipt(r, "consumed")

	c.API.Script(bash("toolu_2", "npm test"), apitest.Say("Done two."))
	c.Prompt("two")
	r = s.Next()
	var always string
	for _, o := range r.Call.Questions[0].Options {
		if strings.HasPrefix(o.Label, "Always allow ") {
			always = o.Label
		}
	}
	require.Contains(t, always, "npm test")
	require.Contains(t, always, "in this project")
	s.Answer(r, watchtest.Picks(always))
	require.Contains(t, c.Told("toolu_2").Text, "tested")
	c.See("Done two.")
	s.Receipt(r, "consumed")
	require.Eventually(t, func() bool {
		settings, err := os.ReadFile(filepath.Join(c.Dir, ".claude", "settings.local.json"))
		return err == nil && strings.Contains(string(settings), "npm test")
	}, watchtest.Patience, 20*time.Millisecond, "it is allowed for good")
	c.API.Script(bash("toolu_3", "npm test"), apitest.Say("Done three."))
	c.Prompt("three")
	c.See("Done three.") // nobody was asked

	file := filepath.Join(c.Dir, "a.txt")
	c.API.Script(apitest.Use(apitest.ToolUse("toolu_4", "Write", object{"file_path": file, "content": "hello"})), apitest.Say("Done four."))
	c.Prompt("four")
	c.See("Do you want to create")
	r = s.Next()
	c.Choose("Do you want to create", "1")
	require.Equal(t, "answered", s.Settled(r).End.Outcome)
	c.See("Done four.")

	c.API.Script(apitest.Use(apitest.ToolUse("toolu_5", "Edit", object{"file_path": file, "old_string": "hello", "new_string": "bye"})), apitest.Say("Done five."))
	c.Prompt("five")
	c.See("Do you want to make this edit")
	r = s.Next()
	require.Contains(t, r.Detail, `"new_string": "bye"`)
	s.Answer(r, watchtest.Picks("Allow"))
	c.See("Done five.")
	s.Receipt(r, "consumed")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "bye", string(data))

	c.API.Script(bash("toolu_6", "touch no"))
	c.Prompt("six")
	c.See("Do you want to proceed?")
	r = s.Next()
	c.Choose("Do you want to proceed?", "Escape")
	require.Equal(t, "failed", s.Settled(r).End.Outcome)
	_, err = os.Stat(filepath.Join(c.Dir, "no"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
