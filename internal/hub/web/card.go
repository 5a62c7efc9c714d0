package web

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/look"
)

// card is an asking as the page shows it. Plain texts are cleaned, and escaped by
// the template; what is HTML was drawn by package look.
type card struct {
	Page                        string // what the page knows, see [loginSession]
	Key, Conversation, Question string
	Group                       string
	Revision                    uint64
	Fingerprint                 string
	// Mark is the way it is drawn, and Verb what the agent does: asks, wants to
	// run a command.
	Mark, Verb              string
	Permission              bool
	Agent, Model, Badge     string
	Hue                     int
	For                     string // the sub-agent or server that asks
	Talk, Title             string // of the conversation: its link and its name
	Lane                    lane
	Asked, Since, AskedFull string
	Gone                    bool
	// Prompt is the first line of what was said before, in Before, and Last the agent's
	// last words of it.
	Prompt       string
	Before, Last template.HTML
	// Thing is what a permission is for, More how many lines are not there, and
	// Seen what the end of it has: see [seenMark].
	Thing  template.HTML
	More   int
	Seen   string
	Picks  []pick
	Reject int // the pick that takes a reason, or -1
	// NoReason says that the agent takes none.
	NoReason bool
	// Edited is the pick that takes a plan as the person wants it, or -1, and Draft what
	// they have made of it so far.
	Edited      int
	Plan, Draft string

	// Topic is what it is about, in a line: a part of its receipt, and of its line among
	// many. Line says that no more than that is there yet.
	Topic     string
	Line      bool
	Problem   string
	Questions []cardQuestion
	// Tap is set where one tap on an option is the answer, and Decline where one button
	// declines all of a form.
	Tap, Decline bool
	// Of a settled one.
	Ending string
	Steps  []step
}

// pick is a button of a permission.
type pick struct {
	N           int
	Class       string
	Label, What template.HTML
	// Gated ones count only when the end of what they permit was in view.
	Gated bool
	Wide  bool // its words need a line of their own
}

// step is how far an answer got.
type step struct {
	Text string
	Done bool
}

type cardQuestion struct {
	N             int
	Header, Input string
	Intro, Text   template.HTML // Intro is what a server says before the fields of its form
	Hint          template.HTML // of a field, beside its name
	Optional      bool          // a field that may stay empty
	Count         string        // "1 of 2", "pick any"
	Own           string        // what own words are called
	Closed        bool
	NoNote        bool   // nobody could read one
	Type, Step    string // of the input for own words, where they are no plain text
	Switch        bool   // it is on or off; the first two options are that
	Select        bool   // its options are a list that opens
	Secret        bool   // what is typed is for nobody else, and is kept nowhere
	Options       []cardOption
	Words, Note   string
	Answer        string
}

type cardOption struct {
	N                  int
	Label, Description template.HTML
	Preview            template.HTML
	Plain              string // the label, for names of things
	Checked            bool
}

// lane is a project: what its cards say once.
type lane struct {
	Key, Name, Path, Branch, Machine, Group string
	Gone                                    bool // of those whose agent is
}

// cardOf is the card of a record, with all of what it is for, or folded.
func cardOf(r *hub.Record, now time.Time, whole bool) card {
	c := headOf(r, now)
	c.said(r)
	if c.Permission {
		c.permit(r, whole)
	}
	c.questions(r)
	if !r.Open() {
		c.Ending, c.Steps = endingText(r), stepsOf(r.End)
	}
	return c
}

// headOf is a card without what it is for.
func headOf(r *hub.Record, now time.Time) card {
	c := card{
		Key: cardID(r), Group: shownGroup(r), Conversation: encodeID(r.Conversation), Question: encodeID(r.ID), Revision: r.Revision, Fingerprint: r.Fingerprint(),
		Agent: agentOf(r), Model: short(cmp.Or(r.About.Known, r.About.Model), 120), Mark: "question", Verb: "asks", Reject: -1, Edited: -1,
		Asked: r.Asked.UTC().Format(time.RFC3339), Since: ago(now.Sub(r.Asked)), AskedFull: r.Asked.Format("2 Jan 2006, 15:04:05 MST"),
		Gone: r.Gone && r.Open(), Permission: r.Kind == "permission", NoReason: r.About.NoReason, Lane: laneOf(r), Talk: talkURL(r), Title: short(talkTitle(r), 100),
	}
	c.Badge, c.Hue = badgeOf(c.Agent)
	if c.Model == c.Agent || strings.Contains(c.Model, "devel") { // a build from a checkout has no version
		c.Model = ""
	}
	switch {
	case r.Call.Server != "":
		c.For = serverOf(r)
	case r.Call.SubAgent.Whose() != "":
		c.For = clean.Line(r.Call.SubAgent.Whose())
	}
	if r.Kind == "form" {
		c.Mark, c.Verb = "form", "has a form for you"
	}
	asks, _, _ := strings.Cut(strings.TrimSpace(r.Call.Questions[0].Text), "\n")
	c.Topic = short(unmarked.Replace(asks), 70)
	if c.Permission {
		v := toolView(r)
		c.Mark, c.Verb, c.Topic = v.Mark, v.Verb, cmp.Or(short(v.Topic(), 90), c.Topic)
	}
	return c
}

// unmarked takes the most common marks of Markdown off a line.
var unmarked = strings.NewReplacer("**", "", "`", "", "# ", "")

// serverOf is the MCP server that asks, as its forms say it.
func serverOf(r *hub.Record) string { return "MCP server " + clean.Line(r.Call.Server) }

// talkTitle is the name of the conversation. A program that says nothing about itself has
// given it the name that there is.
func talkTitle(r *hub.Record) string {
	title := cmp.Or(r.Title, r.About.Title)
	if title == "" && r.Agent == "" {
		title = r.Conversation
	}
	return title
}

func short(s string, n int) string { return clean.Truncate(clean.Line(s), n) }

// said is what was said before the asking.
func (c *card) said(r *hub.Record) {
	if r.About.Prompt == "" && r.About.Said == "" {
		return
	}
	var b strings.Builder
	write := func(who, text string) {
		if text != "" {
			b.WriteString(`<p class="speaker">` + who + `</p><div class="md">` + string(look.Markdown(text)) + `</div>`)
		}
	}
	write("You", r.About.Prompt)
	write("The agent", r.About.Said)
	c.Before = template.HTML(b.String())
	c.Last = look.Inline(clean.Truncate(clean.Block(lastWords(r.About.Said)), 300))
	first, _, _ := strings.Cut(strings.TrimSpace(r.About.Prompt), "\n")
	if c.Prompt = "You: " + short(unmarked.Replace(first), 90); first == "" {
		c.Prompt = "Earlier in the conversation"
	}
	if title := strings.TrimSuffix(c.Title, "…"); title != "" && strings.HasPrefix(clean.Line(r.About.Prompt), title) {
		c.Title = "" // it is the beginning of the prompt, which stands below
	}
}

// lastWords are the last paragraph of what was said; a list comes with what introduces it.
func lastWords(said string) string {
	parts := strings.Split(strings.TrimSpace(said), "\n\n")
	last := parts[len(parts)-1]
	if len(parts) > 1 && last != "" && strings.ContainsRune("-*123456789", rune(last[0])) {
		last = parts[len(parts)-2] + "\n" + last
	}
	return last
}

// toolView is what a permission is for.
func toolView(r *hub.Record) display.View {
	if len(r.Call.Questions) == 1 {
		return viewBelow(r, r.Call.Questions[0].Text)
	}
	return viewBelow(r, "")
}

// viewBelow is what a permission is for, and the title if it says more.
func viewBelow(r *hub.Record, title string) display.View {
	return r.About.Call(display.Tool{Name: r.Call.Name, Server: r.Call.Server, Title: title, Input: []byte(r.Detail)}).View(r.Dir)
}

// permit draws what a permission is for, and its buttons.
func (c *card) permit(r *hub.Record, whole bool) {
	t := look.Draw(toolView(r))
	if buttons(r) {
		c.picks(r, &t)
	}
	c.Seen = seenMark(r)
	if c.Thing = t.Whole(); !whole && t.Long() {
		if begin, more := t.Folded(); more >= minFold {
			c.Thing, c.More, c.Seen = begin, more, ""
		}
	}
}

// minFold is how many lines a fold hides at least: fewer are better seen.
const minFold = 5

// picks are the buttons. What is too long for one is part of what is permitted.
func (c *card) picks(r *hub.Record, t *look.Thing) {
	for i, o := range r.Call.Questions[0].Options {
		p := pick{N: i, Class: pickOf(r, i)}
		p.Gated = !strings.HasPrefix(p.Class, "reject")
		if p.Class == "edited" {
			c.Edited, c.Plan = i, t.Source
			continue
		}
		label, what := o.Label, o.Description
		if strings.HasPrefix(p.Class, "reject") {
			what = "" // that a reason may go with it is said below
		}
		if rest, ok := strings.CutPrefix(label, "Always allow "); ok {
			label, what = "Always allow", strings.TrimSpace(rest+" "+what)
		}
		if !onButton(label) {
			what = strings.TrimSpace(label + "\n" + what)
			label = short(label, maxOnButton/2)
		}
		if !onButton(what) {
			t.Also(clean.Line(label)+":", what)
			what = short(what, maxOnButton/2) + " All of it is above."
		}
		p.Label, p.What = look.Text(label), look.Text(what)
		switch p.Wide = len([]rune(label)) > 30; {
		case p.Class == "reject" && c.Reject < 0 && !r.About.NoReason:
			c.Reject = i
		case p.Class == "allow" && slices.ContainsFunc(c.Picks, func(o pick) bool { return o.Class == "allow" }):
			p.Class = "other" // one is the main one
		}
		c.Picks = append(c.Picks, p)
	}
	order := []string{"allow", "reject", "other", "always", "reject always"}
	slices.SortStableFunc(c.Picks, func(x, y pick) int { return slices.Index(order, x.Class) - slices.Index(order, y.Class) })
}

// maxOnButton is how many characters a button has.
const maxOnButton = 200

func onButton(s string) bool { return len([]rune(s)) <= maxOnButton && !strings.ContainsAny(s, "\r\n") }

// buttons reports whether a permission is decided by one of several buttons.
func buttons(r *hub.Record) bool {
	return len(r.Call.Questions) == 1 && r.Call.Questions[0].Closed && !r.Call.Questions[0].MultiSelect && len(r.Call.Questions[0].Options) > 0
}

// classes are those of buttons, by ACP's kinds of options.
var classes = map[string]string{
	"allow_once": "allow", "allow_always": "always", "allow_edited": "edited", "reject_once": "reject", "reject_always": "reject always",
}

// pickOf says what an option of a permission does: by its kind where the agent says
// it, else by its words. What is unknown is no rejection.
func pickOf(r *hub.Record, i int) string {
	options := r.Call.Questions[0].Options
	if len(r.About.Picks) == len(options) && classes[r.About.Picks[i]] != "" {
		return classes[r.About.Picks[i]]
	}
	label := strings.ToLower(clean.Line(options[i].Label))
	if strings.Contains(label, "always") {
		return "always"
	}
	return cmp.Or(labels[label], "other")
}

// labels are what buttons without a kind are called.
var labels = map[string]string{"allow": "allow", "yes": "allow", "approve": "allow", "reject": "reject", "deny": "reject", "no": "reject"}

// seenMark is what the whole of a permission has at its end and nothing else: a
// page that sends it had all of it. That it was in view, only the page can know.
func seenMark(r *hub.Record) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "seen %s %s", r.Fingerprint(), cardID(r)))
	return hex.EncodeToString(sum[:12])
}

// answerText is an answer for people: as it was given, not as it is encoded.
func answerText(r *hub.Record, a convert.Answer) string {
	text := convert.WithNote(strings.Join(a.Items(), ", "), a.Note)
	if r.Kind == "permission" && buttons(r) && len(a.Selected) == 1 {
		text = strings.TrimSuffix(cmp.Or(told[a.Selected[0]], a.Selected[0])+": "+a.Note, ": ")
	}
	return clean.Block(text)
}

// Steps is the path, which breaks behind its slashes.
func (l lane) Steps() template.HTML {
	return template.HTML(strings.NewReplacer("/", "/<wbr>", `\`, `\<wbr>`).Replace(template.HTMLEscapeString(l.Path)))
}

// laneOf is the project that an asking belongs to.
func laneOf(r *hub.Record) lane {
	l := lane{Path: short(r.Dir, 200), Branch: short(r.About.Branch, 60), Machine: short(r.Machine, 60), Group: shownGroup(r)}
	if l.Name = l.Path[strings.LastIndexAny(l.Path, `/\`)+1:]; l.Name == "" {
		l.Name = cmp.Or(l.Path, "No folder")
	}
	if l.Path == l.Name {
		l.Path = ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", r.Group, r.Machine, r.Dir, r.About.Branch))
	l.Key = "lane" + hex.EncodeToString(sum[:6])
	return l
}

func talkURL(r *hub.Record) string {
	u := "/conversations/" + url.PathEscape(r.Conversation)
	if r.Group != "" {
		u += "?group=" + url.QueryEscape(r.Group)
	}
	return u
}

// badgeOf is an agent's letters and its colour, the same for the same name.
func badgeOf(agent string) (letters string, hue int) {
	for _, word := range strings.FieldsFunc(agent, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if letters += string([]rune(word)[:1]); len(letters) >= 2 {
			break
		}
	}
	if r := []rune(agent); len([]rune(letters)) == 1 && len(r) > 1 && unicode.IsLetter(r[1]) {
		letters = string(r[:2])
	}
	for _, b := range []byte(agent) {
		hue = (hue*31 + int(b)) % 6
	}
	return letters, hue
}

// ago is a time that has passed, in one word or two.
func ago(d time.Duration) string {
	switch {
	case d < 5*time.Second:
		return "now"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours())/24) + " days"
}

// cardID names a question's card on the page. Of several that were asked under
// one id, each has its own: the time of asking tells them apart.
func cardID(r *hub.Record) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d", r.Group, r.Conversation, r.ID, r.Asked.UnixNano()))
	return "q" + hex.EncodeToString(sum[:8])
}

// encodeID makes an id fit for a form, which would change line breaks.
func encodeID(id string) string { return base64.RawURLEncoding.EncodeToString([]byte(id)) }

func decodeID(s string) string {
	id, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return ""
	}
	return string(id)
}

// endings are what people do with an asking, in words.
var endings = map[convert.Status]string{convert.Answered: "Answered", convert.Declined: "Declined", convert.Cancelled: "Dismissed"}

// endingText says how a question ended and by whom.
func endingText(r *hub.Record) string {
	e := r.End
	text := cmp.Or(endings[e.Status()], "Withdrawn")
	if e.Left() {
		text = "Left to the terminal, where it may still be open"
	}
	if e.By != "" {
		text += " by " + clean.Line(e.By)
		if e.Elsewhere {
			text += ", according to the agent's machine"
		}
	}
	switch {
	case e.Forgotten:
		return text + ". The answer, and who gave it, were removed."
	case e.Undelivered != "":
		return text + ". It could not be delivered: " + clean.Line(e.Undelivered) + "."
	case e.Receipt() == "unknown":
		return text + ". It is not known whether the agent took it: " + clean.Line(e.Unsure) + "."
	case e.By == "" || e.Receipt() != "accepted":
		return text + "."
	case r.Gone:
		return text + ". The agent is gone. It is kept until the agent comes back."
	}
	return text + ". The agent has not fetched it yet."
}

// stepsOf is how far an answer got: sent to the hub, taken by the agent's process,
// used by the agent.
func stepsOf(e *hub.End) []step {
	if e.By == "" || e.Undelivered != "" {
		return nil
	}
	return []step{{"sent", true}, {"delivered", !e.Delivered.IsZero() && e.Receipt() != "unknown"}, {"used", !e.Consumed.IsZero()}}
}
