package hands_test

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// planned has Claude Code ask for a plan, which can be edited. The channel gets what it is told.
func (s *hooked) planned() (*hub.Record, chan string) {
	return s.hold(fmt.Sprintf(`{"plan":%s,"planFilePath":"/home/anna/.claude/plans/quiet-river.md"}`, quoted(plan)))
}

// sends is the form of a card, as another client sends it.
func (p *tab) sends(r *hub.Record, plan string) string {
	return url.Values{"conversation": {b64(r.Conversation)}, "question": {b64(r.ID)}, "revision": {strconv.FormatUint(r.Revision, 10)}, "asked": {r.Fingerprint()},
		"seen": {strings.Trim(p.eval(`document.querySelector(".card:not(.over) .end").dataset.seen`), `"`)}, "a0": {"0"}, "plan": {plan}}.Encode()
}

// An edited plan is the plan: with edits in the field, the large Yes says that there are
// some, and approves nothing. So does the hub, whoever sends them.
func TestAnEditedPlanIsThePlan(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newHooked(t)
	r, told := s.planned()
	p := s.visit(b, 390, false)
	p.until(`!document.querySelector(".acts .allow").disabled`)
	require.Equal(t, "false", p.eval(`document.body.innerText.includes("planFilePath")`))
	p.click(".dots")
	p.click(".edit summary")
	p.until(`document.activeElement.matches(".edit textarea")`)
	p.eval(`document.activeElement.setSelectionRange(1e6, 1e6)`)
	p.types("4. Tell Anna")
	p.click(".acts .allow")
	p.until(`document.querySelector(".card .problem").textContent.includes("edited the plan")`)
	p.reload()
	p.until(`document.querySelector(".edit[open] textarea")?.value.endsWith("4. Tell Anna")`) // it is kept, and in sight
	p.until(`!document.querySelector(".acts .allow").disabled`)
	p.click(".acts .allow")
	p.until(`document.querySelector(".card .problem").textContent.includes("edited the plan")`)

	post := []string{"Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json"}
	require.Contains(t, s.expect(400, "POST", "/answer", p.sends(r, plan+"4. Tell Anna"), post...), "the plan was edited")
	require.Contains(t, s.expect(400, "POST", "/answer", p.sends(r, plan+"4. Tell Anna"), post[:2]...), "4. Tell Anna", "without the script, the edits are there again")
	s.open(r)
	p.keepsReceipts()
	p.click(".edit button")
	require.Contains(t, <-told, "4. Tell Anna")
	p.until(`document.querySelector(".receipt b")?.textContent === "Approved as you edited it"`)
}

// An edited plan that is taken back leaves the edits on the page, also beside the next one.
func TestEditsOfAPlanThatIsTakenBack(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newHooked(t)
	takeBack := func(r *hub.Record) {
		acptest.Must(s.board.TakeBack(t.Context(), r.Ref(), convert.Outcome{Status: convert.Withdrawn}, ""))
	}
	r, _ := s.planned()
	p := s.visit(b, 390, false)
	p.keepsReceipts()
	p.click(".dots")
	p.click(".edit summary")
	p.until(`document.activeElement.matches(".edit textarea")`)
	p.eval(`document.activeElement.setSelectionRange(1e6, 1e6)`)
	p.types("4. Tell Anna")
	takeBack(r)
	p.until(`document.querySelector(".card.over + .unsent textarea")?.value.endsWith("4. Tell Anna")`)
	p.until(seesAll(".unsent textarea"))
	next, told := s.planned()
	p.until(`document.querySelector(".card:not(.over) .acts")`)
	require.Equal(t, "true", p.eval(`document.querySelector(".unsent textarea").value.endsWith("4. Tell Anna") && !document.querySelector(".card:not(.over) .edit textarea").value.includes("Anna")`))
	takeBack(next)
	<-told
}

// So are other words that were typed and not sent: they stay when the receipt has gone, until
// their person discards them. A password is not among them.
func TestWordsOfAQuestionThatEndedStay(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	reason := s.permit("c1", "Bash", "execute", "", map[string]any{"command": "make"})
	asked := s.ask("c2", db, convert.Question{Text: "What is the password?"})
	_, form := s.serverForm("c3", `{"type":"object","properties":{"f":{"type":"integer","default":7},"g":{"type":"integer","default":9}}}`)
	alone := s.ask("c4", extras) // nothing is typed in it
	p := s.visit(b, 390, false)
	p.eval(`window.going = []; window.setTimeout = ((set) => (f, ms) => ms === 6000 ? (going.push(f), 0) : set(f, ms))(setTimeout); 0`)
	p.click(`[data-talk$=c1] .acts .reject`)
	p.words("not on a Friday")
	p.click(`[data-talk$=c2] .note summary`)
	p.words("for now")
	p.click(`[data-talk$=c2] .own`)
	p.words("DuckDB")
	p.click(`[data-talk$=c2] [name=t1]`)
	p.words("hunter2")
	p.click(`[data-talk$=c3] [name=t0]`)
	p.words("1")
	p.click(`[data-talk$=c4] .option label`)
	for _, r := range []*hub.Record{reason, asked, form, alone} {
		_, err := s.board.Cancel(t.Context(), r.Ref(), "phone")
		require.NoError(t, err)
	}
	const words = `[...document.querySelectorAll(".unsent textarea")].map((e) => e.value)`
	p.until(`going.length === 4 && document.querySelectorAll(".unsent").length === 3`)
	p.eval(`going.forEach((f) => f()); 0`)
	p.until(`!document.querySelector(".card") && document.querySelector(".nothing, .past")`)
	s.ask("c5", db) // a list that comes later takes none of it away
	p.until(`document.querySelector("[data-talk$=c5]")`)
	require.JSONEq(t, `["not on a Friday", "DuckDB\n\nfor now", "71"]`, p.eval(words))
	require.Equal(t, "true", p.eval(`[...document.querySelectorAll(".unsent")].every((e) => e.checkVisibility())`))
	require.Equal(t, "true", p.eval(`document.querySelector(".unsent").innerText.startsWith("What you wrote was not sent · make\n")`), "it says what they were for")
	p.shot("unsent")
	for left := range 3 {
		p.until(`!document.querySelector(".moved")`)
		p.click(".unsent button")
		p.until(fmt.Sprintf(`document.querySelectorAll(".unsent").length === %d`, 2-left))
	}
	require.Equal(t, "1", p.eval(`document.querySelectorAll(".lane").length`))
}

// A plan that is as it was, in the line ends of a form, too, is approved.
func TestAPlanAsItWas(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newHooked(t)
	r, told := s.planned()
	p := s.visit(b, 390, false)
	p.until(`!document.querySelector(".acts .allow").disabled`)
	s.expect(200, "POST", "/answer", p.sends(r, strings.ReplaceAll(plan, "\n", "\r\n")), "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
	require.Contains(t, <-told, `"allow"`)

	odd := newHooked(t) // what a field cannot hold is no edit
	_, told = odd.hold(`{"plan":"one\rtwo\r\nthree\u0000"}`)
	p = odd.visit(b, 390, false)
	p.click(".acts .allow:enabled")
	require.Contains(t, <-told, `"allow"`)
}

// A password that was typed and not sent is in no storage of the browser; nor is anything
// that was typed for a question that has ended since.
func TestATypedPasswordIsKeptNowhere(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	ask := func(c string) *hub.Record {
		return s.ask(c, convert.Question{Text: "What is the database password?"}, convert.Question{Text: "Which API key?", Options: []convert.Option{{Label: "the old one"}}}, free)
	}
	r := ask("c1")
	stored := `JSON.stringify({...localStorage}) + JSON.stringify({...sessionStorage}) + document.cookie`
	p := s.visit(b, 390, false)
	for i, field := range []string{"t0", "t1", "n1", "t2"} {
		if field == "n1" {
			p.click(".note summary")
		}
		p.click(fmt.Sprintf("textarea[name=%s]", field))
		p.types(fmt.Sprint("hunter", i))
		p.until(fmt.Sprintf(`document.querySelector("textarea[name=%s]").value === "hunter%d"`, field, i))
	}
	require.Equal(t, `["hunter3"]`, p.eval(fmt.Sprintf(`[...new Set((%s).match(/hunter./g))]`, stored)), "the draft of what is no secret is kept")
	require.Equal(t, `"disc"`, p.eval(`getComputedStyle(document.querySelector("textarea[name=t0]")).webkitTextSecurity`))
	p.reload()
	p.until(`document.querySelector("textarea[name=t2]")?.value === "hunter3"`)
	require.Equal(t, `""`, p.eval(`document.querySelector("textarea[name=t0]").value`))
	p.open("about:blank")
	_, err := s.board.Cancel(t.Context(), r.Ref(), "phone")
	require.NoError(t, err)
	other := s.ask("c2", free)
	p.open(s.url + "/?later")
	p.until(fmt.Sprintf(`!(%s).includes("hunter")`, stored))
	s.open(other)

	// Nor is one that was sent in what the page tells of it.
	_, err = s.board.Cancel(t.Context(), other.Ref(), "phone")
	require.NoError(t, err)
	sent := s.ask("c3", convert.Question{Text: "What is the database password?"})
	p.open(s.url + "/?sent")
	p.keepsReceipts()
	p.click(".card textarea[name=t0]")
	p.words("hunter9")
	p.click(".card button[value=answer]")
	s.answered(sent)
	p.until(`document.querySelector(".over .receipt b")?.textContent === "(not shown)"`)
}
