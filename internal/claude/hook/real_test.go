//go:build unix

package hook_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// site is a hub, with a credential for hooks.
type site struct {
	t     *testing.T
	url   string
	token string
	board *hub.Board
	seen  map[string]bool // keys that next returned
	cut   func()          // ends all connections
}

func newSite(t *testing.T) *site {
	t.Helper()
	store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	board, err := hub.Open(t.Context(), store, hub.Options{})
	require.NoError(t, err)
	t.Cleanup(board.Close)
	access, err := web.OpenAccess(filepath.Join(t.TempDir(), "access.json"), "the owner's token")
	require.NoError(t, err)
	token, err := access.Add("claude", web.CanHook)
	require.NoError(t, err)
	server := web.New(board, access, web.Options{})
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	t.Cleanup(server.Close)
	return &site{t, h.URL, token, board, map[string]bool{}, h.CloseClientConnections}
}

// await waits for a record.
func (s *site) await(what string, ok func(*hub.Record) bool) *hub.Record {
	s.t.Helper()
	return s.read(s.board.Read(0), what, ok)
}

func (s *site) read(reader *hub.Reader, what string, ok func(*hub.Record) bool) *hub.Record {
	s.t.Helper()
	late := time.After(patience)
	for {
		changes, more := reader.Next()
		for _, r := range changes {
			if ok(r) {
				return r
			}
		}
		select {
		case <-more:
		case <-late:
			require.Fail(s.t, "it did not come to this", what)
		}
	}
}

func (s *site) settled(r *hub.Record) *hub.Record {
	s.t.Helper()
	return s.becomes(r, "settled", func(o *hub.Record) bool { return !o.Open() })
}

// becomes waits until a record is so.
func (s *site) becomes(r *hub.Record, what string, ok func(*hub.Record) bool) *hub.Record {
	s.t.Helper()
	same := func(o *hub.Record) bool { return o.Key() == r.Key() && ok(o) }
	reader := s.board.Read(0)
	reader.Next()
	if now, err := s.board.FindKey(s.t.Context(), r.Key()); err == nil && same(now) {
		return now
	}
	return s.read(reader, "the question is "+what, same)
}

// receipt waits until it is known what became of an answer.
func (s *site) receipt(r *hub.Record, receipt string) *hub.Record {
	s.t.Helper()
	return s.becomes(r, receipt, func(o *hub.Record) bool { return !o.Open() && o.End.Receipt() == receipt })
}

func (s *site) answer(r *hub.Record, answers ...convert.Answer) {
	s.t.Helper()
	_, err := s.board.Answer(s.t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) { return answers, nil }, "phone")
	require.NoError(s.t, err)
}

func picks(labels ...string) convert.Answer { return convert.Answer{Selected: labels} }

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

// next waits for a question that is open and was not seen before.
func (s *site) next() *hub.Record {
	s.t.Helper()
	r := s.await("a question is open", func(r *hub.Record) bool { return r.Open() && !s.seen[r.Key()] })
	s.seen[r.Key()] = true
	return r
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
	c, s := newTerminal(t, nil)
	c.start()

	c.api.Script(asksDatabase("toolu_1"), apitest.Say("Noted one."))
	c.prompt("one")
	c.see("Chat about this")
	r := s.next()
	require.Equal(t, "toolu_1", r.Hold.Call)
	s.answer(r, convert.Answer{Selected: []string{"SQLite"}, Note: "for now"})
	told := c.told("toolu_1").Text
	require.Contains(t, told, `"Which database?"="SQLite"`)
	require.Contains(t, told, "for now")
	c.see("Noted one.")
	s.receipt(r, "consumed")

	c.api.Script(asksDatabase("toolu_2"), apitest.Say("Noted two."))
	c.prompt("two")
	c.see("Chat about this")
	r = s.next()
	c.choose("2", "Chat about this")
	require.Contains(t, c.told("toolu_2").Text, `"Which database?"="SQLite"`)
	end := s.settled(r).End
	require.Equal(t, "answered", end.Outcome)
	require.Equal(t, "the terminal", end.By)
	require.Equal(t, []convert.Answer{picks("SQLite")}, end.Answers)
	c.see("Noted two.")

	c.api.Script(asksDatabase("toolu_3"))
	c.prompt("three")
	c.see("Chat about this")
	r = s.next()
	c.choose("Escape", "Chat about this")
	end = s.settled(r).End
	require.Equal(t, "disconnected", end.Outcome)
	require.Empty(t, end.By)
	c.ready()

	c.api.Script(asksDatabase("toolu_4"), apitest.Say("Let us talk."))
	c.prompt("four")
	c.see("Chat about this")
	r = s.next()
	c.choose("4", "Chat about this")
	require.Equal(t, "disconnected", s.settled(r).End.Outcome)
	c.see("Let us talk.")

	c.api.Script(asksDatabase("toolu_5"), apitest.Say("Noted five."))
	c.prompt("five")
	c.see("Chat about this")
	r = s.next()
	c.press("1")
	_, err := s.board.Answer(t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{picks("SQLite")}, nil }, "phone")
	c.see("Noted five.")
	now := s.becomes(r, "known", func(r *hub.Record) bool {
		return !r.Open() && r.End.Receipt() != "accepted" && r.End.Receipt() != "delivered"
	})
	switch first := strings.Contains(c.told("toolu_5").Text, "PostgreSQL"); {
	case first && err == nil:
		require.Equal(t, "undeliverable", now.End.Receipt(), "the terminal was first, and the hub did not know yet")
	case first:
		require.ErrorIs(t, err, hub.ErrSettled)
		require.Equal(t, "the terminal", now.End.By)
	default:
		require.NoError(t, err)
		require.Equal(t, "consumed", now.End.Receipt())
		require.Contains(t, c.told("toolu_5").Text, "SQLite")
	}
}

// Two question calls in one message: the terminal answers one, the hub the other.
func TestRealTwoQuestions(t *testing.T) {
	t.Parallel()
	c, s := newTerminal(t, nil, apitest.Use(asks("toolu_1", question("First?", "One", false, "a", "b")), asks("toolu_2", question("Second?", "Two", false, "c", "d"))), apitest.Say("Noted."))
	c.start()
	c.prompt("hello")
	first := s.next()
	second := s.next()
	if first.Call.Questions[0].Text != "First?" {
		first, second = second, first
	}
	require.Equal(t, "toolu_1", first.Hold.Call)
	require.Equal(t, "toolu_2", second.Hold.Call)
	s.answer(second, picks("d"))
	c.see("Second? → d")
	c.see("First?")
	c.choose("1", "Enter to select")
	require.Contains(t, c.told("toolu_1").Text, `"First?"="a"`)
	require.Contains(t, c.told("toolu_2").Text, `"Second?"="d"`)
	require.Equal(t, []convert.Answer{picks("a")}, s.settled(first).End.Answers)
	s.receipt(second, "consumed")
}

func bash(id, command string) apitest.Reply {
	return apitest.Use(apitest.ToolUse(id, "Bash", object{"command": command, "description": "test"}))
}

// Commands and files: allowed, allowed for good, rejected with a reason; in the terminal
// first, and told No there.
func TestRealTools(t *testing.T) {
	t.Parallel()
	c, s := newTerminal(t, nil)
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "package.json"), []byte(`{"scripts":{"test":"echo tested"}}`), 0o600))
	c.start()

	c.api.Script(bash("toolu_1", "npm test"), apitest.Say("Done one."))
	c.prompt("one")
	c.see("Do you want to proceed?")
	r := s.next()
	require.Contains(t, r.Detail, "npm test")
	s.answer(r, convert.Answer{Selected: []string{"Reject"}, Note: "use make"})
	require.Contains(t, c.told("toolu_1").Text, "use make")
	c.see("Done one.")
	s.receipt(r, "consumed")

	c.api.Script(bash("toolu_2", "npm test"), apitest.Say("Done two."))
	c.prompt("two")
	r = s.next()
	var always string
	for _, o := range r.Call.Questions[0].Options {
		if strings.HasPrefix(o.Label, "Always allow ") {
			always = o.Label
		}
	}
	require.Contains(t, always, "npm test")
	require.Contains(t, always, "in this project")
	s.answer(r, picks(always))
	require.Contains(t, c.told("toolu_2").Text, "tested")
	c.see("Done two.")
	s.receipt(r, "consumed")
	settings, err := os.ReadFile(filepath.Join(c.dir, ".claude", "settings.local.json"))
	require.NoError(t, err)
	require.Contains(t, string(settings), "npm test")
	c.api.Script(bash("toolu_3", "npm test"), apitest.Say("Done three."))
	c.prompt("three")
	c.see("Done three.") // nobody was asked

	file := filepath.Join(c.dir, "a.txt")
	c.api.Script(apitest.Use(apitest.ToolUse("toolu_4", "Write", object{"file_path": file, "content": "hello"})), apitest.Say("Done four."))
	c.prompt("four")
	c.see("Do you want to create")
	r = s.next()
	c.choose("1", "Do you want to create")
	require.Equal(t, "answered", s.settled(r).End.Outcome)
	c.see("Done four.")

	c.api.Script(apitest.Use(apitest.ToolUse("toolu_5", "Edit", object{"file_path": file, "old_string": "hello", "new_string": "bye"})), apitest.Say("Done five."))
	c.prompt("five")
	c.see("Do you want to make this edit")
	r = s.next()
	require.Contains(t, r.Detail, `"new_string": "bye"`)
	s.answer(r, picks("Allow"))
	c.see("Done five.")
	s.receipt(r, "consumed")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "bye", string(data))

	c.api.Script(bash("toolu_6", "touch no"))
	c.prompt("six")
	c.see("Do you want to proceed?")
	r = s.next()
	c.choose("Escape", "Do you want to proceed?")
	require.Equal(t, "disconnected", s.settled(r).End.Outcome)
	_, err = os.Stat(filepath.Join(c.dir, "no"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
