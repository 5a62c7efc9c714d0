package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// with is the site with other options.
func (s *site) with(o web.Options) *site {
	s.server = web.New(s.board, s.access, o)
	h := httptest.NewServer(s.server)
	s.t.Cleanup(h.Close)
	s.t.Cleanup(s.server.Close)
	s.url = h.URL
	return s
}

// A phone that is added is a device of its own, from its login on: it can answer and
// nothing else, and the link works once.
func TestAddAPhone(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{}).with(web.Options{Addresses: func() []string { return []string{"http://192.168.1.5:7717", "http://10.0.0.3:7717"} }})
	said := s.expect(200, "POST", "/phones", "")
	require.True(t, gjson.Get(said, "plain").Bool())
	require.Equal(t, "http://10.0.0.3:7717", gjson.Get(said, "others.0").String())
	require.Empty(t, s.access.List(), "nobody has come yet")
	link, code, ok := strings.Cut(gjson.Get(said, "link").String(), "/login?code=")
	require.True(t, ok)
	require.Equal(t, "http://192.168.1.5:7717", link)
	login := func() int {
		req := acptest.Must(http.NewRequest("POST", s.url+"/login", strings.NewReader(url.Values{"code": {code}}.Encode())))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		reply := acptest.Must(http.DefaultClient.Do(req))
		reply.Body.Close()
		return reply.StatusCode
	}
	require.Equal(t, 200, login())
	require.Equal(t, 401, login())
	list := s.access.List()
	require.Len(t, list, 1)
	require.Equal(t, "phone", list[0].Name)
	require.Equal(t, web.CanAnswer, list[0].Can)

	// A second one has a name that is nobody's, in any case; and one whose maker is gone does not come in.
	phone := s.device("Phone-2", web.CanAnswer)
	code = strings.SplitAfter(gjson.Get(s.expect(200, "POST", "/phones", ""), "link").String(), "code=")[1]
	require.Equal(t, 200, login())
	require.Equal(t, "phone-3", s.access.List()[2].Name)
	admin := s.device("anna", web.CanAdmin)
	code = strings.SplitAfter(gjson.Get(s.expect(200, "POST", "/phones", "", "Authorization", "Bearer "+admin), "link").String(), "code=")[1]
	require.NoError(t, s.access.Remove("anna"))
	require.Equal(t, 401, login())
	s.expect(403, "POST", "/phones", "", "Authorization", "Bearer "+phone)
}

// A hub that nobody else reaches gives no link, and makes no code.
func TestAddAPhoneToALocalHub(t *testing.T) {
	require.JSONEq(t, `{}`, siteBeside(t).expect(200, "POST", "/phones", ""))
}

// lan is a machine with one network.
type lan struct{ on atomic.Bool }

func (l *lan) On() bool { return l.on.Load() }
func (l *lan) Switch(on bool) error {
	l.on.Store(on)
	return nil
}
func (l *lan) addresses() []string {
	if l.On() {
		return []string{"http://192.168.1.5:7717"}
	}
	return nil
}

// Who may add devices lets this machine's networks in, and keeps them out; nobody else
// does, and not where the hub's address says who reaches it.
func TestLANIsSwitched(t *testing.T) {
	s := siteBeside(t)
	s.expect(409, "POST", "/lan", `{"on":true}`)
	l := new(lan)
	s.with(web.Options{LAN: l, Addresses: l.addresses})
	s.expect(403, "POST", "/lan", `{"on":true}`, "Authorization", "Bearer "+s.device("phone", web.CanAnswer))
	s.expect(400, "POST", "/lan", `{}`)
	require.JSONEq(t, `{"on":false}`, s.expect(200, "GET", "/lan", ""))
	require.JSONEq(t, `{"lan":"off"}`, s.expect(200, "POST", "/phones", ""))
	require.JSONEq(t, `{"on":true,"addresses":["http://192.168.1.5:7717"]}`, s.expect(200, "POST", "/lan", `{"on":true}`))
	require.Equal(t, "on", gjson.Get(s.expect(200, "POST", "/phones", ""), "lan").String())
	require.JSONEq(t, `{"on":false}`, s.expect(200, "POST", "/lan", `{"on":false}`))
}
