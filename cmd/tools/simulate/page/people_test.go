// Package page_test plays people at the page of a hub, and the agents that ask them.
package page_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

var (
	peopleLives = flag.Int("people.lives", 6, "how many lives TestWhatEachAgentGets plays")
	peopleFirst = flag.Uint64("people.first", 1, "the seed of the first one")
)

// People look at the page on their devices, in two tabs each, and act on what they saw,
// now or much later: they answer, allow, reject and dismiss, twice and at the same time,
// and try to allow what they have not seen to its end. Meanwhile agents ask in the same and
// in other words, with the same ids, withdraw, die and come back, and the hub is started
// anew. What an agent gets, somebody said who had seen just that; nobody gets what another
// has used; what was accepted is there for whoever asks on; who is late is told so.
//
//	go -C cmd/tools test ./simulate/page -run TestWhatEachAgentGets -people.lives 200 -people.first 1000
func TestWhatEachAgentGets(t *testing.T) {
	t.Parallel()
	total := map[string]int{}
	for i := range *peopleLives {
		seed := *peopleFirst + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHouse(t, seed)
			defer func() {
				if t.Failed() {
					t.Logf("seed %d:\n%s", seed, strings.Join(h.log, "\n"))
				}
			}()
			for range 70 {
				h.step()
			}
			h.finish()
			for what, n := range h.count {
				total[what] += n
			}
		})
	}
	t.Log(total)
	if *peopleLives < 6 || t.Failed() {
		return
	}
	for _, what := range []string{"got", "late", "kept", "not seen", "two at once", "restart", "withdrawn", "said twice"} {
		require.NotZero(t, total[what], "the lives do not reach this: %s", what)
	}
}

// house is a hub with everybody around it.
type house struct {
	t      *testing.T
	r      *rand.Rand
	url    string
	board  *hub.Board
	access *web.Access
	log    []string
	count  map[string]int
	dir    string // where all is that outlives the hub
	close  func()

	agents    [3]*agentProcess // one for each conversation
	people    [3]*person
	askings   map[string]*theAsking // by name
	revisions map[string]*theAsking
	said      []*saying
	serial    int
}

// person has a device, and in each tab the cards of when it was loaded.
type person struct {
	device       string
	cookie, page string // what the browser knows, and what the page does
	tabs         [2][]seenCard
}

// seenCard is a card as it was on the screen.
type seenCard struct {
	key  string
	form url.Values
	of   *theAsking
	end  string // the mark at the end of what is permitted, if that was there
}

// saying is what a person said to a card, which the hub has accepted.
type saying struct {
	to          *theAsking
	by          *person
	what, words string        // what is answered, cancelled or allowed; words are never said again
	used        *agentProcess // who has said that it used it
	got         []*agentProcess
}

func newHouse(t *testing.T, seed uint64) *house {
	h := &house{t: t, r: rand.New(rand.NewPCG(seed, 24)), dir: t.TempDir(), askings: map[string]*theAsking{}, revisions: map[string]*theAsking{}, count: map[string]int{}}
	h.open()
	t.Cleanup(func() { h.close() })
	for i := range h.people {
		p := &person{device: fmt.Sprint("device", i)}
		acptest.Must(h.access.Add(p.device, web.CanAnswer))
		h.logsIn(p)
		h.people[i] = p
	}
	return h
}

func (h *house) open() {
	store := acptest.Must(hubstore.Open(h.t.Context(), hubstore.Options{Dir: filepath.Join(h.dir, "store")}))
	board := acptest.Must(hub.Open(h.t.Context(), store, hub.Options{Lease: 200 * time.Millisecond}))
	h.access = acptest.Must(web.OpenAccess(filepath.Join(h.dir, "access.json"), token))
	server := web.New(board, h.access, web.Options{})
	listens := httptest.NewServer(server)
	h.url, h.board = listens.URL, board
	h.close = func() { server.Close(); listens.Close(); board.Close(); store.Close() }
}

const token = "the-owner's-token-of-the-simulation"

// request makes a request; headers are pairs.
func (h *house) request(method, path, body string, headers ...string) (*http.Response, string) {
	r := acptest.Must(http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body)))
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	reply := acptest.Must(http.DefaultClient.Do(r))
	defer reply.Body.Close()
	return reply, string(acptest.Must(io.ReadAll(reply.Body)))
}

// loads is what a person's browser gets.
func (h *house) loads(p *person, path string) string {
	reply, text := h.request("GET", path, "", p.browser(h)...)
	require.Equal(h.t, 200, reply.StatusCode, text)
	return text
}

// does is a request of an agent that the hub takes.
func (h *house) does(q *theAsking, what string, v any) {
	reply, text := h.request("POST", "/conversations/"+q.conversation+"/questions/"+q.name+"/"+what, string(acptest.Must(json.Marshal(v))), "Authorization", "Bearer "+token, "Content-Type", "application/json")
	require.Equal(h.t, 200, reply.StatusCode, text)
}

// logsIn opens a login link.
func (h *house) logsIn(p *person) {
	reply, page := h.request("POST", "/login", "code="+acptest.Must(h.access.Code(p.device)), "Content-Type", inAForm, "Origin", "null", "Sec-Fetch-Site", "same-origin")
	require.Equal(h.t, 200, reply.StatusCode, page)
	p.cookie, _, _ = strings.Cut(reply.Header.Get("Set-Cookie"), ";")
	p.page = ofPage.FindStringSubmatch(page)[1]
}

const inAForm = "application/x-www-form-urlencoded"

var ofPage = regexp.MustCompile(` data-page="([^"]+)"`)

// browser is what a page that has logged in sends.
func (p *person) browser(h *house) []string {
	return []string{"Cookie", p.cookie, "Origin", h.url, "Acp-Bridge-Page", p.page}
}

func (h *house) note(what string, args ...any) { h.log = append(h.log, fmt.Sprintf(what, args...)) }

func (h *house) step() {
	p, c := h.people[h.r.IntN(len(h.people))], h.r.IntN(len(h.agents))
	tab := h.r.IntN(2)
	switch at := h.r.IntN(40); {
	case at < 11:
		h.agentAsks(c)
	case at < 20:
		h.look(p, tab)
	case at < 33:
		if cards := p.tabs[tab]; len(cards) > 0 {
			h.act(p, cards[h.r.IntN(len(cards))])
		}
	case at < 34:
		h.atOnce()
	case at < 36:
		h.withdraws(c)
	case at < 39: // it dies, or has lost its connection
		if a := h.agents[c]; a != nil {
			h.hangsUp(a)
			if h.r.IntN(2) == 0 {
				h.note("%s is dead", a.name)
				h.agents[c] = nil
			}
		}
	default:
		h.restarts()
	}
}

var (
	cardKey = regexp.MustCompile(` id="(q\w+)"`)
	aCard   = regexp.MustCompile(`(?s)<article class="card .*?</article>`)
	hidden  = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)"`)
	theEnd  = regexp.MustCompile(`data-seen="(\w+)"`)
)

// look loads the page, or what its script loads, into a tab.
func (h *house) look(p *person, tab int) {
	page := h.loads(p, []string{"/", "/cards"}[h.r.IntN(2)])
	p.tabs[tab] = nil
	shown := map[string]bool{}
	for _, text := range aCard.FindAllString(page, -1) {
		p.tabs[tab] = append(p.tabs[tab], h.reads(text))
		shown[p.tabs[tab][len(p.tabs[tab])-1].of.name] = true
	}
	h.note("%s looks at %d cards in tab %d", p.device, len(p.tabs[tab]), tab)
	for name, q := range h.askings {
		require.Equal(h.t, !q.over, shown[name], "%+v: a page has what is open, and nothing else", *q)
	}
}

// reads reads a card as a person does who believes it.
func (h *house) reads(text string) (c seenCard) {
	c.form, c.key = url.Values{}, cardKey.FindStringSubmatch(text)[1]
	for _, m := range hidden.FindAllStringSubmatch(text, -1) {
		if m[1] != "page" && m[1] != "seen" {
			c.form.Set(m[1], html.UnescapeString(m[2]))
		}
	}
	c.of = h.revisions[c.form.Get("revision")]
	require.NotNil(h.t, c.of, "nobody asked this: %s", text)
	require.Contains(h.t, text, c.of.text)
	for _, other := range texts {
		require.False(h.t, other != c.of.text && strings.Contains(text, other), "%q is in a card of %q", other, c.of.text)
	}
	if m := theEnd.FindStringSubmatch(text); m != nil {
		require.Contains(h.t, text, "last line of "+c.of.text, "the mark is there, and the end is not")
		c.end = m[1]
	}
	require.Equal(h.t, c.of.permission && !c.of.long, c.end != "", "what is folded has no mark, what is not folded has one")
	return c
}

// act is what a person does with a card that they see.
func (h *house) act(p *person, c seenCard) {
	h.serial++
	s := &saying{to: c.of, by: p, what: "answered", words: fmt.Sprintf("said-%d", h.serial)}
	form := url.Values{}
	maps.Copy(form, c.form)
	switch kind := h.r.IntN(5); {
	case kind == 0:
		s.what, s.words = "cancelled", ""
		form.Set("do", "cancel")
	case !c.of.permission:
		form.Set("t0", s.words)
	case kind == 1:
		s.what = "Reject"
		form.Set("a0", "1")
		form.Set("n0", s.words)
	default:
		s.what, s.words = "Allow", ""
		form.Set("a0", "0")
		if !h.sees(p, &c, form) {
			return
		}
	}
	h.says(s, form)
}

// sees has a person look at the end of what they allow. Some do not: they are not believed.
func (h *house) sees(p *person, c *seenCard, form url.Values) bool {
	if c.end == "" && h.r.IntN(2) == 0 {
		h.count["not seen"]++
		form.Set("seen", []string{"", strings.Repeat("0", 24), h.otherEnd(c)}[h.r.IntN(3)])
		code, text := h.post(p, form)
		before := slices.ContainsFunc(h.said, func(o *saying) bool { return o.to.same(c.of) && o.by == p && o.what == "Allow" })
		require.True(h.t, code >= 400 || before && c.of.over, "%s has not seen the end of %+v: %d %s", p.device, *c.of, code, text)
		h.note("%s allows what they have not seen: %d", p.device, code)
		return false
	}
	if c.end == "" { // they unfold it, if it is still there
		page := h.loads(p, "/cards?whole="+c.key)
		for _, text := range aCard.FindAllString(page, -1) {
			if m := theEnd.FindStringSubmatch(text); m != nil && strings.Contains(text, `name="revision" value="`+c.form.Get("revision")+`"`) {
				require.Contains(h.t, text, "last line of "+c.of.text)
				c.end = m[1]
			}
		}
		require.Equal(h.t, !c.of.over, c.end != "", "what is open can be seen to its end")
	}
	form.Set("seen", c.end)
	return c.end != ""
}

// otherEnd is the mark of another card that somebody sees.
func (h *house) otherEnd(c *seenCard) string {
	for _, p := range h.people {
		for _, o := range slices.Concat(p.tabs[0], p.tabs[1]) {
			if o.end != "" && o.of != c.of {
				return o.end
			}
		}
	}
	return "none"
}

// post sends a form as the page does, or a browser without its script.
func (h *house) post(p *person, form url.Values) (int, string) {
	headers := append(p.browser(h), "Content-Type", inAForm, "Accept", "application/json")
	if form.Get("page") != "" {
		headers[len(headers)-1] = "text/html"
	}
	reply, text := h.request("POST", "/answer", form.Encode(), headers...)
	return reply.StatusCode, text
}

// says sends what a person says. It counts if what they saw is open; else they are told.
func (h *house) says(s *saying, form url.Values) {
	if h.r.IntN(3) == 0 { // without the script
		form.Set("page", s.by.page)
	}
	code, text := h.post(s.by, form)
	h.note("%s says %s %q to %s of %s %q: %d", s.by.device, s.what, s.words, s.to.name, s.to.conversation, s.to.text, code)
	again := func(o *saying) bool { return o.to.same(s.to) && o.by == s.by && o.what == s.what && o.words == s.words }
	switch {
	case !s.to.over:
		require.Equal(h.t, 200, code, text)
		h.accepted(s)
		if h.r.IntN(4) == 0 { // once more, since nothing seemed to happen
			h.count["said twice"]++
			code, text := h.post(s.by, form)
			require.Equal(h.t, 200, code, text)
		}
	case slices.ContainsFunc(h.said, again):
		require.Contains(h.t, []int{200, 409, 412}, code, text)
	default:
		h.count["late"]++
		require.Equal(h.t, 409, code, text)
	}
}

// accepted is an answer that the hub has: who waits for it gets it.
func (h *house) accepted(s *saying) {
	h.said = append(h.said, s)
	s.to.over = true
	for _, a := range h.agents {
		if a != nil && a.waits && a.asks == s.to {
			h.gets(a)
		}
	}
}

// atOnce has two people say something to the same card at the same time: one of them is
// late.
func (h *house) atOnce() {
	one, two := h.people[0], h.people[1]
	h.look(one, 0)
	h.look(two, 0)
	if len(one.tabs[0]) == 0 {
		return
	}
	h.count["two at once"]++
	card := one.tabs[0][h.r.IntN(len(one.tabs[0]))].of // each may have it in another place
	sayings, codes := make([]*saying, 2), make([]int, 2)
	var both sync.WaitGroup
	for n, p := range []*person{one, two} {
		h.serial++
		c := p.tabs[0][slices.IndexFunc(p.tabs[0], func(c seenCard) bool { return c.of == card })]
		sayings[n] = &saying{to: c.of, by: p, what: "answered", words: fmt.Sprintf("said-%d", h.serial)}
		if c.form.Set("t0", sayings[n].words); c.of.permission {
			sayings[n].what = "Reject"
			c.form.Del("t0")
			c.form.Set("a0", "1")
			c.form.Set("n0", sayings[n].words)
		}
		both.Go(func() { codes[n], _ = h.post(p, c.form) })
	}
	both.Wait()
	p := slices.Index(codes, 200)
	require.ElementsMatch(h.t, []int{200, 409}, codes, "of two, one is first")
	h.note("%s was first to say %q to %s", sayings[p].by.device, sayings[p].words, sayings[p].to.name)
	h.accepted(sayings[p])
	one.tabs[0], two.tabs[0] = nil, nil
}
