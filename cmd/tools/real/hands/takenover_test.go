package hands_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// An agent's next process takes over what its predecessor asked: the card stays, with what
// was typed and picked, what was seen, what is pending, and the focus. Nothing else has its
// mark of what was seen.
func TestACardThatIsTakenOverStaysInUse(t *testing.T) {
	t.Parallel()
	command := hub.Asking{Kind: "permission", Detail: fmt.Sprintf(`{"command":%s}`, quoted(strings.Repeat("echo working\n", 12)+"rm -rf build")),
		About: about.About{Tool: about.Tool{Kind: "execute", Picks: []string{"allow_once", "reject_once"}}},
		Call:  convert.Call{Name: "Bash", Questions: []convert.Question{{Text: "rm", Closed: true, Options: []convert.Option{{Label: "Allow"}, {Label: "Reject"}}}}}}
	for name, c := range map[string]struct {
		hub.Asking
		begin, goOn func(p *tab)
		want        convert.Answer
	}{
		"own words": {hub.Asking{Call: convert.Call{Questions: []convert.Question{db}}},
			func(p *tab) { p.click(".own"); p.types("Duck") },
			func(p *tab) {
				p.types("D")
				p.reload()
				p.until(`document.querySelector(".live .own").value === "DuckD"`)
				p.click(".own")
				p.types("B")
				p.click("button[value=answer]")
			}, convert.Answer{Text: "DuckDB"}},
		"a pick and a note": {hub.Asking{Call: convert.Call{Questions: []convert.Question{db}}},
			func(p *tab) { p.click(".note summary"); p.types("for "); p.click(".option label") },
			func(p *tab) { p.click(".note textarea"); p.types("now"); p.click("button[value=answer]") }, convert.Answer{Selected: []string{"PostgreSQL"}, Note: "for now"}},
		"a pick that is pending": {hub.Asking{Call: convert.Call{Questions: []convert.Question{db}}},
			func(p *tab) { p.click(".option label"); p.until(`document.querySelector(".sending:not([hidden])")`) },
			func(p *tab) { p.click(".now") }, convert.Answer{Selected: []string{"PostgreSQL"}}},
		"a reason": {command,
			func(p *tab) { p.click(".acts .reject"); p.types("use ") },
			func(p *tab) { p.types("make"); p.click(".reason button") }, convert.Answer{Selected: []string{"Reject"}, Note: "use make"}},
		"what was seen": {command,
			func(p *tab) {
				p.eval(`document.querySelector(".thing .end").scrollIntoView({ block: "center" }); 0`)
				p.until(`document.querySelector(".acts .allow:enabled")`)
			},
			func(p *tab) { p.click(".acts .allow") }, convert.Answer{Selected: []string{"Allow"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newChromium(t), newSite(t, hub.Options{Lease: 2 * time.Second})
			a := c.Asking
			a.Conversation, a.Agent, a.Dialect, a.Again, a.Call.ID = "c1", "Claude Code", "bridge", true, "toolu_1"
			a.Asker, a.Name = "one", "one"
			r := s.post(a)
			p := s.visit(b, 390, false)
			p.holdsBack(s.url)
			c.begin(p)
			p.until(`!document.querySelector(".moved")`)
			p.eval(`window.card = document.querySelector(".card"); window.at = document.activeElement;
				window.fetch = ((ask) => async (url, o) => {
					const r = await ask(url, o), text = r.text.bind(r);
					r.text = async () => { const t = await text(); setTimeout(() => { window.shown = t; }); return t; };
					return r;
				})(fetch); 0`)
			a.Asker, a.Name = "two", "two"
			next := s.post(a)
			require.Greater(t, next.Revision, r.Revision)
			p.until(fmt.Sprintf(`window.shown?.includes('name="revision" value="%d"')`, next.Revision))
			require.Equal(t, "true", p.eval(`card.isConnected && document.querySelectorAll(".card").length === 1 && document.activeElement === at`))
			twin := s.post(hub.Asking{Conversation: "c2", Kind: a.Kind, Dialect: "bridge", Detail: a.Detail, About: a.About, Call: a.Call})
			require.Equal(t, next.Fingerprint(), twin.Fingerprint())
			p.until(`document.querySelectorAll(".card").length === 2`)
			require.Equal(t, "true", p.eval(`(([one, two]) => !one || one.dataset.seen !== two.dataset.seen)(document.querySelectorAll("[data-seen]"))`))
			_ = s.cancel(twin, "phone")
			p.until(`document.querySelectorAll(".card:not(.over)").length === 1`)
			c.goOn(p)
			require.Equal(t, []convert.Answer{c.want}, s.answered(next))
		})
	}
}

// So does the form of a page without the script, if something was wrong with it.
func TestAFormThatIsTakenOverKeepsItsWords(t *testing.T) {
	t.Parallel()
	s := newSite(t, hub.Options{Lease: 2 * time.Second})
	a := hub.Asking{Conversation: "c1", Asker: "one", Name: "q", Again: true, Dialect: "bridge", Call: convert.Call{ID: "toolu_1", Questions: []convert.Question{db}}}
	r := s.post(a)
	a.Asker = "two"
	require.Greater(t, s.post(a).Revision, r.Revision)
	encode := base64.RawURLEncoding.EncodeToString
	form := url.Values{"conversation": {encode([]byte("c1"))}, "question": {encode([]byte("q"))}, "revision": {fmt.Sprint(r.Revision)}, "asked": {r.Fingerprint()}, "n0": {"for now"}}
	require.Contains(t, s.expect(400, "POST", "/answer", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html"), "for now")
}

// Many wait, a line each. Where one is taken over that somebody reads, what is sent is what
// was shown; where one of the list that may be allowed together is, it leaves the list.
func TestOneOfManyIsTakenOver(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	list, ends := make([]*hub.Record, 14), make([]context.CancelFunc, 14)
	asks := func(i int, asker string) {
		command := fmt.Sprintf("echo %d", i)
		list[i] = s.permit(fmt.Sprint("c", i), "Bash", "execute", "", map[string]any{"command": command}, func(a *hub.Asking) {
			a.Asker, a.Name, a.Again = asker, asker, true
		})
		var ctx context.Context
		ctx, ends[i] = context.WithCancel(t.Context())
		go s.board.Wait(ctx, list[i]) // its process is there
	}
	for i := range list {
		asks(i, "one")
	}
	p := s.visit(b, 1100, false)
	p.holdsBack(s.url)
	p.keepsReceipts()
	p.until(`document.querySelectorAll(".row").length === 14`)
	card := func(i int, more string) string { return fmt.Sprintf(`[data-talk="/conversations/c%d"]%s`, i, more) }
	reads := func(i int) {
		t.Helper()
		p.click(card(i, " .brief"))
		p.until(fmt.Sprintf(`document.querySelector('%s')`, card(i, ":not(.row) .acts .allow:enabled")))
	}
	takesOver := func(i int) {
		t.Helper()
		was := list[i].Revision
		ends[i]()
		asks(i, "two")
		require.Greater(t, list[i].Revision, was)
	}
	knows := func(i int) {
		t.Helper()
		p.until(fmt.Sprintf(`document.querySelector('%s')`, card(i, fmt.Sprintf(`[data-revision^="%d-"]`, list[i].Revision))))
	}
	reads(0)
	takesOver(0)
	knows(0)
	require.Equal(t, "1", p.eval(`document.querySelectorAll(".card:not(.row)").length`))
	p.click(card(0, " .acts .allow:enabled"))
	require.Equal(t, []string{"Allow"}, s.answered(list[0])[0].Selected)

	for _, i := range []int{5, 6, 7} {
		reads(i)
	}
	p.until(`document.querySelector("main .bulk:not([hidden])")`)
	p.insists(`document.querySelector("#bulk[open]")`, func() { p.click("main .bulk") })
	named := func(want string) {
		t.Helper()
		p.until(fmt.Sprintf(`[...document.querySelectorAll("#bulk label:has(:checked) > span")].map((e) => e.textContent).join() === %q`, want))
	}
	named("echo 1,echo 5,echo 6,echo 7") // the next one was open, too
	takesOver(6)
	knows(6)
	named("echo 1,echo 5,echo 7")
	p.insists(`document.querySelector(".many")`, func() { p.waits(600); p.click("#bulk .allow") })
	takesOver(7) // what is pending was meant for it: the same call, as it was shown
	s.ask("c99", db)
	p.until(`document.querySelector('[data-talk="/conversations/c99"]')`)
	p.click(".many .now")
	for _, i := range []int{1, 5, 7} {
		require.Equal(t, []string{"Allow"}, s.answered(list[i])[0].Selected)
	}
	s.open(append(slices.Clone(list[2:5]), list[6])...)
	s.open(list[8:]...)
}
