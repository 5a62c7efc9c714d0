package hublink_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// door is an address of a hub that can be shut.
type door struct {
	*httptest.Server
	url  *url.URL
	open atomic.Bool
	in   chan struct{} // gets something for every request
}

func newDoor(t *testing.T, behind http.Handler) *door {
	d := &door{in: make(chan struct{}, 100)}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.open.Load() {
			panic(http.ErrAbortHandler)
		}
		d.in <- struct{}{}
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	d.url, _ = url.Parse(d.URL)
	return d
}

// Of several hubs the next one is used when one is gone, and the question is the same there.
func TestTheNextHub(t *testing.T) {
	t.Parallel()
	h := newHubs(t)
	board := h.start(t.TempDir())
	one, two := newDoor(t, h.current.Load().server), newDoor(t, h.current.Load().server)
	one.open.Store(true)
	var d desk.Desk
	l := hublink.Start(&d, hublink.Options{URL: one.url, Others: []*url.URL{two.url}, Token: func() (string, error) { return token, nil }})
	t.Cleanup(l.Close)
	ticket := ask(t, &d, "toolu_1_x")
	<-one.in
	r := await(t, board, (*hub.Record).Open)
	// The one where it waits goes away, again and again.
	for _, c := range []struct{ up, down *door }{{two, one}, {one, two}, {two, one}} {
		c.up.open.Store(true)
		c.down.open.Store(false)
		c.down.CloseClientConnections()
		<-c.up.in
	}
	acptest.Must(board.Answer(t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) { return yes.Answers, nil }, "phone"))
	<-ticket.Context().Done()
	o, _ := ticket.Settle(convert.Outcome{}, "")
	require.Equal(t, yes.Answers, o.Answers)
	_, open := board.Waiting(10)
	require.Zero(t, open)
	require.Len(t, board.Settled("", 10), 1, "it was asked once")
}

func TestTransport(t *testing.T) {
	var asked []string
	serve := func(name string, status int) *url.URL {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := new(strings.Builder)
			_ = r.Write(body)
			asked = append(asked, name+" "+r.RequestURI+" "+body.String()[strings.LastIndex(body.String(), "\n")+1:])
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		return acptest.Must(url.Parse(s.URL + "/" + name))
	}
	gone := serve("gone", 200)
	gone.Host = "127.0.0.1:1"
	closing, good, wrong := serve("closing", 503), serve("good", 200), serve("wrong", 401)
	for _, c := range []struct {
		urls   []*url.URL
		status int
		asked  []string
	}{
		{[]*url.URL{gone, closing, good}, 200, []string{"closing", "good", "good"}}, // stays with what worked
		{[]*url.URL{wrong, good}, 401, []string{"wrong", "wrong"}},                  // a no is a no
		{[]*url.URL{closing, gone}, 0, []string{"closing", "closing"}},
		{[]*url.URL{good}, 200, []string{"good", "good"}},
	} {
		asked = nil
		client := http.Client{Transport: hublink.Transport(http.DefaultTransport, c.urls)}
		for range 2 {
			reply, err := client.Post(c.urls[0].String()+"/a%2Fb?x=1", "text/plain", strings.NewReader("words"))
			if c.status == 0 && err != nil {
				continue
			}
			require.NoError(t, err)
			reply.Body.Close()
			if c.status != 0 {
				require.Equal(t, c.status, reply.StatusCode)
			}
		}
		want := c.asked
		for i, name := range want {
			want[i] = name + " /" + name + "/a%2Fb?x=1 words"
		}
		require.Equal(t, want, asked)
	}
}

// The token of a hub on this machine goes to no other.
func TestTokenOfSeveral(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("ACP_BRIDGE_HUB_TOKEN", "")
	urls := acptest.Must(hublink.ParseURLs("http://127.0.0.1:7717, https://hub.example"))
	require.ErrorContains(t, acptest.Err(hublink.TokenOf(urls, "")), "no token for the hub at hub.example")
	require.ErrorContains(t, acptest.Err(hublink.TokenOf(urls[:1], "")), "start a hub with acp-bridge-hub, or set ACP_BRIDGE_HUB_TOKEN")
	require.Error(t, acptest.Err(hublink.ParseURLs("http://127.0.0.1:7717,")))
}

// A file with something else than a token is damaged, and is told as that: it is sent to
// nobody.
func TestADamagedToken(t *testing.T) {
	name := filepath.Join(t.TempDir(), "token")
	at := acptest.Must(url.Parse("http://127.0.0.1:7717"))
	for text, whole := range map[string]bool{
		"Abc-123_~!": true, " abc\n": true,
		"ab\x00c": false, "ab c": false, "a\nb": false, "pässword": false, "ab\x7f": false,
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		got, err := hublink.Token(at, name)
		if whole {
			require.NoError(t, err, "%q", text)
			require.Equal(t, strings.TrimSpace(text), got)
		} else {
			require.ErrorContains(t, err, name+" is damaged", "%q", text)
			require.NotContains(t, err.Error(), text)
		}
	}
}

// Questions are those of the group that the link names, all the way.
func TestGroupOfALink(t *testing.T) {
	t.Parallel()
	h := newHubs(t)
	board := h.start(t.TempDir())
	var d desk.Desk
	l := hublink.Start(&d, hublink.Options{URL: h.url, Group: "web", Token: func() (string, error) { return token, nil }})
	t.Cleanup(l.Close)
	ticket := ask(t, &d, "toolu_1_x")
	r := await(t, board, (*hub.Record).Open)
	require.Equal(t, "web", r.Group)
	ticket.Settle(yes, "editor")
	r = await(t, board, func(r *hub.Record) bool { return !r.Open() })
	require.Equal(t, "web", r.Group)
	require.Equal(t, "editor", r.End.By)
}
