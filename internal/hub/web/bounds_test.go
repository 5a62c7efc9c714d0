package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// A device gets so many lists at a time, and is told how many.
func TestListsAtATime(t *testing.T) {
	s := serveInside(t)
	phone := acptest.Must(s.access.Add("phone", CanAnswer))
	get := func(token, path string) int {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost"+path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Accept", "text/html")
		s.ServeHTTP(w, r)
		return w.Code
	}
	acptest.Must(s.board.Ask(t.Context(), hub.Asking{Conversation: "c", Call: convert.Call{ID: "q", Questions: []convert.Question{{Text: "Go?"}}}}))
	s.lists["phone"] = maxListsOf
	for _, path := range []string{"/", "/cards", "/questions", "/conversations", "/history", "/conversations/c"} {
		require.Equal(t, http.StatusTooManyRequests, get(phone, path), path)
		require.Equal(t, http.StatusOK, get("the-token-of-the-owner", path), path)
	}
	s.lists["phone"]--
	require.Equal(t, http.StatusOK, get(phone, "/questions"))
	require.Equal(t, map[string]int{"phone": maxListsOf - 1}, s.lists)
}

// What one device asks hides nobody else's from the page.
func TestShareOfThePage(t *testing.T) {
	var open []*hub.Record
	for i := range 60 {
		open = append(open, &hub.Record{ID: fmt.Sprint("loud", i), Device: "loud", Call: convert.Call{}})
	}
	open = append(open, &hub.Record{ID: "quiet", Device: "quiet"})
	list, rest := share(open, 50)
	require.Len(t, list, 50)
	require.Len(t, rest, 11)
	require.Equal(t, "quiet", list[49].ID)
	require.Equal(t, "loud0", list[0].ID)
	list, _ = share(open[:3], 50)
	require.Len(t, list, 3)
}

// The name of the list of devices is on the disk, too, before a change has happened.
func TestTheFolderIsSynced(t *testing.T) {
	before := syncFolder
	t.Cleanup(func() { syncFolder = before })
	var synced []string
	syncFolder = func(name string) error { synced = append(synced, name); return before(name) }
	dir := t.TempDir()
	a := acptest.Must(OpenAccess(filepath.Join(dir, "s.access.json"), "the-token-of-the-owner"))
	synced = nil
	acptest.Must(a.Add("phone", CanAnswer))
	require.NoError(t, a.Remove("phone"))
	require.Equal(t, []string{dir, dir}, synced)
	syncFolder = func(string) error { return errors.New("no disk") }
	require.ErrorContains(t, acptest.Err(a.Add("phone", CanAnswer)), "no disk")
}

// A device that is removed, or whose login ends, while it reads something long is told nothing
// more: not what was there before, and not what was asked since.
func TestNothingMoreIsToldToWhoIsGone(t *testing.T) {
	s := serveInside(t)
	ask := func(talk, id, text string) *hub.Record {
		call := convert.Call{ID: id, Questions: []convert.Question{{Text: text, Options: []convert.Option{{Label: "A"}, {Label: "B"}}}}}
		return acptest.Must(s.board.Ask(t.Context(), hub.Asking{Conversation: talk, Device: Owner, Call: call}))
	}
	long := strings.Repeat("Which one of these? ", maxChunk/20)
	for i := range 5 {
		ask("open", fmt.Sprint("q", i), long)
		acptest.Must(s.board.Cancel(t.Context(), ask("talk", fmt.Sprint("q", i), long).Ref(), Owner))
	}
	for n, to := range []struct{ path, accept string }{
		{"/events", ""}, {"/conversations/talk/events", ""}, {"/history", ndjson}, {"/history", ""}, {"/history", "text/html"},
		{"/questions", ""}, {"/conversations", ""}, {"/cards", "text/html"}, {"/", "text/html"}, {"/conversations/talk", "text/html"},
	} {
		for _, by := range []string{"token", "login"} {
			t.Run(fmt.Sprint(to.path, " ", to.accept, " by ", by), func(t *testing.T) {
				name := fmt.Sprint("phone-", n)
				token := acptest.Must(s.access.Add(name, CanAnswer))
				r := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost"+to.path, nil)
				r.Header.Set("Accept", to.accept)
				r.Header.Set("Last-Event-ID", s.eventID(1))
				end := func() error { return s.access.Remove(name) }
				if by == "token" {
					r.Header.Set("Authorization", "Bearer "+token)
				} else {
					in, ok := acptest.Must2(s.access.login("", token))
					require.True(t, ok)
					r.Header.Set("Cookie", s.access.cookie()+"="+in.cookie)
					end = func() error { return s.access.logout(in.cookie) }
				}
				var here, done sync.WaitGroup
				here.Add(1)
				body := httptest.NewRecorder()
				w := &stuck{ResponseRecorder: body, reached: here.Done, free: make(chan struct{})}
				done.Go(func() {
					defer func() { _ = recover() }() // the connection is cut
					s.ServeHTTP(w, r)
				})
				here.Wait() // it takes nothing of the first part
				require.NoError(t, end())
				since := ask("talk", "since-"+by+name, "asked since "+by+name)
				close(w.free)
				done.Wait()
				acptest.Must(s.board.Cancel(t.Context(), since.Ref(), Owner))
				_ = s.access.Remove(name)
				require.LessOrEqual(t, body.Body.Len(), 2*maxChunk, "the part that was on its way")
				require.False(t, strings.Contains(body.Body.String(), since.Call.Questions[0].Text), "it was asked since")
			})
		}
	}
}
