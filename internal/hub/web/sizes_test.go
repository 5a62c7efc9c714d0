package web_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// sized is a call whose body has so many bytes.
func sized(size int) string {
	const begin, end = `{"id":"toolu_1","name":"AskUserQuestion","input":{"questions":[{"question":"Which database?","header":"DB","options":[{"label":"PostgreSQL","description":"`,
		`"},{"label":"SQLite","description":"small"}],"multiSelect":false}]}}`
	return begin + strings.Repeat("x", size-len(begin)-len(end)) + end
}

// Whatever is no longer than the contract says is kept, and so is its answer.
func TestLargestQuestion(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	words := strings.Repeat("y", 1<<20-60)
	s.expect(202, "POST", "/conversations/c1/ask", sized(1<<20))
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"`+words+`"}}`)
	require.Contains(t, s.expect(200, "GET", "/conversations/c1/questions/toolu_1", ""), words)
	rec, err := s.board.Find("c1", "")
	require.NoError(t, err)
	_, err = s.board.Refuse(t.Context(), rec.Ref(), strings.Repeat("\U0001F469\u200D\U0001F680", 10_000))
	require.NoError(t, err)

	require.Contains(t, s.expect(413, "POST", "/conversations/c2/ask", sized(1<<20+1)), "at most 1048576 bytes (1 MiB), got 1048577 bytes")
	s.expect(404, "GET", "/conversations/c2", "")
}

// smallStore is a server elsewhere that takes short messages only.
func smallStore(t *testing.T, most int32) hubstore.Options {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), MaxPayload: most})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(time.Minute))
	return hubstore.Options{URL: s.ClientURL()}
}

// What the store cannot take is refused before anything is written.
func TestLargerThanTheStoreTakes(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, hub.Options{}, smallStore(t, 256<<10))
	const ask, respond = "/conversations/c1/ask", "/conversations/c1/respond"
	said := s.expect(413, "POST", ask, sized(300<<10))
	require.Contains(t, said, "the question is too large: expected at most 196224 bytes as it is kept, got 6")
	s.expect(404, "GET", "/conversations/c1", "")

	s.expect(202, "POST", ask, database)
	s.expect(413, "POST", ask, sized(300<<10)) // the same id, with other questions
	words := strings.Repeat("y", 300<<10)
	said = s.expect(413, "POST", respond, `{"answers":{"Which database?":"`+words+`"}}`)
	require.Contains(t, said, "the answer is too large: expected at most 228928 bytes as it is kept, got 30")
	rec, err := s.board.Find("c1", "")
	require.NoError(t, err)
	require.True(t, rec.Open())
	form := url.Values{"conversation": {inForm("c1")}, "question": {inForm("toolu_1")}, "revision": {strconv.FormatUint(rec.Revision, 10)},
		"asked": {rec.Fingerprint()}, "a0": {"other"}, "t0": {words}}.Encode()
	page := s.expect(413, "POST", "/answer", form, "Origin", s.url, "Content-Type", "application/x-www-form-urlencoded")
	require.Contains(t, page, "the answer is too large")
	require.Contains(t, page, words, "what was typed is lost")
	s.expect(413, "POST", "/conversations/c1/questions/toolu_1/settle", `{"outcome":"answered","answers":[{"Text":"`+words+`"}]}`)

	s.expect(200, "POST", respond, `{"answers":{"Which database?":"SQLite"}}`)
	// A question that fits leaves room for an answer.
	s.expect(202, "POST", "/conversations/c2/ask", sized(90<<10))
	s.expect(200, "POST", "/conversations/c2/respond", `{"answers":{"Which database?":"`+words[:30<<10]+`"}}`)
}
