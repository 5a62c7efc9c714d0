package web_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// marked is in everything that may be in no log.
const marked = "sEcReT"

// askMarked is a call with a mark in each text.
func askMarked(id string) string {
	return `{"id":"` + id + `","name":"AskUserQuestion","title":"` + marked + `-title","agent":"` + marked + `-agent","machine":"` + marked + `-machine","cwd":"/` + marked + `-folder",` +
		`"input":{"questions":[{"question":"` + marked + `-question?","header":"` + marked + `","multiSelect":false,"options":[` +
		`{"label":"` + marked + `-yes","description":"` + marked + `-description","preview":"` + marked + `-preview"},{"label":"` + marked + `-no","description":""}]}]}}`
}

// Nothing of a question, of an answer or of a credential is in a log of any level
// or in the metrics, whatever is asked and whatever goes wrong.
func TestLogsHaveNoText(t *testing.T) {
	t.Parallel()
	log := &acptest.Written{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug - 100}))
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir(), Report: func(problem string) { logger.Warn(problem) }}))
	t.Cleanup(store.Close)
	board := acptest.Must(hub.Open(t.Context(), store, hub.Options{Logger: logger}))
	t.Cleanup(board.Close)
	own := marked + "-the-owner's-token"
	access := acptest.Must(web.OpenAccess(filepath.Join(t.TempDir(), "access.json"), own))
	push := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(push.Close)
	server := web.New(board, access, web.Options{Logger: logger, PushClient: push.Client()})
	h := httptest.NewUnstartedServer(server)
	h.Config.ErrorLog = slog.NewLogLogger(logger.Handler(), slog.LevelDebug)
	h.Start()
	t.Cleanup(h.Close)
	t.Cleanup(server.Close)
	s := &site{t, h.URL, board, access, server}

	auth := []string{"Authorization", "Bearer " + own}
	try := func(method, path, body string, headers ...string) {
		s.request(method, path, body, append(auth, headers...)...)
	}
	answer := `{"answers":{"` + marked + `-question?":{"selected":["` + marked + `-yes"],"note":"` + marked + `-note"}}}`
	try("POST", "/conversations/c1/ask", askMarked("q1"))
	try("POST", "/conversations/c2/ask?group=red", askMarked("q2"))
	try("POST", "/conversations/c3/ask", askMarked("q3"))
	try("POST", "/conversations/c4/ask", askMarked("q4"))
	try("POST", "/conversations/c1/ask", strings.Replace(askMarked("q1"), "question?", "other?", 1)) // replaces
	try("POST", "/conversations/c1/ask", askMarked("q1"))
	for _, path := range []string{"/", "/cards", "/history", "/history?q=" + marked, "/conversations", "/conversations/c1", "/questions", "/conversations/c1/questions/q1", "/conversations/" + marked, "/" + marked, "/login?code=" + marked, "/devices", "/push", "/status", "/metrics", "/events?group=%20" + marked} {
		try("GET", path, "")
	}
	// What is wrong with an answer.
	for _, body := range []string{
		`{"answers":{"` + marked + `":"x"}}`, `{"answers":{"` + marked + `-question?":{"selected":["` + marked + `-none"]}}}`, `{"answers":"` + marked + `"}`,
		`{"` + marked, `"` + marked + `"`, `{"answers":{}}`, `{"answers":{"` + marked + `-question?":7}}`,
	} {
		try("POST", "/conversations/c1/respond", body)
		try("POST", "/conversations/c9/ask", body)
		try("POST", "/conversations/c9/ask?dialect="+marked, body)
		try("POST", "/conversations/c9/ask?dialect=acp-bridge", body)
		try("POST", "/conversations/c1/questions/q1/settle", body)
		try("POST", "/conversations/c1/questions/q1/received", body)
		try("POST", "/devices", body)
		try("POST", "/codes", body)
		try("POST", "/push", body)
	}
	try("POST", "/conversations/c1/respond?revision=99999", answer)
	try("POST", "/conversations/c1/respond?revision="+marked, answer)
	try("POST", "/conversations/c1/respond?question="+marked, answer)
	try("POST", "/conversations/c1/respond", answer)
	try("POST", "/conversations/c1/respond", strings.Replace(answer, "-yes", "-no", 1)) // too late
	try("POST", "/conversations/c2/respond?group=red", `{"answers":{"`+marked+`-question?":"`+marked+` in own words"}}`)
	try("POST", "/conversations/c3/cancel", "")
	try("POST", "/conversations/c1/questions/q1/received", `{"refused":"`+marked+`-reason"}`)
	try("POST", "/conversations/c4/questions/q4/settle", `{"outcome":"answered","answers":[{"Selected":["`+marked+`-yes"],"Note":"`+marked+`"}],"by":"editor"}`)
	try("POST", "/answer", "do=answer&revision=1&conversation="+marked+"&question="+marked+"&asked="+marked, "Content-Type", "application/x-www-form-urlencoded", "Origin", s.url)
	// Credentials, right and wrong.
	for _, wrong := range [][]string{{"Authorization", "Bearer " + marked}, {"Authorization", marked}, {"Authorization", "", "Cookie", "acp_bridge_hub_x=" + marked}, {"Host", marked + ".example"}, {"Origin", "https://" + marked + ".example"}, {"Content-Type", marked}} {
		s.request("POST", "/conversations/c1/respond", answer, append(auth, wrong...)...)
	}
	s.request("POST", "/login", "token="+own, "Authorization", "", "Content-Type", "application/x-www-form-urlencoded", "Origin", s.url)
	s.request("POST", "/login", "code="+marked, "Authorization", "", "Content-Type", "application/x-www-form-urlencoded", "Origin", s.url)
	// A browser that is told, whose service does not want to.
	try("POST", "/push", newBrowser(t, push.URL+"/"+marked).subscription())
	try("POST", "/conversations/c5/ask", askMarked("q5"))
	server.Push(t.Context(), acptest.Must(board.Find("c5", "q5")), "id", web.PushQuestion, true)
	// Records that cannot be read.
	for i, value := range []string{
		`{"version":9,"call":{"Questions":[{"Text":"` + marked + `"}]}}`, `{"conversation":"c","id":"q","asked":"` + marked + `"}`, `{"call":"` + marked + `"}`, marked,
		`{"conversation":"c","id":"q","end":"` + marked + `"}`, `{"conversation":"c","id":"q","` + marked + `":1,"call":{"ID":7}}`,
	} {
		acptest.Must(store.Create(t.Context(), "bad."+string(rune('a'+i)), []byte(value)))
	}
	try("POST", "/conversations/c6/ask", askMarked("q6")) // all of that was seen before
	_, metrics := s.request("GET", "/metrics", "", auth...)
	require.NotContains(t, metrics, marked)
	require.NotContains(t, s.expect(200, "GET", "/status", "", auth...), marked)
	// The store is gone.
	store.Close()
	try("POST", "/conversations/c7/ask", askMarked("q7"))
	try("POST", "/conversations/c6/respond", answer)
	try("GET", "/status", "")
	require.Contains(t, log.String(), "a request failed", "there is a log")
	require.Contains(t, log.String(), "cannot be read and is left alone")
	require.Contains(t, log.String(), "a push was not taken")
	for line := range strings.Lines(log.String()) {
		require.NotContains(t, line, marked)
	}
}
