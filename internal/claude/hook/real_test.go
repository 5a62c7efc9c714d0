package hook_test

import (
	"net/http/httptest"
	"path/filepath"
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
	return &site{t, h.URL, token, board}
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

func (s *site) open() *hub.Record {
	s.t.Helper()
	return s.await("a question is open", (*hub.Record).Open)
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

func TestRealQuestionAnsweredAtTheHub(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := newTerminal(t, hooksOf(s.url, s.token), apitest.Use(asks("toolu_1", question("Which database?", "Database", false, "PostgreSQL", "SQLite"))), apitest.Say("Noted."))
	c.start()
	c.prompt("hello")
	c.see("Which database?")
	r := s.open()
	require.Equal(t, "toolu_1", r.Hold.Call)
	s.answer(r, picks("SQLite"))
	require.Contains(t, c.told("toolu_1").Text, `"Which database?"="SQLite"`)
	c.see("Noted.")
	s.receipt(r, "consumed")
}

func TestRealQuestionAnsweredInTheTerminal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := newTerminal(t, hooksOf(s.url, s.token), apitest.Use(asks("toolu_1", question("Which database?", "Database", false, "PostgreSQL", "SQLite"))), apitest.Say("Noted."))
	c.start()
	c.prompt("hello")
	c.see("Which database?")
	r := s.open()
	c.press("2")
	require.Contains(t, c.told("toolu_1").Text, `"Which database?"="SQLite"`)
	end := s.settled(r).End
	require.Equal(t, "answered", end.Outcome)
	require.Equal(t, "the terminal", end.By)
	require.Equal(t, []convert.Answer{picks("SQLite")}, end.Answers)
}
