package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

// heard is a request that a notification URL got.
type heard struct{ method, path, sequence, body string }

func notified(t *testing.T, deletes bool) (url string, next func() heard) {
	url, got := addressee(t, deletes)
	return url, func() heard { return <-got }
}

// addressee is a URL that is told.
func addressee(t *testing.T, deletes bool) (url string, got chan heard) {
	got = make(chan heard, 20)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- heard{r.Method, r.URL.Path, r.Header.Get("X-Sequence-ID"), string(body)}
		if r.Method == http.MethodDelete && !deletes {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/topic", got
}

// An address that sends its notifications elsewhere gets them, and nobody else does.
func TestNotifyFollowsNoRedirect(t *testing.T) {
	elsewhere := make(chan string, 10)
	inside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere <- r.Method }))
	t.Cleanup(inside.Close)
	asked := make(chan string, 10)
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method
		http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(outside.Close)
	n := &notifier{notice: notice{url: outside.URL + "/topic"}, log: slog.New(slog.DiscardHandler)}
	n.send(t.Context(), "id", "A question is waiting for you.")
	n.takeBack(t.Context(), &hub.Record{End: &hub.End{Outcome: "answered"}}, "id")
	require.Equal(t, []string{"POST", "DELETE", "POST"}, []string{<-asked, <-asked, <-asked})
	require.Empty(t, elsewhere)
}

// A new question is told without its text, and taken back when it is settled.
func TestNotify(t *testing.T) {
	t.Parallel()
	for _, deletes := range []bool{true, false} {
		url, next := notified(t, deletes)
		p := startHub(t, t.TempDir(), "127.0.0.1:0", "--notify", url)
		require.Equal(t, http.StatusAccepted, p.post("/conversations/c1/ask", askBody("toolu_abc")))
		n := next()
		require.Equal(t, heard{"POST", "/topic", n.sequence, "A question is waiting for you."}, n)
		require.NotEmpty(t, n.sequence)
		require.Equal(t, http.StatusOK, p.post("/conversations/c1/respond", `{"answers":{"Go on?":"Yes"}}`))
		require.Equal(t, heard{"DELETE", "/topic/" + n.sequence, n.sequence, ""}, next())
		if !deletes {
			require.Equal(t, heard{"POST", "/topic", n.sequence, "It was answered."}, next())
		}
		p.kill()
	}
	url, next := notified(t, true)
	p := startHub(t, t.TempDir(), "127.0.0.1:0", "--notify", url, "--notify-text")
	p.post("/conversations/c1/ask", askBody("toolu_abc"))
	require.Equal(t, "Go on?", next().body)
}

// No group's question is told to another's address.
func TestNotifyByGroup(t *testing.T) {
	t.Parallel()
	own, nextOwn := notified(t, true)
	web, nextWeb := notified(t, true)
	p := startHub(t, t.TempDir(), "127.0.0.1:0", "--notify", own, "--notify", "web="+web, "--notify-text")
	ask := func(group, id, text string) {
		body := strings.ReplaceAll(askBody(id), "Go on?", text)
		require.Equal(t, http.StatusAccepted, p.post("/conversations/c/ask?group="+group, body))
	}
	ask("api", "toolu_1_x", "of api?") // nobody's address
	ask("owner", "toolu_2_x", "of the owner?")
	ask("web", "toolu_3_x", "of web?")
	require.Equal(t, "of the owner?", nextOwn().body)
	require.Equal(t, "of web?", nextWeb().body)
	// The end of one is no news for the other.
	require.Equal(t, http.StatusOK, p.post("/conversations/c/cancel?group=web", ""))
	require.Equal(t, "DELETE", nextWeb().method)
	ask("owner", "toolu_4_x", "of the owner again?")
	require.Equal(t, "of the owner again?", nextOwn().body)
}

// Of several hubs one tells, and one takes back. What a hub that is told to stop
// knows of is told before it ends.
func TestNotifyOnceByTwoHubs(t *testing.T) {
	t.Parallel()
	n := netfault.NATS(t, 0)
	url, got := addressee(t, true)
	one := startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", n.ClientURL(), "--notify", url)
	two := startHub(t, t.TempDir(), "127.0.0.1:0", "--nats", n.ClientURL(), "--notify", url)
	require.Equal(t, http.StatusAccepted, one.post("/conversations/c/ask", askBody("toolu_1_x")))
	first := <-got
	require.Equal(t, "POST", first.method)
	require.Equal(t, http.StatusOK, one.post("/conversations/c/respond", `{"answers":{"Go on?":"Yes"}}`))
	require.Equal(t, heard{"DELETE", "/topic/" + first.sequence, first.sequence, ""}, <-got)
	// Both hubs see what comes next after all that, and end after they have.
	require.Equal(t, http.StatusAccepted, one.post("/conversations/other/ask", askBody("toolu_2_x")))
	for _, p := range []*process{one, two} {
		require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
		require.NoError(t, p.wait())
	}
	second := <-got
	require.Equal(t, "POST", second.method)
	require.NotEqual(t, first.sequence, second.sequence)
	require.Empty(t, got, "nothing was told twice")
}

// What is deleted is one message, never the address: some end with it.
func TestNoticeBelow(t *testing.T) {
	for address, want := range map[string]string{
		"https://ntfy.example/topic":               "https://ntfy.example/topic/7f",
		"https://ntfy.example/topic/":              "https://ntfy.example/topic/7f",
		"https://ntfy.example/topic?auth=x%2Fy":    "https://ntfy.example/topic/7f?auth=x%2Fy",
		"https://chat.example/hooks/1/t?wait=true": "https://chat.example/hooks/1/t/7f?wait=true",
		"https://ntfy.example/a%2Fb":               "https://ntfy.example/a%2Fb/7f",
		"https://ntfy.example":                     "https://ntfy.example/7f",
	} {
		require.Equal(t, want, (&notifier{notice: acptest.Must(parseNotice(address))}).below("7f"))
	}
}

func TestParseNotice(t *testing.T) {
	for v, want := range map[string]notice{
		"https://ntfy.example/topic":    {"", "https://ntfy.example/topic"},
		"https://x.example/?a=b":        {"", "https://x.example/?a=b"},
		"owner=http://127.0.0.1:1/x":    {"", "http://127.0.0.1:1/x"},
		"web=https://ntfy.example/?a=b": {"web", "https://ntfy.example/?a=b"},
	} {
		got, err := parseNotice(v)
		require.NoError(t, err, v)
		require.Equal(t, want, got)
	}
	for _, v := range []string{"", "web", "web=", "=https://x.example", "web=ftp://x.example", "a b=https://x.example", "web=a=https://x.example"} {
		require.Error(t, acptest.Err(parseNotice(v)), v)
	}
}
