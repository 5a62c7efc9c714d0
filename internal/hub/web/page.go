package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

//go:embed page
var files embed.FS

var templates = template.Must(template.ParseFS(files, "page/page.html"))

// maxCards is how many questions the page shows at a time.
const maxCards = 50

func asset(name, kind string) http.HandlerFunc {
	data, err := files.ReadFile("page/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(data)
	}
}

func render(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		fail(w, http.StatusInternalServerError, "the page cannot be shown")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = send(w, b.Bytes())
}

// card is a question call as the page shows it. All texts are cleaned; the
// template escapes them.
type card struct {
	Page                        string // what the page knows, see [loginSession]
	Permission                  bool
	Key, Conversation, Question string
	Group                       string
	Revision                    uint64
	Fingerprint                 string
	Who, Place, Detail          string
	Asked, AskedShort           string
	Gone                        bool
	Problem                     string
	Questions                   []cardQuestion
	// Of a settled one.
	At, AtShort, Ending string
}

type cardQuestion struct {
	N                   int
	Header, Text, Input string
	Closed, Other, Long bool
	Options             []cardOption
	Words, Note, Answer string
}

type cardOption struct {
	N                           int
	Label, Description, Preview string
	Checked                     bool
}

// longText is how much text gets a box to scroll in.
const longText = 1500

func cardOf(r *hub.Record) card {
	c := card{
		Key: cardID(r), Group: shownGroup(r), Conversation: encodeID(r.Conversation), Question: encodeID(r.ID), Revision: r.Revision, Fingerprint: r.Fingerprint(),
		Who: cmp.Or(clean.Line(r.Agent), "An agent"), Place: placeOf(r), Detail: fold(clean.Visible(r.Detail)), Permission: r.Kind == "permission",
		Asked: r.Asked.UTC().Format(time.RFC3339), AskedShort: r.Asked.Format("2 Jan 15:04"), Gone: r.Gone,
	}
	switch {
	case r.Call.Server != "":
		c.Who += " · " + clean.Line(r.Call.Server)
	case ask.Whose(r.Call) != "":
		c.Who += " · " + ask.Whose(r.Call)
	case r.Kind == "permission":
		c.Who += " · needs permission"
	}
	shown := clean.Block
	if c.Permission {
		shown = clean.Visible
	}
	for i, q := range r.Call.Questions {
		v := cardQuestion{N: i, Header: clean.Line(q.Header), Text: fold(shown(q.Text)), Input: "radio", Closed: q.Closed, Long: len(q.Text) > longText}
		if q.MultiSelect {
			v.Input = "checkbox"
		}
		for j, o := range q.Options {
			v.Options = append(v.Options, cardOption{N: j, Label: fold(clean.Block(o.Label)), Description: fold(clean.Block(o.Description)), Preview: clean.Block(o.Preview)})
		}
		if !r.Open() && i < len(r.End.Answers) {
			a := r.End.Answers[i]
			v.Answer = clean.Block(convert.WithNote(convert.Join(a.Items()), a.Note))
		}
		c.Questions = append(c.Questions, v)
	}
	if !r.Open() {
		c.At, c.AtShort = r.End.At.UTC().Format(time.RFC3339), r.End.At.Format("2 Jan 15:04")
		c.Ending = endingText(r)
	}
	return c
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

func placeOf(r *hub.Record) string {
	parts := slices.DeleteFunc([]string{clean.Line(r.Machine), clean.Line(r.Dir)}, func(s string) bool { return s == "" })
	return strings.Join(parts, ": ")
}

// endingText says how a question ended and how far the answer has got.
func endingText(r *hub.Record) string {
	e := r.End
	text := strings.ToUpper(e.Outcome[:1]) + e.Outcome[1:]
	if e.By != "" {
		text += " by " + clean.Line(e.By)
		if e.Elsewhere {
			text += ", as the agent's machine says"
		}
	}
	if e.Forgotten {
		return text + ". What was said, and by whom, was removed."
	}
	switch e.Receipt() {
	case "consumed":
		return text + ". The agent has it."
	case "delivered":
		return text + ". The agent's process has it."
	case "undeliverable":
		return text + ". It could not be delivered: " + clean.Line(e.Undelivered) + "."
	}
	if e.By == "" {
		return text + "."
	}
	return text + ". The agent has not fetched it yet."
}

// waiting is what the page shows: the newest, and also those that somebody has
// begun to answer.
func (s *Server) waiting(d Device, also []string, secret string) map[string]any {
	open, _ := s.board.Waiting(math.MaxInt)
	open = only(open, d.sees)
	total := len(open)
	list, rest := share(open, maxCards)
	for _, r := range rest {
		if len(also) == 0 {
			break
		}
		if slices.Contains(also, cardID(r)) {
			list = append(list, r)
		}
	}
	cards := make([]card, len(list))
	for i, r := range list {
		cards[i] = cardOf(r)
		cards[i].Page = secret
	}
	count := "Nothing waits."
	switch {
	case total == 1:
		count = "1 question waits."
	case total > maxCards:
		count = fmt.Sprintf("%d questions wait. These are the newest %d.", total, maxCards)
	case total > 1:
		count = fmt.Sprintf("%d questions wait.", total)
	}
	title := "Questions"
	if total > 0 {
		title = fmt.Sprintf("(%d) Questions", total)
	}
	return map[string]any{"Title": title, "Cards": cards, "Total": total, "Count": count, "Page": secret}
}

// share returns up to most of the open questions, the newest first, and the others.
// While others wait, no device has more than half of the places: what one asks hides
// nobody else's.
func share(open []*hub.Record, most int) (list, rest []*hub.Record) {
	of, left := map[string]int{}, most
	first := make([]bool, len(open))
	for _, bound := range []int{most / 2, most} {
		for i, r := range open {
			if left > 0 && !first[i] && of[r.Device] < bound {
				first[i] = true
				of[r.Device]++
				left--
			}
		}
	}
	for i, r := range open {
		if first[i] {
			list = append(list, r)
		} else {
			rest = append(rest, r)
		}
	}
	return list, rest
}

func (s *Server) showPage(w http.ResponseWriter, _ *http.Request, d Device) {
	render(w, http.StatusOK, "page", s.waiting(d, nil, ""))
}

func (s *Server) showCards(w http.ResponseWriter, r *http.Request, d Device) {
	also := strings.FieldsFunc(r.Form.Get("also"), func(c rune) bool { return c == ',' })
	render(w, http.StatusOK, "cards", s.waiting(d, also[:min(len(also), maxCards)], ""))
}

// answerForm takes the page's form. Options are named by their place, which the
// revision pins down.
func (s *Server) answerForm(w http.ResponseWriter, r *http.Request, d Device, g given) {
	form := g.form
	revision, err := strconv.ParseUint(form.Get("revision"), 10, 64)
	ref := hub.Ref{Group: form.Get("group"), Conversation: decodeID(form.Get("conversation")), ID: decodeID(form.Get("question")), Revision: revision, Fingerprint: form.Get("asked"), May: s.may(d)}
	if err != nil || revision == 0 || ref.ID == "" || ref.Fingerprint == "" {
		fail(w, http.StatusBadRequest, "the form does not say which question it answers")
		return
	}
	if do := form.Get("do"); do != "" && do != "answer" && do != "cancel" {
		fail(w, http.StatusBadRequest, "do: expected answer or cancel")
		return
	}
	if _, err = s.find(d, ref); errors.Is(err, hub.ErrNotFound) { // another hub may have shown it
		if err = s.board.CatchUp(r.Context()); err == nil {
			_, err = s.find(d, ref)
		}
	}
	switch {
	case err != nil:
	case form.Get("do") == "cancel":
		_, err = s.board.Cancel(r.Context(), ref, d.Name)
	default:
		err = s.answer(r, ref, d, func(rec *hub.Record) ([]convert.Answer, error) { return formAnswers(rec.Call, form) })
	}
	asJSON := strings.Contains(r.Header.Get("Accept"), "application/json")
	switch {
	case err == nil && asJSON:
		reply(w, http.StatusOK, map[string]string{})
	case err == nil && form.Get(pageField) != "":
		s.showAgain(w, r, d, g)
	case err == nil:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case asJSON:
		s.failed(w, err)
	default:
		s.formProblem(w, d, ref, form, err)
	}
}

// formProblem shows what was wrong, and the form with all that was filled in.
func (s *Server) formProblem(w http.ResponseWriter, d Device, ref hub.Ref, form url.Values, err error) {
	code, text := s.problem(err)
	data := map[string]any{"Problem": text, "Card": nil}
	if rec, err := s.find(d, ref); err == nil && rec.Open() {
		c := cardOf(rec)
		c.Page = form.Get(pageField)
		if rec.Revision == ref.Revision && rec.Fingerprint() == ref.Fingerprint {
			c.fill(form)
		}
		data["Card"] = &c
	}
	render(w, code, "problem", data)
}

func (c *card) fill(form url.Values) {
	for i := range c.Questions {
		q := &c.Questions[i]
		picks := form["a"+strconv.Itoa(i)]
		for j := range q.Options {
			q.Options[j].Checked = slices.Contains(picks, strconv.Itoa(j))
		}
		q.Other = slices.Contains(picks, "other")
		q.Words, q.Note = form.Get("t"+strconv.Itoa(i)), form.Get("n"+strconv.Itoa(i))
	}
}

// formAnswers reads the fields of the page's form. A text without Other picked
// is not thrown away and not taken for an answer: it is asked about.
func formAnswers(c convert.Call, form url.Values) ([]convert.Answer, error) {
	for name := range form {
		if n, err := strconv.Atoi(name[1:]); numbered.MatchString(name) && (err != nil || n >= len(c.Questions)) {
			return nil, badf("field %q: there are %d questions", name, len(c.Questions))
		}
	}
	answers := make([]convert.Answer, len(c.Questions))
	for i, q := range c.Questions {
		n := strconv.Itoa(i)
		text := strings.ReplaceAll(strings.TrimSpace(form.Get("t"+n)), "\r\n", "\n")
		a := convert.Answer{Note: strings.ReplaceAll(strings.TrimSpace(form.Get("n"+n)), "\r\n", "\n")}
		other := len(q.Options) == 0
		for _, v := range form["a"+n] {
			if v == "other" {
				other = true
				continue
			}
			j, err := strconv.Atoi(v)
			if err != nil || j < 0 || j >= len(q.Options) {
				return nil, badf("%q is no option of %q", v, q.Text)
			}
			a.Selected = append(a.Selected, q.Options[j].Label)
		}
		switch {
		case other && text == "" && len(q.Options) > 0:
			return nil, fmt.Errorf("%w: write your own words beside Other, or pick something else", convert.ErrNoAnswer)
		case !other && text != "":
			return nil, fmt.Errorf("%w: you wrote your own words without picking Other", convert.ErrBadAnswer)
		}
		a.Text = text
		if a.Empty() {
			return nil, fmt.Errorf("%w to %q", convert.ErrNoAnswer, clean.Truncate(clean.Line(q.Text), 80))
		}
		if err := checkAnswer(q, a); err != nil {
			return nil, err
		}
		answers[i] = a
	}
	return answers, nil
}
