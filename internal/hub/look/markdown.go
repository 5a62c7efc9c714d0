package look

import (
	"html/template"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Markdown draws what a model or a person wrote: headings, lists, quotes, tables,
// code, strong and emphasised words, links. HTML in it is text, images are their
// words, and every link shows its address: nothing is fetched and nothing is hidden.
func Markdown(s string) template.HTML {
	m := md{}
	m.blocks(strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n"), 0)
	return template.HTML(m.b.String())
}

// Inline draws a few words of Markdown that are part of something to tap: code, strong and
// emphasised words. Nothing in it can be followed.
func Inline(s string) template.HTML {
	m := md{still: true}
	m.inline(s)
	return template.HTML(m.b.String())
}

type md struct {
	b     strings.Builder
	still bool // links are not to be followed
}

var (
	mdHeading = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$`)
	mdItem    = regexp.MustCompile(`^( *)([-*+]|[0-9]{1,9}[.)])[ \t]+(.*)$`)
	mdRule    = regexp.MustCompile(`^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$`)
	mdFence   = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$")
	mdLang    = regexp.MustCompile(`^[A-Za-z0-9+#._-]{1,40}$`)
	mdTable   = regexp.MustCompile(`^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)
	mdTask    = regexp.MustCompile(`^\[([ xX])\][ \t]+(.*)$`)
)

// maxNested bounds lists and quotes in each other.
const maxNested = 8

func (m *md) blocks(lines []string, depth int) {
	for i := 0; i < len(lines); {
		switch text := lines[i]; {
		case Blank(text):
			i++
		case mdFence.MatchString(text):
			i = m.fence(lines, i)
		case mdHeading.MatchString(text):
			h := mdHeading.FindStringSubmatch(text)
			// Below those of the page, and all of one level: a text may begin with any.
			if m.b.WriteString(`<h4`); len(h[1]) > 1 {
				m.b.WriteString(` class="sub"`)
			}
			m.b.WriteString(` dir="auto">`)
			m.inline(h[2])
			m.b.WriteString("</h4>")
			i++
		case mdRule.MatchString(text):
			m.b.WriteString("<hr>")
			i++
		case strings.HasPrefix(strings.TrimLeft(text, " "), ">") && depth < maxNested:
			i = m.quote(lines, i, depth)
		case mdItem.MatchString(text) && depth < maxNested:
			i = m.list(lines, i, depth)
		case strings.Contains(text, "|") && i+1 < len(lines) && strings.Contains(lines[i+1], "-") && mdTable.MatchString(lines[i+1]):
			i = m.table(lines, i)
		default:
			i = m.paragraph(lines, i, depth)
		}
	}
}

func (m *md) fence(lines []string, i int) int {
	f := mdFence.FindStringSubmatch(lines[i])
	var body []string
	for i++; i < len(lines); i++ {
		if t := strings.TrimSpace(lines[i]); strings.HasPrefix(t, f[1]) && strings.Trim(t, f[1][:1]) == "" {
			i++
			break
		}
		body = append(body, lines[i])
	}
	info := strings.TrimSpace(f[2])
	if info != "" && !mdLang.MatchString(info) { // more than the name of a language
		m.b.WriteString(`<p class="info" dir="ltr">` + string(Text(info)) + "</p>")
	}
	m.b.WriteString(`<pre class="code"`)
	if mdLang.MatchString(info) {
		m.b.WriteString(` data-lang="` + info + `"`)
	}
	m.b.WriteString(` dir="ltr">`)
	m.b.WriteString(string(Text(strings.Join(body, "\n"))))
	m.b.WriteString("</pre>")
	return i
}

func (m *md) quote(lines []string, i, depth int) int {
	var inner []string
	for ; i < len(lines) && strings.HasPrefix(strings.TrimLeft(lines[i], " "), ">"); i++ {
		inner = append(inner, strings.TrimPrefix(strings.TrimPrefix(strings.TrimLeft(lines[i], " "), ">"), " "))
	}
	m.b.WriteString("<blockquote>")
	m.blocks(inner, depth+1)
	m.b.WriteString("</blockquote>")
	return i
}

// list draws a list with all that is indented below its items.
func (m *md) list(lines []string, i, depth int) int {
	first := mdItem.FindStringSubmatch(lines[i])
	indent, ordered := len(first[1]), len(first[2]) > 1
	open, end := "<ul>", "</ul>"
	if ordered {
		open, end = "<ol>", "</ol>"
	}
	m.b.WriteString(open)
	count := 0
	for i < len(lines) {
		item := mdItem.FindStringSubmatch(lines[i])
		if item == nil || len(item[1]) < indent || len(item[1]) > indent+3 || (len(item[2]) > 1) != ordered || mdRule.MatchString(lines[i]) {
			break
		}
		inner, blank := []string{item[3]}, false
		for i++; i < len(lines); i++ {
			lead := len(lines[i]) - len(strings.TrimLeft(lines[i], " \t"))
			switch {
			case Blank(lines[i]):
				blank = true
				inner = append(inner, "")
				continue
			case lead > indent && (lead >= indent+2 || !blank):
			case blank || lead <= indent && begins(lines[i]):
				lead = -1
			}
			if lead < 0 {
				break
			}
			blank = false
			inner = append(inner, outdent(lines[i], indent+2))
		}
		m.b.WriteString(`<li dir="auto"`)
		count++
		if n, err := strconv.Atoi(strings.TrimRight(item[2], ".)")); err == nil && n != count { // as it is written
			m.b.WriteString(` value="` + number(n) + `"`)
			count = n
		}
		m.b.WriteString(">")
		if task := mdTask.FindStringSubmatch(inner[0]); task != nil {
			box := "☐ "
			if task[1] != " " {
				box = "☑ "
			}
			inner[0] = task[2]
			m.b.WriteString(box)
		}
		m.item(inner, depth)
		m.b.WriteString("</li>")
	}
	m.b.WriteString(end)
	return i
}

// item draws what is in an item: its first words stand on the line of its mark.
func (m *md) item(lines []string, depth int) {
	n := 0
	for n < len(lines) && !Blank(lines[n]) && (n == 0 && !begins(lines[0]) || n > 0 && !begins(lines[n])) {
		n++
	}
	for i, l := range lines[:n] {
		if i > 0 {
			m.b.WriteByte('\n')
		}
		m.inline(strings.TrimSpace(l))
	}
	m.blocks(lines[n:], depth+1)
}

// begins reports whether a line begins a block of its own.
func begins(s string) bool {
	return mdFence.MatchString(s) || mdHeading.MatchString(s) || mdItem.MatchString(s) || mdRule.MatchString(s) || strings.HasPrefix(strings.TrimLeft(s, " "), ">")
}

// outdent takes up to n blanks from the beginning of a line.
func outdent(s string, n int) string {
	for n > 0 && s != "" && (s[0] == ' ' || s[0] == '\t') {
		if s[0] == '\t' {
			n -= 3
		}
		s, n = s[1:], n-1
	}
	return s
}

func (m *md) paragraph(lines []string, i, depth int) int {
	m.b.WriteString(`<p dir="auto">`)
	for n := 0; i < len(lines) && !Blank(lines[i]) && (n == 0 || !begins(lines[i]) || depth >= maxNested && !mdFence.MatchString(lines[i]) && !mdHeading.MatchString(lines[i])); i, n = i+1, n+1 {
		if n > 0 {
			m.b.WriteByte('\n') // the style keeps line breaks: people write lines
		}
		m.inline(strings.TrimSpace(lines[i]))
	}
	m.b.WriteString("</p>")
	return i
}

func (m *md) table(lines []string, i int) int {
	row := func(text, cell string) {
		m.b.WriteString("<tr>")
		for _, c := range cells(text) {
			m.b.WriteString("<" + cell + ` dir="auto">`)
			m.inline(c)
			m.b.WriteString("</" + cell + ">")
		}
		m.b.WriteString("</tr>")
	}
	m.b.WriteString(`<div class="wide" tabindex="0" role="region" aria-label="Table"><table><thead>`)
	row(lines[i], "th")
	m.b.WriteString("</thead><tbody>")
	for i += 2; i < len(lines) && strings.Contains(lines[i], "|") && !Blank(lines[i]); i++ {
		row(lines[i], "td")
	}
	m.b.WriteString("</tbody></table></div>")
	return i
}

func cells(text string) []string {
	text = strings.TrimSpace(text)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "|"), "|")
	list := strings.Split(text, "|")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

var (
	mdLink = sync.OnceValue(func() *regexp.Regexp { // 500 of a class take a while to compile
		return regexp.MustCompile(`^!?\[([^\[\]\n]{0,500})\]\(<?([^\s()<>]+(?:\([^\s()]*\)[^\s()<>]*)*)>?(?:[ \t]+["']([^"'\n]*)["'])?\)`)
	})
	mdAuto = regexp.MustCompile(`^https?://[^\s<>"'` + "`" + `]+`)
)

// maxSpan is how long a piece of a line with a look of its own is, in bytes: nobody
// searches on for an end, again and again, in what a model wrote to take long.
const maxSpan = 500

// inline draws a line of words.
func (m *md) inline(s string) {
	plain := 0
	flush := func(to int) {
		writeText(&m.b, s[plain:to])
		plain = to
	}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && strings.IndexByte("\\`*_{}[]()#+-.!|<>~", s[i+1]) >= 0:
			i += 2 // as it is written
			continue
		case c == '`':
			if body, n := codeSpan(s[i:min(len(s), i+maxSpan)]); n > 0 {
				flush(i)
				m.b.WriteString(`<code dir="ltr">`)
				writeText(&m.b, body)
				m.b.WriteString("</code>")
				i += n
				plain = i
				continue
			}
		case c == '!' || c == '[':
			if l := mdLink().FindStringSubmatch(s[i:]); l != nil {
				flush(i)
				m.link(l[1], l[2], c == '!')
				if l[3] != "" {
					m.b.WriteString(` <span class="title">“`)
					writeText(&m.b, l[3])
					m.b.WriteString("”</span>")
				}
				i += len(l[0])
				plain = i
				continue
			}
		case c == 'h' && (i == 0 || !wordByte(s[i-1])):
			if u := strings.TrimRight(mdAuto.FindString(s[i:]), ".,;:!?)*_"); len(u) > len("https://") {
				flush(i)
				m.link("", u, false)
				i += len(u)
				plain = i
				continue
			}
		case c == '*' || c == '_' || c == '~':
			if tag, body, n := emphasis(s, i); n > 0 {
				flush(i)
				m.b.WriteString("<" + tag + ">")
				m.inline(body)
				m.b.WriteString("</" + tag + ">")
				i += n
				plain = i
				continue
			}
			i = runEnd(s, i) - 1 // a run of marks that mean nothing
		}
		if s[i] == '`' {
			i = runEnd(s, i) - 1
		}
		i++
	}
	flush(len(s))
}

// codeSpan reads `code` with as many ticks at its end as at its beginning.
func codeSpan(s string) (body string, n int) {
	ticks := runEnd(s, 0)
	mark := s[:ticks]
	for rest, at := s[ticks:], ticks; ; {
		i := strings.Index(rest, mark)
		if i < 0 {
			return "", 0
		}
		run := runEnd(rest, i) - i
		if run == ticks {
			body = s[ticks : at+i]
			if strings.HasPrefix(body, " ") && strings.HasSuffix(body, " ") && len(body) > 2 {
				body = body[1 : len(body)-1]
			}
			return body, at + i + run
		}
		rest, at = rest[i+run:], at+i+run
	}
}

// runEnd is where a run of one character ends that begins at i.
func runEnd(s string, i int) int {
	c := s[i]
	for i < len(s) && s[i] == c {
		i++
	}
	return i
}

// emphasis reads **strong**, *emphasised* and ~~struck~~ words at i.
func emphasis(s string, i int) (tag, body string, n int) {
	c := s[i]
	s = s[:min(len(s), i+maxSpan)]
	run := 1
	for run < 3 && i+run < len(s) && s[i+run] == c {
		run++
	}
	if run == 3 {
		run = 2
	}
	switch {
	case c == '~' && run != 2, c == '_' && i > 0 && wordByte(s[i-1]), i+run >= len(s), s[i+run] == ' ':
		return "", "", 0
	}
	mark := s[i : i+run]
	for at := i + run; ; {
		j := strings.Index(s[at:], mark)
		if j < 0 {
			return "", "", 0
		}
		end := at + j
		for end+run < len(s) && s[end+run] == c { // the last of a run closes
			end++
		}
		after := end + run
		if body = s[i+run : end]; body != "" && body[len(body)-1] != ' ' && !(c == '_' && after < len(s) && wordByte(s[after])) && !(run == 1 && end > 0 && s[end-1] == c) {
			return map[string]string{"*1": "em", "_1": "em", "*2": "strong", "_2": "strong", "~2": "s"}[string(c)+number(run)], body, after - i
		}
		at = after
	}
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// link draws a link with its address. Only those to the web can be followed.
func (m *md) link(words, address string, image bool) {
	u, err := url.Parse(address)
	web := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && plainASCII(address)
	if image {
		m.b.WriteString(`<span class="odd">image</span> `)
	}
	if words != "" && words != address {
		m.b.WriteString(`<span class="linked">`)
		writeText(&m.b, words)
		m.b.WriteString("</span> ")
	}
	if !web || m.still {
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
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		writeAddress(&b, address, u)
	} else {
		writeText(&b, address)
	}
	return template.HTML(b.String())
}

// writeAddress sets the host apart where it stands in the address, which is shown
// to its last letter. Where that is unclear nothing is set apart.
func writeAddress(b *strings.Builder, address string, u *url.URL) {
	before, after, ok := strings.Cut(address, "://")
	rest := after
	if at := strings.LastIndexByte(authority(after), '@'); at >= 0 {
		rest = after[at+1:]
	}
	if !ok || !strings.HasPrefix(rest, u.Host) || !plainASCII(u.Host) {
		writeText(b, address)
		return
	}
	writeText(b, before+"://"+after[:len(after)-len(rest)])
	b.WriteString(`<b class="host">`)
	writeText(b, u.Host)
	b.WriteString("</b>")
	writeText(b, rest[len(u.Host):])
}

// authority is the part of an address before its path.
func authority(s string) string {
	if i := strings.IndexAny(s, "/?#\\"); i >= 0 {
		return s[:i]
	}
	return s
}

func plainASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' })
}
