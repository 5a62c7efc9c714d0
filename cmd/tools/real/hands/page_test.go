package hands_test

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// visit opens the page as a person does: by the login link.
func (s *site) visit(b *chromium, width int, dark bool) *tab {
	s.t.Helper()
	code, err := s.access.Code(web.Owner)
	require.NoError(s.t, err)
	p := b.newTab(width, dark)
	p.open(s.url + "/login?code=" + code)
	p.click("main button")
	p.until(`document.querySelector("#cards") && document.readyState === "complete"`)
	return p
}

// phone is the page on a phone.
func (s *site) phone(b *chromium) *tab {
	s.t.Helper()
	p := s.visit(b, 390, false)
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true})
	return p
}

func (s *site) ask(conversation string, questions ...convert.Question) *hub.Record {
	s.t.Helper()
	return s.post(hub.Asking{Conversation: conversation, Agent: "Claude Code", Machine: "laptop", Dir: "/src/shop",
		Dialect: "bridge", Call: convert.Call{ID: "toolu_" + conversation, Questions: questions}})
}

var (
	db = convert.Question{Text: "Which database should we use?", Header: "Database", Options: []convert.Option{
		{Label: "PostgreSQL", Description: "Battle-tested relational DB", Preview: "services:\n  db: postgres"}, {Label: "SQLite", Description: "Lightweight, file-based"}}}
	extras = convert.Question{Text: "Which features do you want?", Header: "Features", MultiSelect: true, Options: []convert.Option{
		{Label: "Auth", Description: "Users and sessions"}, {Label: "Logs"}, {Label: "Mail"}}}
	free = convert.Question{Text: "What is it called?"}
)

// answered waits until a question has its answers.
func (s *site) answered(r *hub.Record) []convert.Answer {
	s.t.Helper()
	reader := s.board.Read(1)
	for timeout := time.After(patience); ; {
		_, more := reader.Next()
		now, err := s.board.Find(r.Conversation, r.ID)
		require.NoError(s.t, err)
		if !now.Open() {
			require.Equal(s.t, "answered", now.End.Outcome)
			return now.End.Answers
		}
		select {
		case <-more:
		case <-timeout:
			s.t.Fatal("it was not answered")
		}
	}
}

func TestPageByMouse(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	p := s.visit(b, 360, false)
	p.until(`document.querySelector(".count").textContent === "Nothing waiting"`)
	r := s.ask("c1", db, extras, free)
	p.until(`document.querySelector(".card") && document.title === "1 question waiting · acp-bridge"`)
	p.shot("phone-light")
	require.Equal(t, "true", p.eval(`document.documentElement.scrollWidth <= 360`), "nothing is wider than a phone")
	p.click(`input[name=a0][value="1"]`)
	p.click(`input[name=a1][value="0"]`)
	p.click(`input[name=a1][value="2"]`)
	p.click(`textarea[name=t1]`)
	p.words("and <b>billing</b>")
	p.click(`.note summary`)
	p.click(`textarea[name=n0]`)
	p.words("for now")
	p.click(`textarea[name=t2]`)
	p.words("shop")
	p.click(`button[value=answer]`)
	require.Equal(t, []convert.Answer{
		{Selected: []string{"SQLite"}, Note: "for now"}, {Selected: []string{"Auth", "Mail"}, Text: "and <b>billing</b>"}, {Text: "shop"},
	}, s.answered(r))
	p.until(`document.title === "acp-bridge" && document.querySelector(".count").textContent === "Nothing waiting"`)
	p.open(s.url + "/history?q=billing")
	p.until(`document.body.innerText.includes("by owner") && document.body.innerText.includes("<b>billing</b>")`)
	p.shot("history")
}

func TestPageByKeyboard(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.ask("c1", db, extras)
	p := s.visit(b, 1440, true)
	p.until(`document.querySelector(".card")`)
	p.shot("desktop-dark")
	p.tabTo(`document.activeElement.name === "a0"`)
	p.key("ArrowDown")
	p.tabTo(`document.activeElement.name === "a1"`)
	p.key(" ")
	p.tabTo(`document.activeElement.value === "answer"`)
	p.key("Enter")
	answers := s.answered(r)
	require.Equal(t, [][]string{{"SQLite"}, {"Auth"}}, [][]string{answers[0].Selected, answers[1].Selected})
}

func TestPageInTwoTabs(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.ask("c1", db)
	one, two := s.visit(b, 360, true), s.visit(b, 1440, false)
	two.until(`document.querySelector(".card")`)
	one.until(`document.querySelector(".card")`)
	one.click(`input[name=a0][value="0"]`)
	one.click(`button[value=answer]`)
	s.answered(r)
	two.until(`document.querySelector("#news").textContent === "A question was answered by owner"`)
	two.shot("answered-elsewhere")
	two.until(`!document.querySelector(".card")`)
	_, err := s.board.Answer(t.Context(), hub.Ref{Conversation: "c1"}, func(*hub.Record) ([]convert.Answer, error) { return nil, nil }, "x")
	require.ErrorIs(t, err, hub.ErrSettled)
}

// An answer that the agent can no longer have does not look done.
func TestPageSaysWhatCannotBeDelivered(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.ask("c1", db)
	p := s.visit(b, 360, false)
	p.until(`document.querySelector(".card")`)
	p.click(`input[name=a0][value="0"]`)
	p.click(`button[value=answer]`)
	s.answered(r)
	_, err := s.board.Refuse(t.Context(), r.Ref(), "it was cancelled before by editor")
	require.NoError(t, err)
	p.until(`document.querySelector("#news").textContent === "A question was answered by owner, but it could not be delivered: it was cancelled before by editor"`)
}

func TestPageKeepsWhatWasTyped(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.ask("c1", db, extras)
	p := s.visit(b, 360, false)
	p.until(`document.querySelector(".card")`)
	p.click(`input[name=a0][value="0"]`)
	p.click(`textarea[name=t1]`)
	p.words("half a tho")
	p.reload()
	p.until(`document.querySelector("textarea[name=t1]")?.value === "half a tho" && document.querySelector("input[name=a0]").checked`)
	// A question that comes meanwhile takes nothing away.
	s.ask("c2", free)
	p.until(`document.querySelectorAll(".card").length === 2`)
	require.Equal(t, `"half a tho"`, p.eval(`document.querySelector("textarea[name=t1]").value`))
	p.click(`textarea[name=t1]`)
	p.eval(`document.activeElement.setSelectionRange(99, 99)`)
	p.words("ught")
	// What was picked is looked at again: its preview may be under the bar now.
	p.insists(`document.querySelector(".card.over")`, func() {
		p.eval(`document.querySelector(".preview").scrollIntoView({ block: "center" }); 0`)
		time.Sleep(500 * time.Millisecond)
		if p.try(`document.querySelector(".card:not(.over) textarea[name=t1]").closest("form").querySelector("button[value=answer]").focus() ?? true`) {
			p.key("Enter")
		}
	})
	require.Equal(t, []convert.Answer{{Selected: []string{"PostgreSQL"}}, {Text: "half a thought"}}, s.answered(r))
}

// Each of two tabs keeps its own words, also those that it has emptied; another one begins
// with the last that were written. A logout takes all of them away.
func TestEachTabKeepsItsOwnWords(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.ask("c1", extras, convert.Question{Text: "What is the password?"})
	one, two := s.visit(b, 390, false), s.visit(b, 390, false)
	own := func(p *tab, want string) {
		t.Helper()
		p.until(fmt.Sprintf(`document.querySelector(".live .card .own")?.value === %q`, want))
	}
	types := func(p *tab, text string) {
		t.Helper()
		p.click(".own")
		p.eval(`document.activeElement.select()`)
		p.words(text)
	}
	own(one, "")
	own(two, "")
	one.click("[name=a0]")
	types(one, "of the first")
	types(two, "of the second")
	two.click("[name=t1]")
	two.words("hunter2")
	for range 2 {
		one.reload()
		own(one, "of the first")
		require.Equal(t, "true", one.eval(`document.querySelector("[name=a0]").checked`))
		two.reload()
		own(two, "of the second")
		require.Equal(t, "false", two.eval(`document.querySelector("[name=a0]").checked`))
		require.NotContains(t, two.eval(`JSON.stringify([{ ...localStorage }, { ...sessionStorage }])`), "hunter2")
	}
	three := s.visit(b, 390, false)
	own(three, "of the second")
	three.click(".own")
	three.eval(`document.activeElement.select()`)
	three.key("Backspace")
	own(three, "")
	four := s.visit(b, 390, false) // those were of the second, which has them
	own(four, "")
	types(three, "x")
	three.key("Backspace")
	three.reload()
	own(three, "")
	one.reload()
	own(one, "of the first")
	types(one, "of the first, again")
	three.click(".menu summary")
	three.click("#logout button")
	three.until(`!document.querySelector("#cards")`)
	for _, p := range []*tab{one, two, three} {
		p.until(`!JSON.stringify([{ ...localStorage }, { ...sessionStorage }]).includes("draft")`)
	}
	s.open(r)
}

// A question that somebody answers stays, however many come meanwhile.
func TestPageWithMoreThanItShows(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	r, other := s.ask("c1", db, extras), s.ask("c2", db)
	p := s.visit(b, 360, false)
	p.until(`document.querySelectorAll(".card").length === 2`)
	p.click(`textarea[name=t1]`)
	p.words("half a thought")
	p.eval(`document.activeElement.blur()`)
	for i := range 60 {
		s.ask(fmt.Sprint("more", i), free)
	}
	p.until(`document.title === "62 questions waiting · acp-bridge" && document.querySelectorAll(".card:not(.over)").length === 62 && document.querySelectorAll(".stub").length === 12`)
	require.Equal(t, `"half a thought"`, p.eval(`document.querySelector("textarea[name=t1]").value`))
	require.NotContains(t, p.eval(`document.querySelector("#news").textContent`), "A question was", "all of them wait")
	_, err := s.board.Cancel(t.Context(), other.Ref(), "phone")
	require.NoError(t, err)
	p.click(`input[name=a0][value="1"]`)
	p.insists(`!document.querySelector(".card:not(.over) textarea[name=t1]")`, func() {
		if p.try(`document.querySelector(".card:not(.over) textarea[name=t1]").closest("form").querySelector("button[value=answer]").focus() ?? true`) {
			p.key("Enter")
		}
	})
	require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}, {Text: "half a thought"}}, s.answered(r))
}

func TestPageWithHostileText(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	const x = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>` + "\x1b[31m\u202eevil"
	label := x + strings.Repeat("W", 5000)
	r := s.ask("c1", convert.Question{Text: x + strings.Repeat("long ", 20_000), Header: x, Options: []convert.Option{{Label: label, Description: x, Preview: x}, {Label: "b"}}})
	for _, width := range []int{360, 1440} {
		p := s.visit(b, width, false)
		p.until(`document.querySelector(".card")`)
		require.Equal(t, "true", p.eval(fmt.Sprintf(`document.documentElement.scrollWidth <= %d`, width)))
		require.Equal(t, "true", p.eval(`document.title === "1 question waiting · acp-bridge"`))
		require.Equal(t, "0", p.eval(`document.querySelectorAll("img, #cards script").length`))
		require.Equal(t, "false", p.eval(`/[\u202e\u001b]/.test(document.body.innerText)`))
		p.shot(fmt.Sprintf("hostile-%d", width))
		if width == 1440 {
			p.click(`input[name=a0][value="0"]`)
			p.click(`button[value=answer]`)
		}
	}
	require.Equal(t, label, s.answered(r)[0].Selected[0], "the answer is the label itself, as the agent wrote it")
}

func TestPageSaysWhatIsMissing(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	s.ask("c1", db)
	p := s.visit(b, 360, false)
	p.until(`document.querySelector(".card")`)
	p.click(`button[value=answer]`)
	p.until(`document.querySelector(".card .problem").textContent === "Nothing is answered yet."`)
	p.click(".own")
	p.words("DuckDB")
	p.until(`document.querySelector(".card .problem").hidden && !document.querySelector(".missing")`) // it is not true any more
	p.eval(`(() => { const own = document.querySelector(".own"); own.value = ""; own.dispatchEvent(new Event("input", { bubbles: true })); })()`)
	p.click(`button[value=cancel]`)
	p.until(`document.querySelector(".receipt b")?.textContent === "Dismissed"`)
}

// Somebody types an answer, and it is given elsewhere: the keys that are still on
// their way answer nothing else.
func TestPageKeysOfAQuestionThatEnded(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	other, r := s.ask("c1", db), s.ask("c2", free)
	p := s.visit(b, 360, false)
	p.until(`document.querySelectorAll(".card").length === 2`)
	p.click(`textarea[aria-label="Your answer"]`)
	p.words("sho")
	_, err := s.board.Answer(t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{{Text: "store"}}, nil }, "phone")
	require.NoError(t, err)
	for _, at := range []string{`document.querySelector("#news").textContent === "A question was answered by phone"`, `document.querySelectorAll(".card").length === 1`} {
		p.until(at)
		require.Equal(t, `"ARTICLE"`, p.eval(`document.activeElement.tagName`), at)
		for _, k := range []string{" ", "ArrowDown", "Enter", " ", "Enter"} {
			p.key(k)
		}
	}
	require.Equal(t, "0", p.eval(`document.querySelectorAll("input:checked").length`))
	require.Equal(t, "true", p.eval(`document.querySelector(".card .problem").hidden`), "nothing was sent")
	now := s.find(other.Conversation, other.ID)
	require.True(t, now.Open())
	p.tabTo(`document.activeElement.name === "a0"`)
}

// A list that was made before a question ended may come after it.
func TestPageWithAnOldList(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.ask("c1", db)
	p := s.visit(b, 360, false)
	p.until(`document.querySelector(".card")`)
	p.eval(`(async () => {
		const real = window.fetch, reply = await real("/cards"), old = await reply.text();
		window.fetch = async (url, o) => url.startsWith("/cards")
			? { ok: true, text: async () => { setTimeout(() => { window.shown = true; }); return old; } } : real(url, o);
	})()`)
	_, err := s.board.Cancel(t.Context(), r.Ref(), "phone")
	require.NoError(t, err)
	p.until(`window.shown && document.querySelector("#news").textContent === "A question was dismissed by phone"`)
	require.Equal(t, "0", p.eval(`document.querySelectorAll(".card:not(.over)").length`))
	p.until(`!document.querySelector(".card")`)
}

// A new question moves the others down. What is in use stays, and a click on what
// has just come under the pointer does nothing.
func TestPageThatMovesUnderThePointer(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	for i := range 5 {
		s.ask(fmt.Sprint("before", i), db)
	}
	p := s.visit(b, 360, false)
	p.until(`document.querySelectorAll(".card").length === 5`)
	p.eval(`performance.now = () => 1e12`) // what moves from now on has moved just now
	p.eval(`[...document.querySelectorAll("button[value=cancel]")].at(-1).focus(); window.at = document.activeElement.getBoundingClientRect().top`)
	r, err := s.board.Ask(t.Context(), hub.Asking{Conversation: "before0", Agent: "Claude Code", Machine: "laptop", Dir: "/src/shop", Dialect: "bridge", Call: convert.Call{ID: "second", Questions: []convert.Question{db}}})
	require.NoError(t, err)
	p.until(`document.querySelectorAll(".card").length === 6`)
	require.Equal(t, "true", p.eval(`Math.abs(document.activeElement.getBoundingClientRect().top - at) < 1`))
	for _, selector := range []string{`input[name=a0][value="0"]`, `button[value=answer]`, `button[value=cancel]`} {
		require.Equal(t, "false", p.eval(fmt.Sprintf(`document.querySelectorAll(".card")[1].querySelector(%q).dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, detail: 1}))`, selector)), selector)
	}
	require.Equal(t, `"The page has just moved. Click again."`, p.eval(`document.querySelector("#news").textContent`))
	require.Equal(t, "0", p.eval(`document.querySelectorAll("input:checked").length`))
	p.reload()
	p.until(`document.querySelectorAll(".card").length === 6`)
	p.click(`.card:nth-of-type(2) input[name=a0][value="0"]`)
	p.click(`.card:nth-of-type(2) button[value=answer]`)
	require.Equal(t, []string{"PostgreSQL"}, s.answered(r)[0].Selected)
}

// Without JavaScript one question is answered with a plain form.
func TestPageWithoutJavaScript(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	r := s.ask("c1", extras)
	code, err := s.access.Code(web.Owner)
	require.NoError(t, err)
	p := b.newTab(360, false)
	p.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	p.mute = true
	p.open(s.url + "/login?code=" + code)
	p.click("main button")
	p.until(`document.querySelector("article.card")`)
	p.click(`button[value=answer]`)
	p.until(`document.querySelector("h1").textContent === "Not answered"`)
	p.click(`input[name=a0][value="1"]`)
	p.click(`button[value=answer]`)
	require.Equal(t, []string{"Logs"}, s.answered(r)[0].Selected)
	p.until(`document.querySelector(".count").textContent === "Nothing waiting"`)
}

// restarting is a hub that can be stopped, and started again at its address with what it had.
func restarting(t *testing.T) (start func() (*site, func())) {
	dir, address := t.TempDir(), "127.0.0.1:0"
	return func() (*site, func()) {
		store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: dir})
		require.NoError(t, err)
		board, err := hub.Open(t.Context(), store, hub.Options{})
		require.NoError(t, err)
		access, err := web.OpenAccess(filepath.Join(dir, "access.json"), token)
		require.NoError(t, err)
		server := web.New(board, access, web.Options{})
		l, err := net.Listen("tcp", address)
		require.NoError(t, err)
		address = l.Addr().String()
		h := &http.Server{Handler: server}
		go func() { _ = h.Serve(l) }()
		u := url.URL{Scheme: "http", Host: address}
		return &site{t, u.String(), board, access, server}, func() { server.Close(); h.Close(); board.Close(); store.Close() }
	}
}

func TestPageWhenTheHubIsRestarted(t *testing.T) {
	b, start := newChromium(t), restarting(t)
	s, stop := start()
	r := s.ask("c1", free)
	p := s.visit(b, 360, false)
	p.until(`document.querySelector(".card")`)
	p.click(`textarea[name=t0]`)
	p.words("shop")
	stop()
	p.until(`document.querySelector("#link").textContent && !document.querySelector("#link").hidden`)
	p.shot("hub-gone")
	s, stop = start()
	defer stop()
	p.until(`document.querySelector("#link").hidden`)
	require.Equal(t, `"shop"`, p.eval(`document.querySelector("textarea[name=t0]").value`))
	p.click(`button[value=answer]`)
	require.Equal(t, "shop", s.answered(r)[0].Text)
}
