//go:build unix

package before_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

func TestMain(m *testing.M) { terminals.Main(m) }

type object = map[string]any

// play is a real agent in a real terminal, with our hook and a hub.
type play struct {
	agent string
	args  []string
	ready string // is on its screen when it can be prompted
	// asks is a question with an option, and runs a command; nil where a hook cannot allow
	// one.
	asks func(id, option string) modeltest.Reply
	runs func(id, command string) modeltest.Reply
	// stop are the keys that stop a turn. Late says of an agent that it keeps its hook then,
	// and says only after that has ended whether it was stopped.
	stop []string
	late bool
	// prepare writes more of its settings.
	prepare func(t *testing.T, c *terminals.Terminal)
}

func databases(option string) []object {
	return []object{{"label": "PostgreSQL", "description": "big"}, {"label": option, "description": "small"}}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}

func shell(tool string) func(id, command string) modeltest.Reply {
	return func(id, command string) modeltest.Reply {
		return modeltest.Use(id, tool, object{"command": command, "description": "does it", "is_background": false})
	}
}

// The real Qwen Code: while somebody is away, a question and permissions are answered at
// the hub; when they are back, the terminal asks.
func TestRealQwen(t *testing.T) {
	play{agent: "qwen", args: []string{"--approval-mode", "default"}, ready: "Type your message", stop: []string{"Escape"},
		asks: func(id, option string) modeltest.Reply {
			return modeltest.Use(id, "ask_user_question", object{"questions": []object{{"question": "Which database?", "header": "Database", "multiSelect": false, "options": databases(option)}}})
		},
		runs: shell("run_shell_command"),
		prepare: func(t *testing.T, c *terminals.Terminal) { // its model is asked for nothing beside the conversation
			write(t, filepath.Join(c.Start.Home, ".qwen", "settings.json"), `{"security":{"auth":{"selectedType":"openai"}},"ui":{"enableFollowupSuggestions":false},"memory":{"enableManagedAutoMemory":false,"enableManagedAutoDream":false,"enableAutoSkill":false}}`)
		},
	}.run(t)
}

// The real Copilot CLI, likewise.
func TestRealCopilot(t *testing.T) {
	play{agent: "copilot", ready: "/ commands", stop: []string{"Escape", "Escape"}, late: true,
		asks: func(id, option string) modeltest.Reply {
			return modeltest.Use(id, "ask_user", object{"message": "Which database?", "requestedSchema": object{"type": "object", "required": []string{"database"},
				"properties": object{"database": object{"type": "string", "title": "Database", "enum": []string{"PostgreSQL", option}}}}})
		},
		runs: shell("bash"),
		prepare: func(t *testing.T, c *terminals.Terminal) {
			write(t, filepath.Join(c.Start.Home, ".copilot", "config.json"), `{"trusted_folders":["`+c.Start.Dir+`"],"trustedFolders":["`+c.Start.Dir+`"]}`)
		},
	}.run(t)
}

// The real Gemini CLI: its hooks can only refuse, so its questions are asked and its
// permissions are not.
func TestRealGemini(t *testing.T) {
	play{agent: "gemini", args: []string{"-m", "gemini-2.5-pro"}, ready: "Type your message", stop: []string{"Escape"},
		asks: func(id, option string) modeltest.Reply {
			return modeltest.Use(id, "ask_user", object{"questions": []object{{"question": "Which database?", "header": "Database", "type": "choice", "multiSelect": false, "options": databases(option)}}})
		},
	}.run(t)
}

func (p play) run(t *testing.T) {
	terminals.NeedsLonger(t)
	c := terminals.NewTerminal(t, p.agent)
	s := watchtest.New(t, web.CanAsk)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(s.Owner), 0o600))
	at := []string{"--hub", s.URL, "--hub-token-file", token}
	if p.prepare != nil {
		p.prepare(t, c)
	}
	c.Run(append([]string{"hook", "install", p.agent}, at...)...)
	c.Open(p.args...)
	c.See(p.ready)

	// Nobody is away: the terminal asks, and the hub has nothing.
	c.Model.Script(p.asks("call_1", "SQLite"), modeltest.Say("Noted one."))
	c.Prompt("first")
	c.See("SQLite")
	chosen(t, c, "call_1")
	c.See("Noted one.")
	require.Empty(t, s.Board.Conversations())

	c.Run(append([]string{"away"}, at...)...)
	c.Model.Script(p.asks("call_2", "DuckDB"), modeltest.Say("Noted two."))
	c.Prompt("second")
	r := s.Next()
	require.NotContains(t, c.Screen(), "DuckDB") // while a hook waits, there is no dialog
	s.Answer(r, watchtest.Picks("DuckDB"))
	told := c.Told("call_2")
	require.Contains(t, told, "the user has answered from another device")
	require.Contains(t, told, "DuckDB")
	s.Receipt(r, "consumed")
	c.See("Noted two.")

	if p.runs != nil {
		p.permissions(t, c, s)
	}

	// Somebody comes back: the terminal asks.
	c.Model.Script(p.asks("call_5", "Oracle"), modeltest.Say("Noted five."))
	c.Prompt("fifth")
	r = s.Next()
	c.Run(append([]string{"back"}, at...)...)
	require.Contains(t, s.Settled(r).End.Reason, "asked in the terminal now")
	c.See("Oracle")
	chosen(t, c, "call_5")
	c.See("Noted five.")

	// What its user stops is taken back, or its answer is told as one that nobody took; and
	// what is open when the terminal is closed is taken back.
	c.Run(append([]string{"away"}, at...)...)
	c.Model.Script(p.asks("call_6", "SQLite"))
	c.Prompt("sixth")
	r = s.Next()
	if p.late {
		press(c, p.stop)
		s.Answer(r, watchtest.Picks("SQLite"))
		r = s.Becomes(r, "known", func(r *hub.Record) bool {
			return !r.Open() && (r.End.Receipt() == "consumed" || r.End.Receipt() == "undeliverable")
		})
	} else {
		until(t, c, "the question is taken back", p.stop, func() bool {
			now, err := s.Board.FindRef(r.Ref())
			return err == nil && !now.Open()
		})
		r = s.Settled(r)
		require.NotEqual(t, "answered", r.End.Outcome)
	}
	c.See(p.ready)
	c.Model.Script(p.asks("call_7", "SQLite"))
	c.Prompt("seventh")
	next := s.Next()
	if p.late { // the card has said what the model was told
		took := strings.Contains(c.Told("call_6"), "the user has answered from another device")
		require.Equal(t, r.End.Receipt() == "consumed", took, "%+v", r.End)
	}
	r = next
	c.Close() // as one closes a terminal
	require.NotEqual(t, "answered", s.Settled(r).End.Outcome)
}

// until presses keys until it is so: a dialog takes none in its first moment.
func until(t *testing.T, c *terminals.Terminal, what string, keys []string, ok func() bool) {
	t.Helper()
	for end, next := time.Now().Add(watchtest.Patience), time.Now(); !ok(); time.Sleep(50 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "expected that %s\n%s", what, c.Screen())
		if time.Now().After(next) {
			press(c, keys)
			next = time.Now().Add(3 * time.Second)
		}
	}
}

func press(c *terminals.Terminal, keys []string) {
	for i, key := range keys {
		if i > 0 {
			time.Sleep(150 * time.Millisecond) // two keys at once are another one
		}
		c.Press(key)
	}
}

// chosen takes the first option in the terminal, until the model has it.
func chosen(t *testing.T, c *terminals.Terminal, id string) {
	t.Helper()
	until(t, c, "the model has the first option", []string{"Enter"}, func() bool {
		for _, r := range c.Model.Requests() {
			for _, result := range r.Results {
				if result.ID == id && strings.Contains(result.Text, "PostgreSQL") {
					return true
				}
			}
		}
		return false
	})
}

func (p play) permissions(t *testing.T, c *terminals.Terminal, s *watchtest.Site) {
	c.Model.Script(p.runs("call_3", "echo three > three.txt"), modeltest.Say("Ran three."))
	c.Prompt("third")
	r := s.Next()
	require.Contains(t, r.Detail, "echo three")
	s.Answer(r, watchtest.Picks("Allow once"))
	s.Receipt(r, "consumed")
	c.See("Ran three.")
	require.FileExists(t, filepath.Join(c.Start.Dir, "three.txt"))

	c.Model.Script(p.runs("call_4", "echo four > four.txt"), modeltest.Say("Four was rejected."))
	c.Prompt("fourth")
	r = s.Next()
	s.Answer(r, watchtest.Noted("Reject", "use printf"))
	require.Contains(t, c.Told("call_4"), "use printf")
	s.Receipt(r, "consumed")
	c.See("Four was rejected.")
	require.NoFileExists(t, filepath.Join(c.Start.Dir, "four.txt"))
}
