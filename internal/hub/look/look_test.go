package look

import (
	"encoding/json"
	"html/template"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func drawn(t display.Tool) Thing { return Draw(t.View("")) }

func TestText(t *testing.T) {
	odd := func(s string) string { return `<span class="odd">` + s + `</span>` }
	for text, want := range map[string]string{
		"":                                       "",
		"<b>&\"'":                                "&lt;b&gt;&amp;&#34;&#39;",
		"a\n\n\nb":                               "a\n\n\nb",
		"a\n\n\n\nb":                             "a\n" + odd("⋯ 3 blank lines ⋯") + "\nb",
		"a\n \n\t\n\u00a0\n\u3000\nb":            "a\n" + odd("⋯ 4 blank lines ⋯") + "\nb",
		"a\n\u2800\nb":                           "a\n" + odd("U+2800") + "\nb",
		"a" + strings.Repeat(" ", 40) + "b":      "a" + strings.Repeat(" ", 40) + "b",
		"a" + strings.Repeat("\u00a0", 41) + "b": "a" + odd("⋯ 41 spaces ⋯") + "b",
		"a" + strings.Repeat("\n", 61) + "b":     "a\n" + odd("⋯ 60 blank lines ⋯") + "\nb",
		"ls \x1b[31m\u202erm":                    "ls " + odd("U+001B") + "[31m" + odd("U+202E") + "rm",
		"a\r\nb\rc":                              "a\nb" + odd("U+000D") + "c",
		"<U+202E>":                               "&lt;U+202E&gt;",
		"a" + strings.Repeat("\u0336", 9) + "b":  "a" + odd("⋯ 9 combining marks ⋯") + "b",
		"a" + strings.Repeat("\u0301", 8) + "b":  "a" + strings.Repeat("\u0301", 8) + "b",
		"\xff":                                   odd("�"),
		"שלום 日本 👩‍💻":                            "שלום 日本 👩‍💻",
	} {
		require.Equal(t, want, string(Text(text)), "%q", text)
	}
}

func TestMarkdown(t *testing.T) {
	p := func(s string) string { return `<p dir="auto">` + s + `</p>` }
	for text, want := range map[string]string{
		"a **b** *c* ~~d~~ `e`":           p("a <strong>b</strong> <em>c</em> <s>d</s> <code dir=\"ltr\">e</code>"),
		"snake_case_name 2*3*4 **":        p("snake_case_name 2<em>3</em>4 **"),
		"## Two":                          `<h4 class="sub" dir="auto">Two</h4>`,
		"# One\ntext":                     `<h4 dir="auto">One</h4>` + p("text"),
		"- a\n  - b\n- c":                 `<ul><li dir="auto">a<ul><li dir="auto">b</li></ul></li><li dir="auto">c</li></ul>`,
		"0. a\n1. b\n7. c":                `<ol><li dir="auto" value="0">a</li><li dir="auto">b</li><li dir="auto" value="7">c</li></ol>`,
		"1. a\n2. b":                      `<ol><li dir="auto">a</li><li dir="auto">b</li></ol>`,
		"- [x] done":                      `<ul><li dir="auto">☑ done</li></ul>`,
		"> q":                             "<blockquote>" + p("q") + "</blockquote>",
		"```sh\nrm <x>\n```":              `<pre class="code" data-lang="sh" dir="ltr">rm &lt;x&gt;</pre>`,
		"```\nno end":                     `<pre class="code" dir="ltr">no end</pre>`,
		"|a|b|\n|-|-|\n|1|2|":             `<div class="wide" tabindex="0" role="region" aria-label="Table"><table><thead><tr><th dir="auto">a</th><th dir="auto">b</th></tr></thead><tbody><tr><td dir="auto">1</td><td dir="auto">2</td></tr></tbody></table></div>`,
		"<img src=x>":                     p("&lt;img src=x&gt;"),
		"[ok](https://a.example/x?y=1&z)": p(`<span class="linked">ok</span> <a dir="ltr" rel="noopener noreferrer nofollow" target="_blank" href="https://a.example/x?y=1&amp;z">https://<b class="host">a.example</b>/x?y=1&amp;z</a>`),
		"![i](https://a.example/i.png)":   p(`<span class="odd">image</span> <span class="linked">i</span> <a dir="ltr" rel="noopener noreferrer nofollow" target="_blank" href="https://a.example/i.png">https://<b class="host">a.example</b>/i.png</a>`),
		"[bank](javascript:alert(1))":     p(`<span class="linked">bank</span> <code dir="ltr">javascript:alert(1)</code>`),
		"[x](https://a@evil.example/)":    p(`<span class="linked">x</span> <code dir="ltr">https://a@evil.example/</code>`),
		"see https://a.example.":          p(`see <a dir="ltr" rel="noopener noreferrer nofollow" target="_blank" href="https://a.example">https://<b class="host">a.example</b></a>.`),
		"---":                             "<hr>",
		strings.Repeat("> ", 8) + "a":     strings.Repeat("<blockquote>", 8) + p("a") + strings.Repeat("</blockquote>", 8),
		"- a\n\n  " + strings.Repeat("> ", 8) + "b": p("- a\n\n  " + strings.Repeat("&gt; ", 8) + "b"),
		"a\n\nb":                            p("a") + p("b"),
		strings.Repeat("*a* ", 1000) + "b":  p(strings.Repeat("<em>a</em> ", 1000) + "b"),
		strings.Repeat("*a*\n", 1001) + "b": p(strings.Repeat("*a*\n", 1001) + "b"), // it takes too long to find out
		strings.Repeat(strings.Repeat("*a* ", 600)+"b\n\n", 2):  strings.Repeat(p(strings.Repeat("<em>a</em> ", 600)+"b"), 2),
		strings.Repeat(strings.Repeat("*a* ", 900)+"b\n\n", 12): p(strings.Repeat(strings.Repeat("*a* ", 900)+"b\n\n", 12)),
		"a | b":                        p("a | b"),
		"[x](https://\u0430.example/)": p(`<span class="linked">x</span> <code dir="ltr">https://а.example/</code>`),
	} {
		require.Equal(t, want, string(Markdown(text)), "%q", text)
	}
	require.Equal(t, `with <code dir="ltr">ttl</code>, see <code dir="ltr">https://a.example</code> <span class="linked">b</span> <code dir="ltr">https://c.example</code>`,
		string(Inline("with `ttl`, see https://a.example [b](https://c.example)")))
	require.NotContains(t, Inline(strings.Repeat("*a* ", 1001)), "<em>")
	require.Equal(t, "# no\n- list file:///x", string(Inline("# no\n\n- list")+" "+Address("file:///x")))
}

// A plan without text says so, and is no plan that somebody could have read.
func TestAPlanWithoutText(t *testing.T) {
	for _, detail := range []string{"", "{}", `{"plan":""}`, `{"plan":" \n"}`} {
		thing := drawn(display.Tool{Name: "ExitPlanMode", Title: "Ready to code?", Input: json.RawMessage(detail)})
		require.Equal(t, "wants to leave plan mode", thing.Verb, detail)
		require.Contains(t, string(thing.Whole()), "The plan is empty", detail)
		require.True(t, thing.Plan, detail)
	}
	for _, detail := range []string{`{"plan":["a"]}`, `{"plan":"a"}`} {
		require.Equal(t, "has a plan", drawn(display.Tool{Name: "ExitPlanMode", Input: json.RawMessage(detail)}).Verb)
	}
}

// Every word of a plan is there for whoever approves it.
func TestMarkdownHidesNoWords(t *testing.T) {
	word := regexp.MustCompile(`[\pL\pN]+`)
	for _, source := range []string{
		`1. Run the tests ([how](http://docs.example/t "then force-push main"))`, `![a](b.png 'and delete the backups')`, `[a](<b> "c")`, `[a](b (c))`, `[a](b "c" "d")`, `[a] (b)`,
		"```bash title=run-the-tests.sh-and-nothing-else.................. && rm -rf /prod\nnpm test\n```", "```sh\nls\n``` more\n```", "~~~~ sh ~ x\nls\n~~~~", "```x` y\nz",
		"a | b\n--|--\nc | d | e | f", "| a\n|-\n| b | c", "# a # b ##", "a\n===\nb\n---", "[a]: http://b.example 'c'\n\n[a]", "<!-- a --> <b c=d>e</b>", "&amp; &#65;", "***a** b*", "- [ ] a\n- [X] b",
		"3. a\n5. b\n0. c", "> a\nb\n> > c", "a\\\nb  \nc", "`` a ` b ``", "<http://a.example/b> https://c.example/d).", "[^1]: a\n\nb[^1]", "\ta\n    b\n        c",
	} {
		html := string(Markdown(source))
		shown := plain(html) + strings.Join(regexp.MustCompile(`(?:data-lang|value)="[^"]*"`).FindAllString(html, -1), " ")
		for _, w := range word.FindAllString(source, -1) {
			if strings.Contains(source, w+". ") || strings.Contains(source, "["+w+"] b") {
				continue // the number of an item, a box
			}
			require.Contains(t, shown, w, "%s\n%s", source, html)
		}
	}
}

// Whatever is drawn is closed, and nothing of it is markup of its author.
func TestHostile(t *testing.T) {
	corpus := []string{
		`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`, `' onmouseover='x`, `</pre></div><button>Allow</button>`,
		"```\n</pre><script>\n```", "[a](javascript:alert(1))", `[a](https://x" onclick="y)`, `[<b>](https://a.example "t")`, `![](data:text/html,<script>)`,
		"[a](https://a.example\u202e/x)", "**<b>**", "`<b>`", "| <b> | \n|-|\n| <i> |", "> > > > > > > > > > > > <b>", strings.Repeat("- ", 500) + "<b>",
		"[](https://)", "[a](http://[::1]:1/)", "# <b>\n## [x](vbscript:x)", "&lt;script&gt;", "\x00\x1b]0;x\x07", strings.Repeat("*", 3000), strings.Repeat("[", 3000), strings.Repeat("`", 3001),
		"~~~ \" onload=x\nx\n~~~", "- a\n\n      <b>", "1) <b>\n2) x", "[x]: javascript:alert(1)\n[x]", "<https://a.example>", "\u2028<b>", "a\ufeffb",
	}
	var all []template.HTML
	for _, s := range corpus {
		all = append(all, Text(s), Markdown(s), Inline(s), Address(s), Address("https://"+s))
		names := []string{"Bash", "ExitPlanMode", "Edit", "Write", "MultiEdit", "WebFetch", "mcp__" + s + "__" + s, "Task", s, ""}
		if len(s) >= 1000 { // what is long takes long, and is drawn alike
			names = names[:3]
		}
		for _, name := range names {
			q := string(clean.JSON(s))
			for _, detail := range []string{
				`{"command":` + q + `,"description":` + q + `,"x":` + q + `}`, `{"command":["bash","-lc",` + q + `]}`,
				`{"file_path":` + q + `,"old_string":` + q + `,"new_string":` + q + `}`, `{"file_path":` + q + `,"content":` + q + `}`,
				`{"file_path":` + q + `,"edits":[{"old_string":"a","new_string":` + q + `},{"x":` + q + `}]}`, `{"url":` + q + `,"prompt":` + q + `}`,
				`{"plan":` + q + `}`, `{"prompt":` + q + `,` + q + `:[1]}`, s,
			} {
				th := drawn(display.Tool{Name: name, Title: s, Input: json.RawMessage(detail), Kind: s, Text: s, Changes: []display.Change{{Path: s, New: s}, {Path: s, Old: &s, New: s + "x"}}})
				begin, _ := th.Folded()
				all = append(all, th.Whole(), begin)
			}
		}
	}
	for _, h := range all {
		checkHTML(t, string(h))
	}
}

// Nothing that a permission is for is left out, whatever else is drawn.
func TestNothingIsLeftOut(t *testing.T) {
	changes := []display.Change{{Path: "/etc/hosts", New: "evil"}}
	for name, c := range map[string]display.Tool{
		"an edit":   {Input: json.RawMessage(`{"path":"/a","content":"x"}`), Kind: "edit", Changes: changes},
		"a command": {Input: json.RawMessage(`{"command":"make"}`), Changes: changes},
		"a plan":    {Input: json.RawMessage(`{"plan":"# One"}`), Kind: "switch_mode", Text: "evil in /etc/hosts"},
		"a text":    {Kind: "switch_mode", Text: "# evil in /etc/hosts"},
	} {
		drawn := string(drawn(c).Whole())
		require.Contains(t, drawn, "evil", name)
		require.Contains(t, drawn, "/etc/hosts", name)
		require.Equal(t, 1, strings.Count(drawn, "evil"), name)
	}
	require.True(t, drawn(display.Tool{Kind: "switch_mode", Text: "# Plan"}).Plan)
	th := drawn(display.Tool{Name: "Bash", Input: json.RawMessage(`{"command":"ls","description":"Look around"}`)})
	require.Equal(t, `<div class="part command"><pre dir="ltr"><span class="l" data-n="1">ls</span></pre></div><div class="part quote"><p class="label">The agent says</p><p dir="auto">Look around</p></div>`, string(th.Whole()))
}

// What is long is begun and the rest of it counted; from ten lines on they have numbers, and what
// stands between the lines of a change never has.
func TestFolded(t *testing.T) {
	for n, want := range map[int][2]bool{9: {}, 10: {true}, 18: {true}, 19: {true, true}} {
		th := drawn(display.Tool{Name: "Bash", Input: clean.JSON(map[string]string{"command": strings.Repeat("x\n", n-1) + "x"})})
		begin, more := th.Folded()
		require.Equal(t, want, [2]bool{strings.Contains(string(begin), `"numbered"`), th.Long()}, n)
		require.Equal(t, [2]int{min(n, foldAt), max(n-foldAt, 0)}, [2]int{strings.Count(string(begin), "<span"), more}, n)
	}
	require.Contains(t, string(drawn(display.Tool{Name: "Edit", Input: json.RawMessage(`{"file_path":"/a","old_string":"x","new_string":"x\n"}`)}).Whole()), `<span class="l gap">`)
}

// What is drawn is not said again beside it: in our own title, in an agent's name for its
// shell, in the sentence that Kimi asks with. Everything else an agent says is there.
func TestNothingIsSaidTwice(t *testing.T) {
	script := "#!/bin/bash\nset -euo pipefail\n" + strings.Repeat("echo step\n", 30)
	detail := acptest.Must(json.Marshal(map[string]string{"command": script}))
	for name, c := range map[string]struct {
		title, text string
		also        string
	}{
		"the beginning of a script":      {title: "$ #!/bin/bash set -euo pipefail echo step echo st…"},
		"an agent's shell":               {title: "Bash"},
		"that Kimi asks":                 {title: "Bash", text: "Requesting approval to Running: #!/bin/bash set -euo pip…"},
		"a title of its own":             {title: "$ nothing to worry about", also: "$ nothing to worry about"},
		"words of its own":               {title: "Bash", text: "Requesting approval to erase the disk: #!/bin/bash", also: "erase the disk"},
		"words of its own, and no input": {title: "Bash", text: "Requesting approval to Running: …", also: "Requesting approval to Running"},
	} {
		t.Run(name, func(t *testing.T) {
			whole := string(drawn(display.Tool{Title: c.title, Input: detail, Text: c.text}).Whole())
			if c.also != "" {
				require.Contains(t, whole, c.also)
				return
			}
			require.Equal(t, 1, strings.Count(whole, "pipefail"), whole)
			require.NotContains(t, whole, "Bash<")
			require.NotContains(t, whole, "The agent says")
		})
	}
	for path, want := range map[string]string{"/src/web/a/b.ts": "a/b.ts", "/src/website/b.ts": "/src/website/b.ts", "/src/web/../b.ts": "/src/web/../b.ts"} {
		edit := display.Tool{Name: "Edit", Title: "Edit " + path, Input: json.RawMessage(`{"file_path":"` + path + `","old_string":"a","new_string":"b"}`)}
		whole := string(Draw(edit.View("/src/web")).Whole())
		require.Contains(t, whole, `dir="ltr">`+want+`</bdi>`)
		require.Equal(t, 1, strings.Count(whole, "b.ts"), whole)
	}
}

// What nests deep is drawn in as much room as it has, whoever asks: each line would be as long as it is deep.
func TestDeep(t *testing.T) {
	deep := `{"x":` + strings.Repeat(`[`, 1000) + strings.Repeat(`1,`, 5000) + `1` + strings.Repeat(`]`, 1000) + `}`
	require.Less(t, len(drawn(display.Tool{Name: "Deploy", Input: json.RawMessage(deep)}).Whole()), 10*len(deep))
}

var (
	tagAt = regexp.MustCompile(`^<(/?)([a-z0-9]+)((?: [a-z-]+="[^"<>]*")*)>`)
	hides = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\u200b\ufeff\u2028]")
	attr  = regexp.MustCompile(` ([a-z-]+)="([^"<>]*)"`)
	tags  = " p div span b em strong s code pre h4 ul ol li hr blockquote table thead tbody tr th td a ins del bdi "
	attrs = " class dir data-n data-lang start tabindex role aria-label scope rel target href "
)

// checkHTML reads what was drawn by the few rules that it keeps: known tags and
// attributes, all closed, addresses of the web, nothing that hides or turns text.
func checkHTML(t *testing.T, h string) {
	var open []string
	rest := h
	for {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			break
		}
		rest = rest[i:]
		m := tagAt.FindStringSubmatch(rest)
		require.NotNil(t, m, "no tag of ours: %.200s", rest)
		if !strings.Contains(tags, " "+m[2]+" ") {
			t.Fatalf("unknown tag: %.200s", rest)
		}
		switch {
		case m[1] == "/":
			if len(open) == 0 || open[len(open)-1] != m[2] {
				t.Fatalf("%v: %.300s", open, h)
			}
			open = open[:len(open)-1]
		case m[2] != "hr":
			open = append(open, m[2])
		}
		for _, a := range attr.FindAllStringSubmatch(m[3], -1) {
			if !strings.Contains(attrs, " "+a[1]+" ") || a[1] == "href" && !strings.HasPrefix(a[2], "http") {
				t.Fatalf("%s: %.300s", a[0], h)
			}
		}
		rest = rest[len(m[0]):]
	}
	require.Empty(t, open, "%.300s", h)
	if hides.MatchString(h) {
		t.Fatalf("it hides or turns text: %.300q", h)
	}
}
