package web_test

import (
	"bufio"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

const otherToken = "another-owner-of-these-hubs"

// Hubs of one store have one owner: the first brings it, also where an older hub
// was there before, and one with another token is not opened. Of the token there
// is a hash.
func TestOneOwner(t *testing.T) {
	for name, before := range map[string]string{"new": "", "of an older hub": `{"instance":"abcdefgh"}`} {
		t.Run(name, func(t *testing.T) {
			store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()}))
			t.Cleanup(store.Close)
			if before != "" {
				acptest.Must(store.Create(t.Context(), "access", []byte(before)))
			}
			t.Cleanup(acptest.Must(web.OpenShared(t.Context(), store, token, nil)).Close)
			require.ErrorIs(t, acptest.Err(web.OpenShared(t.Context(), store, otherToken, nil)), web.ErrOtherOwner)
			require.ErrorContains(t, acptest.Err(web.OpenShared(t.Context(), store, "", nil)), "too short")
			t.Cleanup(acptest.Must(web.OpenShared(t.Context(), store, token, nil)).Close)
			e := acptest.Must(store.Get(t.Context(), "access"))
			require.NotContains(t, string(e.Value), token)
			require.NotEmpty(t, gjson.GetBytes(e.Value, "owner").String())
		})
	}
}

// A command opens what hubs share without being an owner, and brings none.
func TestStoredHasNoOwner(t *testing.T) {
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()}))
	t.Cleanup(store.Close)
	stored := acptest.Must(web.OpenStored(t.Context(), store))
	acptest.Must(stored.Add("phone", web.CanAnswer))
	var log acptest.Written
	access := acptest.Must(web.OpenShared(t.Context(), store, token, slog.New(slog.NewTextHandler(&log, nil))))
	t.Cleanup(access.Close)
	require.Len(t, access.List(), 1)
	acptest.Must(stored.Add("tablet", web.CanAnswer))
	require.Eventually(t, func() bool { return len(access.List()) == 2 }, time.Minute, time.Millisecond)
	require.Zero(t, log.Count("the owner has a new token"))
	require.ErrorContains(t, stored.SetOwner("short"), "too short")
	require.NoError(t, stored.SetOwner(otherToken))
	require.Eventually(t, func() bool { return log.Count("the owner has a new token") > 0 }, time.Minute, time.Millisecond)
}

// A new token of the owner holds at all hubs at once, and ends what was begun with
// the old one. Devices stay as they are.
func TestNewOwner(t *testing.T) {
	one, two := twoSites(t)
	phone := one.device("phone", web.CanAnswer)
	reply, _ := one.request("POST", "/login", "token="+token, "Authorization", "", "Content-Type", "application/x-www-form-urlencoded", "Origin", one.url)
	require.Equal(t, http.StatusOK, reply.StatusCode)
	cookie := []string{"Authorization", "", "Cookie", reply.Cookies()[0].Name + "=" + reply.Cookies()[0].Value}
	two.eventually(200, "GET", "/conversations", "", cookie...)
	code := acptest.Must(two.access.Code(web.Owner))
	req := acptest.Must(http.NewRequest(http.MethodGet, two.url+"/events", nil))
	req.Header.Set("Authorization", "Bearer "+token)
	stream := acptest.Must(http.DefaultClient.Do(req))
	defer stream.Body.Close()
	require.Equal(t, http.StatusOK, stream.StatusCode)
	require.NotContains(t, one.expect(200, "GET", "/status", ""), "problem")

	require.NoError(t, one.access.SetOwner(otherToken))
	fresh := []string{"Authorization", "Bearer " + otherToken}
	for _, s := range []*site{one, two} {
		s.eventually(200, "GET", "/devices", "", fresh...)
		s.expect(401, "GET", "/devices", "")
		s.expect(401, "GET", "/conversations", "", cookie...)
		s.expect(200, "GET", "/conversations", "", "Authorization", "Bearer "+phone)
		require.Contains(t, s.expect(200, "GET", "/status", "", fresh...), `"ready":true,"problem":"the owner has a new token: put it into this hub's token file"`)
	}
	reply, _ = one.request("POST", "/login", "code="+code, "Authorization", "", "Content-Type", "application/x-www-form-urlencoded", "Origin", one.url)
	require.Equal(t, http.StatusUnauthorized, reply.StatusCode)
	var said strings.Builder
	acptest.Must(bufio.NewReader(stream.Body).WriteTo(&said)) // it ends
}

// A new token of the owner at a hub alone ends what was made with the old one: that
// one may be somebody else's by now.
func TestANewOwnersTokenAtAHubAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "access.json")
	start := func(token string) *site {
		_, board := boardOf(t, hub.Options{}, hubstore.Options{Dir: t.TempDir()})
		return serve(t, board, acptest.Must(web.OpenAccess(path, token)), web.Options{})
	}
	s := start(token)
	phone := s.device("phone", web.CanAnswer)
	stolen, theirs := s.logIn(t, web.Owner), s.logIn(t, "phone")
	code := acptest.Must(s.access.Code(web.Owner))
	start(token).expect(200, "GET", "/questions", "", "Authorization", "", "Cookie", stolen)

	const fresh = "another-token-of-the-owner"
	now := start(fresh)
	now.expect(401, "GET", "/questions", "", "Authorization", "", "Cookie", stolen)
	now.expect(401, "GET", "/questions", "")
	form := []string{"Authorization", "", "Content-Type", "application/x-www-form-urlencoded", "Origin", now.url}
	now.expect(401, "POST", "/login", "code="+code, form...)
	now.expect(200, "GET", "/questions", "", "Authorization", "", "Cookie", theirs)
	now.expect(200, "GET", "/questions", "", "Authorization", "Bearer "+phone)
	now.expect(200, "GET", "/questions", "", "Authorization", "Bearer "+fresh)
}
