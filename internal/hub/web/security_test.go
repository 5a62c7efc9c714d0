package web_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// routes are all that a hub serves.
var routes = []struct{ method, path, body string }{
	{"GET", "/healthz", ""}, {"GET", "/login", ""}, {"POST", "/login", "code=x"},
	{"GET", "/style.css", ""}, {"GET", "/page.js", ""},
	{"GET", "/", ""}, {"GET", "/cards", ""}, {"GET", "/history", ""},
	{"POST", "/answer", "x=y"}, {"POST", "/logout", ""},
	{"GET", "/conversations", ""}, {"GET", "/conversations/c1", ""},
	{"GET", "/questions", ""},
	{"GET", "/events", ""}, {"GET", "/conversations/c1/events", ""},
	{"POST", "/conversations/c1/ask", database},
	{"POST", "/conversations/c1/respond", `{"answers":{"Which database?":"SQLite"}}`},
	{"POST", "/conversations/c1/cancel", ""},
	{"GET", "/conversations/c1/questions/toolu_1", ""},
	{"POST", "/conversations/c1/questions/toolu_1/settle", `{"outcome":"answered"}`},
	{"POST", "/conversations/c1/questions/toolu_1/received", `{"consumed":true}`},
	{"DELETE", "/history?by=owner", ""},
	{"GET", "/devices", ""}, {"POST", "/devices", `{"name":"x","can":"admin"}`}, {"DELETE", "/devices/x", ""},
	{"POST", "/codes", `{"name":"owner"}`},
	{"POST", "/phones", `{}`},
}

func (s *site) stillOpen(t *testing.T) {
	t.Helper()
	require.True(t, s.find("c1", "toolu_1").Open())
}

func TestForeignHostOnEveryRoute(t *testing.T) {
	s := siteBeside(t)
	s.expect(202, "POST", "/conversations/c1/ask", database)
	for _, r := range routes {
		for _, host := range []string{"evil.example", "evil.example:80", "hub.example.evil", "127.0.0.1.evil.example", "8.8.8.8"} {
			s.expect(421, r.method, r.path, r.body, "Host", host)
		}
	}
	s.stillOpen(t)
	for _, host := range []string{"hub.example", "HUB.example:7717", "localhost:1", "127.0.0.1", "[::1]:80"} {
		s.expect(200, "GET", "/healthz", "", "Host", host)
	}
}

func TestOtherOriginsChangeNothing(t *testing.T) {
	s := newSite(t, hub.Options{})
	s.expect(202, "POST", "/conversations/c1/ask", database)
	cookie := s.logIn(t, web.Owner)
	for _, r := range routes {
		if r.method == "GET" {
			continue
		}
		for _, headers := range [][]string{
			{"Origin", "http://evil.example"}, {"Origin", "null"}, {"Origin", s.url + ".evil.example"},
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
			{"Origin", s.url, "Sec-Fetch-Site", "cross-site"}, {"Origin", "null", "Sec-Fetch-Site", "cross-site"},
		} {
			s.expect(403, r.method, r.path, r.body, headers...)
			s.expect(403, r.method, r.path, r.body, append(headers, "Authorization", "", "Cookie", cookie)...)
		}
		if r.path != "/login" {
			// A cookie alone, without the browser's word where it comes from.
			s.expect(403, r.method, r.path, r.body, "Authorization", "", "Cookie", cookie)
		}
	}
	s.stillOpen(t)
	s.expect(200, "POST", "/conversations/c1/cancel", "", append(browserOf(cookie, s.url), "Sec-Fetch-Site", "same-origin")...)
}

func TestNoCredential(t *testing.T) {
	t.Parallel()
	open := map[string]bool{"/healthz": true, "/login": true, "/style.css": true, "/page.js": true}
	var s *site
	for i, r := range routes {
		if i%15 == 0 { // more wrong tokens are too many
			s = newSite(t, hub.Options{})
			s.expect(202, "POST", "/conversations/c1/ask", database)
			defer s.stillOpen(t)
		}
		if open[r.path] {
			continue
		}
		s.expect(401, r.method, r.path, r.body, "Authorization", "")
		s.expect(401, r.method, r.path+"?token="+token+"&access_token="+token, r.body, "Authorization", "")
		s.expect(401, r.method, r.path, r.body, "Authorization", "", "Cookie", "acp_bridge_hub_x="+token)
		s.expect(401, r.method, r.path, r.body, "Authorization", "Basic "+token)
	}
}

func TestWrongTokensAreThrottledAndRightOnesWork(t *testing.T) {
	s := siteBeside(t)
	codes := map[int]int{}
	for i := range 50 {
		reply, _ := s.request("GET", "/conversations", "", "Authorization", fmt.Sprintf("Bearer %s%d", token, i))
		codes[reply.StatusCode]++
	}
	require.Equal(t, map[int]int{401: 20, 429: 30}, codes)
	s.expect(200, "GET", "/conversations", "")
	reply, _ := s.request("POST", "/login", "code=wrong", "Content-Type", "application/x-www-form-urlencoded", "Origin", s.url)
	require.Equal(t, 429, reply.StatusCode)
}

// logIn opens a login link as a browser does, and returns the cookie.
func (s *site) logIn(t *testing.T, device string) string {
	t.Helper()
	code := acptest.Must(s.access.Code(device))
	form := []string{"Content-Type", "application/x-www-form-urlencoded", "Origin", "null", "Sec-Fetch-Site", "same-origin", "Authorization", ""}
	s.expect(200, "GET", "/login?code="+code, "", "Authorization", "") // uses nothing up
	reply, page := s.request("POST", "/login", url.Values{"code": {code}}.Encode(), form...)
	if reply.StatusCode == 200 {
		require.Regexp(t, pageSecret, page)
	} else {
		require.Equal(t, 303, reply.StatusCode, "one that cannot look")
		require.Equal(t, "/", reply.Header.Get("Location"))
	}
	require.Len(t, reply.Cookies(), 1)
	c := reply.Cookies()[0]
	require.True(t, c.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, c.SameSite)
	require.True(t, strings.HasPrefix(c.Name, "acp_bridge_hub_") && len(c.Name) > len("acp_bridge_hub_"))
	require.NotContains(t, c.Value, token)
	reply, _ = s.request("POST", "/login", url.Values{"code": {code}}.Encode(), form...)
	require.Equal(t, 401, reply.StatusCode, "a code works once")
	knowsPage(c.Name+"="+c.Value, page)
	return c.Name + "=" + c.Value
}

// pageSecret is where the reply to a login has what its page knows.
var pageSecret = regexp.MustCompile(`<main data-page="([^"]+)">`)

// secrets are those of the pages, by their cookies.
var secrets sync.Map

func knowsPage(cookie, page string) {
	if found := pageSecret.FindStringSubmatch(page); found != nil {
		secrets.Store(cookie, found[1])
	}
}

// browserOf are the headers of a page that has logged in.
func browserOf(cookie, origin string) []string {
	secret, _ := secrets.Load(cookie)
	return []string{"Authorization", "", "Cookie", cookie, "Origin", origin, "Acp-Bridge-Page", fmt.Sprint(secret)}
}

func TestWhatADeviceMayDo(t *testing.T) {
	s := siteBeside(t)
	s.expect(202, "POST", "/conversations/c1/ask", database)
	phone := s.device("phone", web.CanAnswer)
	bot := s.device("bot", web.CanAsk)
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	for _, r := range routes {
		switch {
		case strings.HasSuffix(r.path, "/ask"), strings.HasSuffix(r.path, "/settle"), strings.HasSuffix(r.path, "/received"),
			strings.HasPrefix(r.path, "/devices"), r.path == "/codes", r.path == "/phones", r.method == "DELETE":
			s.expect(403, r.method, r.path, r.body, as(phone)...)
		}
		switch {
		case strings.HasSuffix(r.path, "/respond"), strings.HasSuffix(r.path, "/cancel"), r.path == "/answer", r.path == "/",
			r.path == "/events", r.path == "/questions", r.path == "/conversations", r.path == "/history", r.path == "/cards",
			strings.HasPrefix(r.path, "/devices"), r.path == "/codes", r.path == "/phones", r.method == "DELETE":
			s.expect(403, r.method, r.path, r.body, as(bot)...)
		}
	}
	s.stillOpen(t)
	s.expect(202, "POST", "/conversations/c2/ask", features, as(bot)...)
	s.expect(200, "POST", "/conversations/c1/cancel", "", as(phone)...)
}

func TestARemovedDevicesStreamsEndAtOnce(t *testing.T) {
	s := siteBeside(t)
	phone := s.device("phone", web.CanAnswer)
	s.expect(202, "POST", "/conversations/c1/ask", database)
	cookie := s.logIn(t, "phone")
	next, _ := s.stream("/events", "Authorization", "Bearer "+phone)
	_, ok := next()
	require.True(t, ok)
	require.NoError(t, s.access.Remove("phone"))
	_, ok = next()
	require.False(t, ok)
	s.expect(401, "GET", "/events", "", "Authorization", "Bearer "+phone)
	s.expect(401, "GET", "/cards", "", "Authorization", "", "Cookie", cookie)
}

func TestHeadersOfEveryReply(t *testing.T) {
	s := siteBeside(t)
	for _, r := range routes {
		if strings.HasSuffix(r.path, "/events") {
			continue
		}
		reply, _ := s.request(r.method, r.path, r.body)
		h := reply.Header
		csp := h.Get("Content-Security-Policy")
		require.Contains(t, csp, "default-src 'none'")
		require.Contains(t, csp, "frame-ancestors 'none'")
		require.NotContains(t, csp, "unsafe")
		require.Equal(t, "same-origin", h.Get("Referrer-Policy"))
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		for name := range h {
			require.False(t, strings.HasPrefix(name, "Access-Control-"), name)
		}
	}
}

func TestScriptInEveryFieldIsText(t *testing.T) {
	s := siteBeside(t)
	const x = `</textarea><script>alert(1)</script>\" onload=alert(1) x=\"<img src=x onerror=alert(1)>\u202e\u001b[31m`
	call := fmt.Sprintf(`{"kind":"question","title":"%[1]s","agent":"%[1]s","machine":"%[1]s","dir":"%[1]s","call":{"ID":"%[1]s","Server":"%[1]s","Questions":[{"Text":"%[1]s","Header":"%[1]s","Options":[{"Label":"%[1]s","Description":"%[1]s","Preview":"%[1]s"},{"Label":"b"}]}]}}`, x)
	s.expect(202, "POST", "/conversations/"+url.PathEscape(`<script>"`)+"/ask?dialect=bridge", call)
	list, _ := s.board.Waiting(1)
	page := s.expect(200, "GET", "/", "")
	checkPage(t, page)
	require.Contains(t, page, "&lt;script&gt;alert(1)")
	form := url.Values{"conversation": {inForm(list[0].Conversation)}, "question": {inForm(list[0].ID)}, "revision": {fmt.Sprint(list[0].Revision)}, "asked": {list[0].Fingerprint()}, "a0": {"0"}, "t0": {"</textarea><script>"}, "n0": {"</textarea><script>"}}
	post := []string{"Content-Type", "application/x-www-form-urlencoded", "Origin", s.url}
	problem := s.expect(400, "POST", "/answer", form.Encode(), post...)
	checkPage(t, problem)
	require.Contains(t, problem, "&lt;/textarea&gt;&lt;script&gt;", "what was filled in is still there")
	form.Set("a0", "other")
	s.expect(303, "POST", "/answer", form.Encode(), post...)
	checkPage(t, s.expect(200, "GET", "/history?q="+url.QueryEscape("<script>"), "", "Accept", "text/html"))
	checkPage(t, s.expect(200, "GET", "/login?code="+url.QueryEscape(`"><script>`), ""))
}

func inForm(id string) string { return base64.RawURLEncoding.EncodeToString([]byte(id)) }

func checkPage(t *testing.T, page string) {
	t.Helper()
	page = regexp.MustCompile(`<script defer src="/page\.js\?v=[\w-]+"></script>`).ReplaceAllString(page, "")
	require.NotContains(t, page, "<script")
	require.NotContains(t, page, "<img")
	require.NotContains(t, page, "\u202e")
	require.NotContains(t, page, "\x1b")
	require.NotContains(t, page, `onload=alert(1) x="`)
}

func TestPathTricksInIDs(t *testing.T) {
	s := siteBeside(t)
	for i, id := range []string{"a/b", "a%2fb", "../../etc/passwd", "a b", "é", "*", ">", "a.*.b", "\x01", "?x=1", "#", strings.Repeat("x", 512)} {
		call := fmt.Sprintf(`{"questions":[{"question":"Q%d?","header":"h","multiSelect":false,"options":[{"label":"a","description":""},{"label":"b","description":""}]}]}`, i)
		path := "/conversations/" + url.PathEscape(id)
		s.expect(202, "POST", path+"/ask", call)
		s.expect(200, "POST", path+"/respond", fmt.Sprintf(`{"answers":{"Q%d?":"a"}}`, i))
		r, err := s.board.Find(id, "")
		require.NoError(t, err, id)
		require.False(t, r.Open())
	}
	require.Len(t, s.board.Conversations(), 12)
	s.expect(400, "POST", "/conversations/"+strings.Repeat("x", 513)+"/ask", database)
}

func TestSlowClientsEnd(t *testing.T) {
	h := &http.Server{Handler: siteBeside(t).server, ReadHeaderTimeout: 50 * time.Millisecond}
	l := acptest.Must(net.Listen("tcp", "127.0.0.1:0"))
	go func() { _ = h.Serve(l) }()
	defer h.Close()
	c := acptest.Must(net.Dial("tcp", l.Addr().String()))
	defer c.Close()
	acptest.Must(c.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")))
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) { // that comes if the hub had not read all of it
		require.NoError(t, err, "the hub hangs up")
	}
}

// A form of another page cannot say that it is JSON.
func TestFormPostsAreNoJSON(t *testing.T) {
	s := siteBeside(t)
	s.expect(202, "POST", "/conversations/c1/ask", database)
	for _, r := range routes {
		if r.method != "POST" || !strings.HasPrefix(r.body, "{") {
			continue
		}
		for _, kind := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""} {
			s.expect(415, r.method, r.path, r.body, "Content-Type", kind)
		}
	}
	s.stillOpen(t)
}

// zeros is a body that never ends, of which only so much was read.
type zeros struct{ read atomic.Int64 }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	if z.read.Add(int64(len(p))) > 100<<20 {
		return 0, io.EOF
	}
	return len(p), nil
}

// A body of 100 MB is refused after the first.
func TestHugeBodies(t *testing.T) {
	s := siteBeside(t)
	s.expect(202, "POST", "/conversations/c1/ask", database)
	for _, r := range routes {
		if r.method != "POST" || r.body == "" {
			continue
		}
		body := &zeros{}
		req := acptest.Must(http.NewRequestWithContext(t.Context(), r.method, s.url+r.path, body))
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		if !strings.HasPrefix(r.body, "{") {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		reply, err := http.DefaultTransport.RoundTrip(req)
		if err == nil { // else the hub hung up
			require.Contains(t, []int{400, 401, 403, 413}, reply.StatusCode, r.path)
			reply.Body.Close()
		}
		require.Less(t, body.read.Load(), int64(20<<20), "%s: what the hub does not want is not sent", r.path)
	}
	s.stillOpen(t)
}

// A body that trickles is given up.
func TestSlowBodiesEnd(t *testing.T) {
	s := newSite(t, hub.Options{})
	s.server.SetBodyTime(50 * time.Millisecond)
	c := acptest.Must(net.Dial("tcp", strings.TrimPrefix(s.url, "http://")))
	defer c.Close()
	_, err := fmt.Fprintf(c, "POST /conversations/c1/ask HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", token)
	require.NoError(t, err)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	answer, err := io.ReadAll(c)
	require.NoError(t, err, "the hub hangs up")
	require.Contains(t, string(answer), " 400 ")
}

// Nor is a body waited for that nobody wants: on no route, and from nobody.
func TestUnwantedBodiesEnd(t *testing.T) {
	s := siteBeside(t)
	s.server.SetBodyTime(50 * time.Millisecond)
	begin := func(method, path, host, length string) net.Conn {
		c := acptest.Must(net.Dial("tcp", strings.TrimPrefix(s.url, "http://")))
		t.Cleanup(func() { c.Close() })
		acptest.Must(fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n", method, path, host, length))
		return c
	}
	var conns []net.Conn
	for _, r := range routes {
		conns = append(conns, begin(r.method, r.path, "localhost", "Content-Length: 100"))
	}
	conns = append(conns,
		begin("POST", "/conversations/c1/ask", "evil.example", "Content-Length: 100"),
		begin("POST", "/conversations/c1/ask", "localhost", "Transfer-Encoding: chunked"),
		begin("PUT", "/nowhere", "localhost", "Content-Length: 100"),
	)
	for _, c := range conns {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
		require.Regexp(t, `^HTTP/1.1 (200|4\d\d) `, string(acptest.Must(io.ReadAll(c))))
	}
}

// deadlines notes until when a body may come, and be taken.
type deadlines struct {
	*httptest.ResponseRecorder
	set     []time.Time
	bounded bool // what is written now
	parts   []int
	without int // parts that were written without a deadline
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.bounded = !t.IsZero()
	return nil
}

func (d *deadlines) Write(p []byte) (int, error) {
	if !d.bounded {
		d.without++
	}
	d.parts, d.bounded = append(d.parts, len(p)), false
	return d.ResponseRecorder.Write(p)
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// Who sends a body that nobody needs, and waits for an answer, may do so for long.
// The body itself is left: nobody can fill the hub's memory with it.
func TestABodyThatNobodyNeeds(t *testing.T) {
	s := newSite(t, hub.Options{})
	s.server.SetBodyTime(time.Millisecond)
	rec := s.ask("c1", db)
	body := &zeros{}
	req := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/conversations/c1/questions/toolu_c1?wait=1m", body)
	req.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	s.server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://evil.example/", body))
	require.Equal(t, 421, w.Code)
	done := make(chan struct{})
	go func() {
		defer close(done)
		reply, data := s.request("GET", "/conversations/c1/questions/toolu_c1?wait=1m", "null")
		require.Equal(t, 200, reply.StatusCode)
		require.Contains(t, data, "SQLite")
	}()
	answered := httptest.NewRecorder()
	time.AfterFunc(20*time.Millisecond, func() { // longer than a body may take
		acptest.Must(s.board.Answer(t.Context(), rec.Ref(), func(*hub.Record) ([]convert.Answer, error) {
			return []convert.Answer{{Selected: []string{"SQLite"}}}, nil
		}, "phone"))
	})
	s.server.ServeHTTP(answered, req)
	<-done
	require.Contains(t, answered.Body.String(), "SQLite")
	require.Zero(t, body.read.Load())
}

// Who takes nothing of a long reply is given up, part by part, so that who takes it
// slowly is not.
func TestRepliesThatNobodyTakes(t *testing.T) {
	s := siteBeside(t)
	s.expect(202, "POST", "/conversations/c1/ask", strings.Replace(database, "a server", strings.Repeat("a server ", 20<<10), 1))
	for _, path := range []string{"/", "/questions", "/conversations", "/conversations/c1", "/conversations/c1/questions/toolu_1"} {
		d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		req := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost"+path, nil)
		req.Header.Set("Authorization", "Bearer "+token)
		s.server.ServeHTTP(d, req)
		require.Equal(t, 200, d.Code)
		require.Greater(t, len(d.parts), 5, path)
		require.Zero(t, d.without, path)
	}
}
