package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// reached makes a site one that other machines reach at these addresses.
func (s *site) reached(addresses ...string) *site {
	s.server = web.New(s.board, s.access, web.Options{Addresses: func() []string { return append([]string(nil), addresses...) }})
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
	s := newSite(t, hub.Options{}).reached("http://192.168.1.5:7717", "http://10.0.0.3:7717")
	said := s.expect(200, "POST", "/phones", "")
	require.True(t, gjson.Get(said, "plain").Bool())
	require.Equal(t, "http://10.0.0.3:7717", gjson.Get(said, "others.0").String())
	require.Empty(t, s.access.List(), "nobody has come yet")
	link, code, ok := strings.Cut(gjson.Get(said, "link").String(), "/login?code=")
	require.True(t, ok)
	require.Equal(t, "http://192.168.1.5:7717", link)
	login := func() int {
		req, err := http.NewRequest("POST", s.url+"/login", strings.NewReader(url.Values{"code": {code}}.Encode()))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		reply, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		reply.Body.Close()
		return reply.StatusCode
	}
	require.Equal(t, 200, login())
	require.Equal(t, 401, login())
	list := s.access.List()
	require.Len(t, list, 1)
	require.Equal(t, "phone", list[0].Name)
	require.Equal(t, web.CanAnswer, list[0].Can)

	// A second one has another name; and one whose maker is gone does not come in.
	code = strings.SplitAfter(gjson.Get(s.expect(200, "POST", "/phones", ""), "link").String(), "code=")[1]
	require.Equal(t, 200, login())
	require.Equal(t, "phone-2", s.access.List()[1].Name)
	admin, err := s.access.Add("anna", web.CanAdmin)
	require.NoError(t, err)
	code = strings.SplitAfter(gjson.Get(s.expect(200, "POST", "/phones", "", "Authorization", "Bearer "+admin), "link").String(), "code=")[1]
	require.NoError(t, s.access.Remove("anna"))
	require.Equal(t, 401, login())
	phone, err := s.access.Add("third", web.CanAnswer)
	require.NoError(t, err)
	s.expect(403, "POST", "/phones", "", "Authorization", "Bearer "+phone)
}

// A hub that nobody else reaches gives no link, and makes no code.
func TestAddAPhoneToALocalHub(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{})
	require.JSONEq(t, `{}`, s.expect(200, "POST", "/phones", ""))
}

// The page shows the code, says what http means, and forgets the link when it is
// closed.
func TestPageAddsAPhone(t *testing.T) {
	b := newChromium(t)
	s := newSite(t, hub.Options{}).reached("http://192.168.1.5:7717")
	p := s.visit(b, 360, false)
	p.eval(`document.getElementById("menu").open = true`)
	p.click(`#phone-button`)
	p.until(`document.querySelector("#phone .qr path")`)
	require.Contains(t, p.eval(`document.getElementById("phone").innerText`), "anyone on the same network can read")
	if os.Getenv("ACP_BRIDGE_AXE") != "" {
		p.axe("add a phone")
	}
	p.shot("add-a-phone")
	require.Equal(t, `true`, p.eval(`(() => { const b = document.querySelector("#phone .qr").getBoundingClientRect(); return b.width > 200 && b.left >= 0 && b.right <= innerWidth; })()`))
	p.click(`#phone > button`)
	p.until(`!document.getElementById("phone")`)
}

// On a small phone the dialog is within the screen, and its button apart from the text.
func TestAddAPhoneOnASmallPhone(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{}).reached("http://192.168.1.5:7717", "http://10.0.0.3:7717")
	p := s.visit(b, 360, true)
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": true})
	p.shot("lan-bar")
	p.eval(`document.getElementById("menu").open = true; document.getElementById("phone-button").click(); 0`)
	p.until(`document.querySelector("dialog .qr")`)
	p.shot("lan-small")
	require.Equal(t, "true", p.eval(`(() => { const d = document.querySelector("dialog").getBoundingClientRect(); return d.left >= 8 && d.right <= 352 && document.documentElement.scrollWidth <= 360; })()`))
	require.Equal(t, "true", p.eval(`document.querySelector("dialog > button").getBoundingClientRect().top - document.querySelector("dialog > div").getBoundingClientRect().bottom >= 8`))
	require.Equal(t, "true", p.eval(`document.querySelector("dialog").textContent.includes("begin it with http://10.0.0.3:7717 instead")`))
}
