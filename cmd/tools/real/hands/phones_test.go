package hands_test

import (
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// reached makes a site one that other machines reach at these addresses.
func (s *site) reached(addresses ...string) *site {
	return s.with(web.Options{Addresses: func() []string { return append([]string(nil), addresses...) }})
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

// The page opens the hub for a phone, and closes it again.
func TestPageSwitchesTheLAN(t *testing.T) {
	t.Parallel()
	b, l := newChromium(t), new(lan)
	p := newSite(t, hub.Options{}).with(web.Options{LAN: l, Addresses: l.addresses}).visit(b, 360, false)
	p.eval(`document.getElementById("menu").open = true`)
	p.click(`#phone-button`)
	p.until(`document.querySelector("#phone .allow")`)
	p.shot("lan-off")
	require.Contains(t, p.eval(`document.getElementById("phone").innerText`), "anyone on the same network can read")
	p.click(`#phone .allow`)
	p.until(`document.querySelector("#phone .qr path")`)
	require.True(t, l.On())
	p.shot("lan-on")
	p.click(`#phone .link`)
	p.until(`document.querySelector("#phone .allow")`)
	require.False(t, l.On())
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
