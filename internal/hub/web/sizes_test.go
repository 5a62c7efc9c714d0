package web_test

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

// sized is a call whose body has so many bytes.
func sized(size int) string {
	const begin, end = `{"id":"toolu_1","name":"AskUserQuestion","input":{"questions":[{"question":"Which database?","header":"DB","options":[{"label":"PostgreSQL","description":"`,
		`"},{"label":"SQLite","description":"small"}],"multiSelect":false}]}}`
	return begin + noise(size-len(begin)-len(end)) + end
}

// noise is text that hardly gets shorter when it is packed.
func noise(size int) string {
	const signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.,:;!?()[]{}=*#@$%^~|/"
	random := rand.New(rand.NewPCG(1, uint64(size)))
	text := make([]byte, size)
	for i := range text {
		text[i] = signs[random.IntN(len(signs))]
	}
	return string(text)
}

// Whatever is no longer than the contract says is kept, and so is its answer.
func TestLargestQuestion(t *testing.T) {
	s := siteBeside(t)
	words := strings.Repeat("y", 1<<20-60)
	s.expect(202, "POST", "/conversations/c1/ask", sized(1<<20))
	s.expect(200, "POST", "/conversations/c1/respond", `{"answers":{"Which database?":"`+words+`"}}`)
	require.Contains(t, s.expect(200, "GET", "/conversations/c1/questions/toolu_1", ""), words)
	rec := s.find("c1", "")
	acptest.Must(s.board.Refuse(t.Context(), rec.Ref(), strings.Repeat("\U0001F469\u200D\U0001F680", 10_000)))

	require.Contains(t, s.expect(413, "POST", "/conversations/c2/ask", sized(1<<20+1)), "at most 1048576 bytes (1 MiB), got 1048577 bytes")
	s.expect(404, "GET", "/conversations/c2", "")
}

// smallStore is a server elsewhere that takes short messages only.
func smallStore(t *testing.T, most int32) hubstore.Options {
	t.Helper()
	return hubstore.Options{URL: netfault.NATS(t, most).ClientURL()}
}

// A server elsewhere with the limit that NATS has unless told otherwise keeps the
// largest question, with an answer in words: its record has the call twice, and is
// packed. Another hub has all of it.
func TestLargestQuestionAtNATS(t *testing.T) {
	t.Parallel()
	at := smallStore(t, server.MAX_PAYLOAD_SIZE)
	s := newSiteWith(t, hub.Options{}, at)
	asked, words := sized(1<<20), noise(100<<10)
	s.expect(202, "POST", "/conversations/c1/ask", asked)
	for { // a busy server takes its time: what it could not say that it has kept is sent again
		reply, said := s.request("POST", "/conversations/c1/respond", `{"answers":{"Which database?":"`+words+`"}}`)
		if reply.StatusCode != http.StatusServiceUnavailable {
			require.Contains(t, []int{http.StatusOK, http.StatusConflict}, reply.StatusCode, said)
			break
		}
	}
	other := newSiteWith(t, hub.Options{}, at)
	rec := other.find("c1", "toolu_1")
	require.Equal(t, asked, string(rec.Document))
	require.Equal(t, gjson.Get(asked, "input.questions.0.options.0.description").Str, rec.Call.Questions[0].Options[0].Description)
	require.Contains(t, other.expect(200, "GET", "/conversations/c1/questions/toolu_1", ""), words)
}

// What the store cannot take is refused before anything is written.
func TestLargerThanTheStoreTakes(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, hub.Options{}, smallStore(t, 256<<10))
	const ask, respond = "/conversations/c1/ask", "/conversations/c1/respond"
	said := s.expect(413, "POST", ask, sized(300<<10))
	require.Contains(t, said, "the question is too large: expected at most 196224 bytes as it is kept, got 2")
	s.expect(404, "GET", "/conversations/c1", "")

	s.expect(202, "POST", ask, database)
	s.expect(413, "POST", ask, sized(300<<10)) // the same id, with other questions
	words := noise(300 << 10)
	said = s.expect(413, "POST", respond, `{"answers":{"Which database?":"`+words+`"}}`)
	require.Contains(t, said, "the answer is too large: expected at most 228928 bytes as it is kept, got 2")
	rec := s.find("c1", "")
	require.True(t, rec.Open())
	form := url.Values{"conversation": {inForm("c1")}, "question": {inForm("toolu_1")}, "revision": {strconv.FormatUint(rec.Revision, 10)}, "asked": {rec.Fingerprint()}, "a0": {"other"}, "t0": {words}}.Encode()
	page := s.expect(413, "POST", "/answer", form, "Origin", s.url, "Content-Type", "application/x-www-form-urlencoded")
	require.Contains(t, page, "the answer is too large")
	require.Contains(t, page, words, "what was typed is lost")
	s.expect(413, "POST", "/conversations/c1/questions/toolu_1/settle", `{"outcome":"answered","answers":[{"Text":"`+words+`"}]}`)

	s.expect(200, "POST", respond, `{"answers":{"Which database?":"SQLite"}}`)
	// A question that fits leaves room for an answer.
	s.expect(202, "POST", "/conversations/c2/ask", sized(90<<10))
	s.expect(200, "POST", "/conversations/c2/respond", `{"answers":{"Which database?":"`+words[:30<<10]+`"}}`)
}
