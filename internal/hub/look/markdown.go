package look

import (
	"bytes"
	"html/template"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extended "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/acp-bridge/acp-bridge/display"
)

// Markdown draws what a model or a person wrote: headings, lists, quotes, tables,
// code, strong and emphasised words, links. HTML in it is text, images are their
// words, and every link shows its address: nothing is fetched and nothing is hidden.
func Markdown(s string) template.HTML {
	var b strings.Builder
	for _, p := range markdown(s, math.MaxInt) {
		b.WriteString(string(p.html))
	}
	return template.HTML(b.String())
}

// markdown draws Markdown in parts of at least as many lines, where it can be folded:
// between blocks.
func markdown(s string, least int) (parts []part) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if mdNested.MatchString(s) || marks(s) > mostMarked {
		return asWritten(s)
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if blank(l) {
			lines[i] = ""
		}
	}
	m := md{source: []byte(strings.Join(lines, "\n"))}
	begin, all := 0, mdBlocks.Parse(text.NewReader(m.source))
	if nested(all) > maxNested {
		return asWritten(s)
	}
	for c := all.FirstChild(); c != nil; c = c.NextSibling() {
		m.draw(c)
		end := len(m.source)
		if next := c.NextSibling(); next != nil {
			if end = next.Pos(); bytes.Count(m.source[begin:end], []byte("\n")) < least {
				continue
			}
		}
		m.flush()
		parts = append(parts, part{class: "md", html: template.HTML(m.b.String()), size: lineCountOf(string(m.source[begin:end]))})
		m.b.Reset()
		begin = end
	}
	return parts
}

func asWritten(s string) []part {
	return []part{{class: "md", html: `<p dir="auto">` + Text(s) + `</p>`, size: lineCountOf(s)}}
}

// mostMarked is how many marks of Markdown are looked at in one piece: what they mean takes
// the square of their number to find out. What has more is shown as it is written.
const mostMarked = 2000

// marks counts those of the piece that has most, or a tenth of all.
func marks(s string) (most int) {
	all, here := 0, 0
	for l := range strings.SplitSeq(s, "\n") {
		n := len(l) - len(mdMark.Replace(l))
		if here += n; blank(l) {
			here = 0
		}
		most, all = max(most, here), all+n
	}
	return max(most, all/10)
}

var mdMark = strings.NewReplacer("[", "", "]", "", "(", "", "*", "", "_", "", "~", "", "`", "", "<", "", "!", "")

// lineCountOf is about how many rows of a screen a text takes.
func lineCountOf(s string) int { return strings.Count(s, "\n") + 1 + len(s)/100 }

// Inline draws a few words of Markdown that are part of something to tap: code, strong and
// emphasised words. Nothing in it can be followed.
func Inline(s string) template.HTML {
	if marks(s) > mostMarked {
		return Text(s)
	}
	m := md{still: true}
	m.inline(s)
	return template.HTML(m.b.String())
}

// Raw HTML is no part of either grammar, nor are definitions of links, which nobody sees.
var (
	mdWords = parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(extension.NewTaskCheckBoxParser(), 150),
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(parser.NewEmphasisParser(), 500),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
	)
	mdLines  = parser.NewParser(parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)), mdWords)
	mdBlocks = parser.NewParser(parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	), mdWords)
)

var (
	// mdNested are more lists and quotes in each other than anybody reads.
	mdNested = regexp.MustCompile(`(?m)^(?:[ \t]*(?:>|[-*+][ \t]|[0-9]{1,9}[.)][ \t])){9}`)
	mdLang   = regexp.MustCompile(`^[A-Za-z0-9+#._-]{1,40}$`)
	mdTable  = regexp.MustCompile(`^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)
	mdNumber = regexp.MustCompile(`^[ \t]*([0-9]{1,9})[.)]`)
	mdAuto   = regexp.MustCompile(`\bhttps?://[^\s<>"'` + "`" + `]+`)
)

type md struct {
	b      strings.Builder
	source []byte
	words  strings.Builder // that are not written yet
	still  bool            // links are not to be followed
	linked bool            // these are the words of a link
}

// open writes a tag of ours.
func (m *md) open(tag string) {
	m.flush()
	m.b.WriteString(tag)
}

// flush writes words, with the addresses in them as links. Words that stand together are
// written together: what is too long a run of blanks is seen only so.
func (m *md) flush() {
	s := m.words.String()
	m.words.Reset()
	for s != "" {
		at := mdAuto.FindStringIndex(s)
		if at == nil {
			break
		}
		address := strings.TrimRight(s[at[0]:at[1]], ".,;:!?)*_")
		writeText(&m.b, s[:at[0]])
		m.address(address)
		s = s[at[0]+len(address):]
	}
	writeText(&m.b, s)
}

func (m *md) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		m.draw(c)
	}
}

func (m *md) within(tag, end string, n ast.Node) {
	m.open(tag)
	m.children(n)
	m.open(end)
}

func (m *md) draw(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		// Below those of the page, and all of one level: a text may begin with any.
		tag := `<h4 dir="auto">`
		if n.Level > 1 {
			tag = `<h4 class="sub" dir="auto">`
		}
		m.within(tag, "</h4>", n)
	case *ast.ThematicBreak:
		m.open("<hr>")
	case *ast.Blockquote:
		m.within("<blockquote>", "</blockquote>", n)
	case *ast.List:
		m.list(n)
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = strings.TrimSpace(string(n.Info.Segment.Value(m.source)))
		}
		m.code(info, n.Lines())
	case *ast.CodeBlock:
		m.code("", n.Lines())
	case *ast.Paragraph, *ast.TextBlock:
		m.paragraph(n)
	case *ast.Text:
		m.words.Write(n.Segment.Value(m.source))
		if n.SoftLineBreak() || n.HardLineBreak() {
			m.words.WriteByte('\n') // the style keeps line breaks: people write lines
		}
	case *ast.CodeSpan:
		m.open(`<code dir="ltr">`)
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				writeText(&m.b, strings.ReplaceAll(string(t.Segment.Value(m.source)), "\n", " "))
			}
		}
		m.open("</code>")
	case *ast.Emphasis:
		if n.Level > 1 {
			m.within("<strong>", "</strong>", n)
		} else {
			m.within("<em>", "</em>", n)
		}
	case *extended.Strikethrough:
		m.within("<s>", "</s>", n)
	case *extended.TaskCheckBox:
		box := "☐ "
		if n.IsChecked {
			box = "☑ "
		}
		m.words.WriteString(box)
	case *ast.AutoLink:
		m.flush()
		m.address(string(n.Label(m.source)))
	case *ast.Link:
		m.link(n, n.Destination, n.Title)
	case *ast.Image:
		m.open(`<span class="odd">image</span> `)
		m.link(n, n.Destination, n.Title)
	default:
		m.children(n)
	}
}

func (m *md) code(info string, lines *text.Segments) {
	m.flush()
	if info != "" && !mdLang.MatchString(info) { // more than the name of a language
		m.b.WriteString(`<p class="info" dir="ltr">` + string(Text(info)) + "</p>")
	}
	m.b.WriteString(`<pre class="code"`)
	if mdLang.MatchString(info) {
		m.b.WriteString(` data-lang="` + info + `"`)
	}
	m.b.WriteString(` dir="ltr">` + string(Text(strings.TrimSuffix(string(lines.Value(m.source)), "\n"))) + "</pre>")
}

// maxNested is how many lists and quotes are drawn in each other: each is narrower. What has
// more is shown as it is written.
const maxNested = 8

// nested is how many lists and quotes are in each other.
func nested(n ast.Node) (most int) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		most = max(most, nested(c))
	}
	switch n.(type) {
	case *ast.Blockquote, *ast.List:
		most++
	}
	return most
}

func (m *md) list(n *ast.List) {
	open, end := "<ul>", "</ul>"
	if n.IsOrdered() {
		open, end = "<ol>", "</ol>"
	}
	m.open(open)
	count := 0
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		m.b.WriteString(`<li dir="auto"`)
		count++
		if said, ok := m.number(c); ok && said != count { // as it is written
			m.b.WriteString(` value="` + strconv.Itoa(said) + `"`)
			count = said
		}
		m.within(">", "</li>", c)
	}
	m.open(end)
}

// number is what stands before an item.
func (m *md) number(item ast.Node) (int, bool) {
	found := mdNumber.FindSubmatch(m.source[item.Pos():])
	if found == nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(found[1]))
	return n, err == nil
}

// paragraph draws words, or a table. The first words of an item stand on the line of its
// mark.
func (m *md) paragraph(n ast.Node) {
	if lines := strings.Split(string(n.Lines().Value(m.source)), "\n"); len(lines) > 1 && strings.Contains(lines[0], "|") && mdTable.MatchString(strings.TrimSpace(lines[1])) {
		m.table(lines)
		return
	}
	if _, ok := n.Parent().(*ast.ListItem); ok && n.PreviousSibling() == nil {
		m.children(n)
		return
	}
	m.within(`<p dir="auto">`, "</p>", n)
}

// table draws rows with all of their cells, also where a row has more than the heads.
func (m *md) table(lines []string) {
	row := func(line, cell string) {
		m.b.WriteString("<tr>")
		for _, c := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|"), "|") {
			m.b.WriteString("<" + cell + ` dir="auto">`)
			m.inline(c)
			m.b.WriteString("</" + cell + ">")
		}
		m.b.WriteString("</tr>")
	}
	m.open(`<div class="wide" tabindex="0" role="region" aria-label="Table"><table><thead>`)
	row(lines[0], "th")
	m.b.WriteString("</thead><tbody>")
	rest := lines[2:]
	for ; len(rest) > 0 && strings.Contains(rest[0], "|"); rest = rest[1:] {
		row(rest[0], "td")
	}
	m.b.WriteString("</tbody></table></div>")
	if more := strings.Join(rest, "\n"); !blank(more) {
		m.b.WriteString(`<p dir="auto">`)
		m.inline(more)
		m.b.WriteString("</p>")
	}
}

// inline draws words that are no block.
func (m *md) inline(s string) {
	outer := m.source
	m.source = []byte(s)
	for p := mdLines.Parse(text.NewReader(m.source)).FirstChild(); p != nil; p = p.NextSibling() {
		if p.PreviousSibling() != nil {
			m.words.WriteByte('\n')
		}
		m.children(p)
	}
	m.flush()
	m.source = outer
}

// link draws a link: its words, its address, its title. What is one in the words of
// another can only be read.
func (m *md) link(n ast.Node, destination, title []byte) {
	address := string(destination)
	if m.linked {
		m.children(n)
		m.words.WriteString(" " + address + " " + string(title))
		return
	}
	m.flush()
	inner := md{source: m.source, still: true, linked: true}
	inner.children(n)
	inner.flush()
	words := inner.b.String()
	if said := plain(words); said != "" && said != address {
		m.b.WriteString(`<span class="linked">` + words + `</span> `)
	}
	m.address(address)
	if len(title) > 0 {
		m.b.WriteString(` <span class="title">“`)
		writeText(&m.b, string(title))
		m.b.WriteString("”</span>")
	}
}

// address draws an address. Only those to the web can be followed.
func (m *md) address(address string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || !plainASCII(address) || m.still {
		m.b.WriteString(`<code dir="ltr">`)
		writeText(&m.b, address)
		m.b.WriteString("</code>")
		return
	}
	m.b.WriteString(`<a dir="ltr" rel="noopener noreferrer nofollow" target="_blank" href="`)
	escape(&m.b, u.String())
	m.b.WriteString(`">`)
	writeAddress(&m.b, address, u)
	m.b.WriteString("</a>")
}

// Address draws an address with its host set apart.
func Address(address string) template.HTML {
	var b strings.Builder
	u, _ := url.Parse(address)
	writeAddress(&b, address, u)
	return template.HTML(b.String())
}

// writeAddress sets the host apart where it stands in the address, which is shown
// to its last letter. Where that is unclear, or u is nil, nothing is set apart.
func writeAddress(b *strings.Builder, address string, u *url.URL) {
	before, after, ok := strings.Cut(address, "://")
	rest := after
	path := strings.IndexAny(after+"/", "/?#\\")
	if at := strings.LastIndexByte(after[:path], '@'); at >= 0 {
		rest = after[at+1:]
	}
	if !ok || u == nil || u.Host == "" || !strings.HasPrefix(rest, u.Host) || !plainASCII(u.Host) {
		writeText(b, address)
		return
	}
	writeText(b, before+"://"+after[:len(after)-len(rest)])
	b.WriteString(`<b class="host">`)
	writeText(b, u.Host)
	b.WriteString("</b>")
	writeText(b, rest[len(u.Host):])
}

func plainASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' })
}

// plain is the text of HTML that was drawn here.
func plain(s string) string {
	var b strings.Builder
	for s != "" {
		before, after, _ := strings.Cut(s, "<")
		b.WriteString(unescape.Replace(before))
		_, s, _ = strings.Cut(after, ">")
	}
	return b.String()
}

var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&")

func blank(s string) bool { return display.Line{Text: s}.ShowsNothing() }
