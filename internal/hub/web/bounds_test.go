package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// A device gets so many lists at a time, and is told how many.
func TestListsAtATime(t *testing.T) {
	store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	board, err := hub.Open(t.Context(), store, hub.Options{})
	require.NoError(t, err)
	t.Cleanup(board.Close)
	access := openInside(t)
	s := New(board, access, Options{})
	t.Cleanup(s.Close)
	phone, err := access.Add("phone", CanAnswer)
	require.NoError(t, err)
	get := func(token, path string) int {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost"+path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		s.ServeHTTP(w, r)
		return w.Code
	}
	s.lists["phone"] = maxListsOf
	for _, path := range []string{"/", "/cards", "/questions", "/conversations", "/history", "/question"} {
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
	a, err := OpenAccess(filepath.Join(dir, "access.json"), "the-token-of-the-owner")
	require.NoError(t, err)
	synced = nil
	_, err = a.Add("phone", CanAnswer)
	require.NoError(t, err)
	require.NoError(t, a.Remove("phone"))
	require.Equal(t, []string{dir, dir}, synced)
	syncFolder = func(string) error { return errors.New("no disk") }
	_, err = a.Add("phone", CanAnswer)
	require.ErrorContains(t, err, "no disk")
}
