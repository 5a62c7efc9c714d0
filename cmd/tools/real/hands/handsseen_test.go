package hands_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// inside says that every letter of what is permitted is between the edges of the window.
const inside = `(() => { const walk = document.createTreeWalker(document.querySelector(".thing"), NodeFilter.SHOW_TEXT);
	for (let n; (n = walk.nextNode());) { const r = document.createRange(); r.selectNodeContents(n);
		for (const b of r.getClientRects()) if (b.width && (b.left < 0 || b.right > innerWidth)) return false; }
	return true; })()`

// Whatever the names and values of a tool's input are, none leaves the screen sideways; nor
// does a plan, unless its table has more columns than there is room for.
func TestNothingLeavesTheScreenSideways(t *testing.T) {
	t.Parallel()
	const long = "averyveryverylongnamewithoutanyplacetobreak"
	odd := strings.Repeat("\u202e", 200)
	for name, input := range map[string]map[string]any{
		"a long name":  {strings.Repeat(long, 20): "x", "target": "production"},
		"a long value": {"target": strings.Repeat(long, 20)},
		"odd letters":  {odd: "x", "target": odd},
		"deep":         {"a": map[string]any{"b": map[string]any{"c": strings.Repeat(long, 5)}}},
		"quotes":       {"plan": strings.Repeat("> ", 60) + "drop the table"},
		"a list":       {"plan": nested(40) + "- drop the table"},
		"a table":      {"plan": "| a | b | c | d |\n|---|---|---|---|\n| " + strings.Repeat(long+" | ", 4) + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newChromium(t), newSite(t, hub.Options{})
			tool, kind := "mcp__ops__run", "other"
			if input["plan"] != nil {
				tool, kind = "ExitPlanMode", "switch_mode"
			}
			r := s.permit("c1", tool, kind, "", input)
			for _, width := range []int{320, 1200} {
				p := s.visit(b, width, false)
				p.until(`document.querySelector(".thing")`)
				if p.try(`document.querySelector(".unfold")`) {
					p.click(".unfold")
				}
				p.until(`(document.querySelector(".thing .end")?.scrollIntoView({block: "center", behavior: "instant"}), !document.querySelector(".acts .allow").disabled)`)
				require.Equal(t, "true", p.eval(inside), "at %d px", width)
				require.Equal(t, "true", p.eval(fmt.Sprintf(`document.documentElement.scrollWidth <= %d`, width)))
			}
			s.open(r)
		})
	}
}

func nested(deep int) string {
	var b strings.Builder
	for i := range deep {
		b.WriteString(strings.Repeat("  ", i) + "- step\n")
	}
	return b.String() + strings.Repeat("  ", deep)
}

// A table that is wider than its box is seen when its last column was in view: until then
// nothing approves the plan, and the card says why.
func TestAWideTableIsSeenToItsEnd(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	row := func(cell string) string { return "|" + strings.Repeat(" "+cell+" |", 15) }
	r := s.permit("c1", "ExitPlanMode", "switch_mode", "", map[string]any{"plan": row("column") + "\n" + row("---") + "\n" + row("value") + " rm -rf /prod |\n"})
	p := s.visit(b, 390, false)
	p.until(`document.querySelector(".more:not([hidden])")?.textContent.includes("right")`)
	require.Equal(t, "true", p.eval(`document.querySelector(".acts .allow").disabled`))
	p.letter("j")
	p.eval(`window.news = document.getElementById("news"); 0`)
	p.settle()
	p.types("a\n")
	p.shot("wide-table")
	p.eval(`document.querySelector(".wide").scrollLeft = 1e6; 0`)
	p.until(`!document.querySelector(".acts .allow").disabled && document.querySelector(".more").hidden`)
	s.open(r)
	p.click(".acts .allow")
	require.Equal(t, []string{"Allow"}, s.answered(r)[0].Selected)
}

// One tap is an answer for what was in view. An option whose preview goes on says so, and
// is not sent before its end was seen.
func TestAPreviewIsSeenToItsEnd(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	r := s.ask("c1", convert.Question{Text: "Which script?", Options: []convert.Option{{Label: "short", Preview: "ls"}, {Label: "long", Preview: strings.Repeat("echo\n", 60) + "rm -rf /prod"}}})
	p := s.visit(b, 390, false)
	run := p.holdsBack(s.url)
	p.until(`document.querySelector(".cut")`)
	p.shot("cut-preview")
	for _, tap := range []func(){
		func() { p.finger(".option + .option label") },
		func() { p.click(".acts button") },
		func() { p.until(`!document.querySelector(".moved")`); p.key("Enter") },
	} {
		tap()
		p.until(`document.querySelector(".card .problem").textContent.includes("See all of “long” first")`)
		run()
		s.open(r)
		p.eval(`document.querySelector(".card .problem").textContent = ""; document.querySelector(".option + .option input").focus(); 0`)
	}
	p.eval(`document.querySelector(".cut").scrollTop = 1e6; 0`)
	p.until(`!document.querySelector(".cut")`)
	p.eval(`new Promise((done) => setTimeout(done, 300))`)
	p.click(".option + .option label")
	p.until(`document.querySelector(".sending:not([hidden])")`)
	run()
	require.Equal(t, []string{"long"}, s.answered(r)[0].Selected)
}

// What the window has and its person has zoomed past, or has a keyboard over, is not in view.
func TestWhatIsOutsideOfTheZoomWasNotSeen(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	p := s.phone(b)
	zoom := func(n int) {
		p.call("Emulation.setPageScaleFactor", map[string]any{"pageScaleFactor": n})
		p.until(fmt.Sprintf(`Math.round(visualViewport.scale) === %d`, n))
	}
	zoom(4)
	s.permit("c1", "Bash", "execute", "rm", map[string]any{"command": strings.Repeat("echo a\n", 8) + "rm -rf build"})
	p.until(`document.querySelector(".card .end")`)
	p.waits(1000)
	require.Equal(t, "true", p.eval(`document.querySelector(".acts .allow").disabled`))
	zoom(1)
	p.until(`document.querySelector(".acts .allow:enabled")`)

	s = newSite(t, hub.Options{})
	p = s.phone(b)
	zoom(4) // and what is above it
	p.call("Input.synthesizeScrollGesture", map[string]any{"x": 50, "y": 100, "yDistance": -3000, "speed": 8000})
	p.until(`visualViewport.offsetTop > 600`)
	s.permit("c1", "Bash", "execute", "rm", map[string]any{"command": "rm -rf build"})
	p.until(`document.querySelector(".card .end")?.getBoundingClientRect().bottom < visualViewport.offsetTop`)
	p.waits(1000)
	require.Equal(t, "true", p.eval(`document.querySelector(".acts .allow").disabled`))

	s = newSite(t, hub.Options{})
	p = s.phone(b)
	zoom(2) // and what is beside it, on either side
	s.permit("c1", "Bash", "execute", "rm", map[string]any{"command": "true && true && true && true && rm -rf build"})
	for _, distance := range []int{0, -90, -3000} { // on the left, in the middle, on the right
		if distance != 0 {
			p.call("Input.synthesizeScrollGesture", map[string]any{"x": 150, "y": 100, "xDistance": distance, "yDistance": 0, "speed": 8000})
		}
		p.until(fmt.Sprintf(`Math.sign(visualViewport.offsetLeft) === %d`, map[bool]int{true: 1, false: 0}[distance != 0]))
		p.until(`((e, v) => e && e.top >= v.offsetTop && e.bottom <= v.offsetTop + v.height)(document.querySelector(".card .end")?.getBoundingClientRect(), visualViewport)`)
		p.waits(700)
		require.Equal(t, "true", p.eval(`document.querySelector(".acts .allow").disabled`), p.eval(`visualViewport.offsetLeft`))
	}
	p.until(`document.querySelector(".more:not([hidden])")?.textContent === "Zoom out to allow it."`)
	zoom(1)
	p.until(`document.querySelector(".acts .allow:enabled") && document.querySelector(".more").hidden`)
}
