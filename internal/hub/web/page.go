package web

import (
	"errors"
	"fmt"
	"html/template"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"asset": addressOf}).ParseFS(files, "page/page.html"))
})

// maxLines is how many questions the page lists at a time, and maxCards how many of them it
// has all of. A card is some 4 kB and a line 0.5: on a slow phone a hundred cards take three
// seconds.
const maxLines, maxCards = 300, 50

// render writes a page, a part at a time: all of it may be more than there is room
// for, for each of many slow readers.
func render(w http.ResponseWriter, status int, name string, data any) error {
	p := &part{stream: stream{w: w}, status: status}
	err := templates().ExecuteTemplate(p, name, data)
	switch {
	case err != nil && !p.begun:
		write(w, http.StatusInternalServerError, map[string]string{"error": "the page cannot be shown"})
	case err != nil, p.send() != nil:
		panic(http.ErrAbortHandler) // who reads it sees that it has no end
	}
	return nil
}

func show(w http.ResponseWriter, name string, data any) error {
	return render(w, http.StatusOK, name, data)
}

// part is a page on its way.
type part struct {
	stream
	status int
	begun  bool
}

func (p *part) Write(text []byte) (int, error) {
	p.stream.Write(text)
	if p.full() {
		return len(text), p.send()
	}
	return len(text), nil
}

func (p *part) send() error {
	if !p.begun {
		p.begun = true
		p.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		p.w.WriteHeader(p.status)
	}
	return p.flush()
}

// drawn are the cards of records, each made when it is its turn.
func drawn(list []*hub.Record, draw func(*hub.Record) card) iter.Seq[card] {
	return func(yield func(card) bool) {
		for _, r := range list {
			if !yield(draw(r)) {
				return
			}
		}
	}
}

// accepted is what only a hub replies to an answer: its scripts take nothing else for a yes.
var accepted = map[string]bool{"accepted": true}

// answerForm takes the page's form. Options are named by their place, which the
// revision pins down.
func (s *Server) answerForm(w http.ResponseWriter, r *http.Request, d Device, g given) error {
	form := g.form
	revision, _ := strconv.ParseUint(form.Get("revision"), 10, 64) // 0 is none
	ref := hub.Ref{Group: form.Get("group"), Conversation: decodeID(form.Get("conversation")), ID: decodeID(form.Get("question")), Revision: revision, Fingerprint: form.Get("asked"), May: s.may(d)}
	if revision == 0 || ref.ID == "" || ref.Fingerprint == "" {
		return statusError{http.StatusBadRequest, "the form does not say which question it answers"}
	}
	if do := form.Get("do"); do != "" && do != "answer" && do != "cancel" && do != "decline" {
		return statusError{http.StatusBadRequest, "do: expected answer, decline or cancel"}
	}
	_, err := s.find(d, ref)
	if errors.Is(err, hub.ErrNotFound) { // another hub may have shown it
		if err = s.board.CatchUp(r.Context()); err == nil {
			_, err = s.find(d, ref)
		}
	}
	switch {
	case err != nil:
	case form.Get("do") == "cancel":
		_, err = s.board.Cancel(r.Context(), ref, d.Name)
	default:
		err = s.answer(r, ref, d, func(rec *hub.Record) ([]convert.Answer, error) {
			if err := permitted(rec, form); err != nil {
				return nil, err
			}
			return answersOf(rec, form)
		})
	}
	asJSON := strings.Contains(r.Header.Get("Accept"), "application/json")
	switch {
	case asJSON:
		return reply(w, accepted, err)
	case err == nil && form.Get(pageField) != "":
		data := s.waiting(d, view{secret: form.Get(pageField)})
		if data["Said"] = "Your answer was accepted."; form.Get("do") == "cancel" {
			data["Said"] = "The question was dismissed."
		}
		return show(w, "page", data)
	case err == nil:
		return home(w, r)
	}
	return s.formProblem(w, d, ref, form, err)
}

// permitted refuses a permission that was not shown to its end, or that comes with words or edits
// of a plan: they would be lost, and may be a condition. A page that never had the end has nothing
// to send; whether the person looked at it, the page checks.
func permitted(r *hub.Record, form url.Values) error {
	if r.Kind != "permission" || !r.Open() {
		return nil
	}
	if picks := form["a0"]; buttons(r) && len(picks) == 1 {
		i, err := optionAt(r.Call.Questions[0], picks[0])
		if err != nil {
			return err
		}
		switch plan := strings.TrimSpace(form.Get("plan")); pickOf(r, i) {
		case "reject", "reject always":
			return nil
		case "edited":
			if plan == "" {
				return badf("write the plan as you want it")
			}
			form.Set("n0", plan)
			return seenEnd(r, form)
		}
		if strings.TrimSpace(form.Get("n0")) != "" {
			return badf("a reason goes with a rejection: clear it to allow this, or reject")
		}
		if form.Has("plan") && !sameText(form.Get("plan"), toolView(r).Source) {
			return badf("the plan was edited: approve the edited plan, or undo the edits")
		}
	}
	return seenEnd(r, form)
}

// optionAt is the option that a form names by its place.
func optionAt(q convert.Question, place string) (int, error) {
	for i := range q.Options {
		if strconv.Itoa(i) == place {
			return i, nil
		}
	}
	return 0, badf("%q is not an option of %q", place, q.Text)
}

// asInForm is what a form makes of a text.
var asInForm = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\ufffd")

// sameText compares what a form has made of a text with the text.
func sameText(x, y string) bool {
	plain := func(s string) string { return strings.TrimSpace(asInForm.Replace(s)) }
	return plain(x) == plain(y)
}

func seenEnd(r *hub.Record, form url.Values) error {
	if form.Get("seen") != seenMark(r) {
		return badf("not sent: you have not seen the end of what this would permit. Look at all of it first")
	}
	return nil
}

// formProblem shows what was wrong, and the form with all that was filled in.
func (s *Server) formProblem(w http.ResponseWriter, d Device, ref hub.Ref, form url.Values, err error) error {
	code, text := s.problem(err)
	data := map[string]any{"Problem": text, "Card": nil}
	if rec, err := s.find(d, ref); err == nil && rec.Open() {
		c := cardOf(rec, time.Now(), true)
		c.Page = form.Get(pageField)
		if rec.Saw(ref.Revision) && rec.Fingerprint() == ref.Fingerprint {
			c.fill(form)
		}
		data["Card"] = &c
	}
	return render(w, code, "problem", data)
}

func (c *card) fill(form url.Values) {
	if form.Has("plan") && c.Edited >= 0 && !sameText(form.Get("plan"), c.Plan) {
		c.Draft = form.Get("plan")
	}
	for i := range c.Questions {
		q := &c.Questions[i]
		picks := form["a"+strconv.Itoa(i)]
		for j := range q.Options {
			q.Options[j].Checked = slices.Contains(picks, strconv.Itoa(j))
		}
		q.Words, q.Note = form.Get("t"+strconv.Itoa(i)), form.Get("n"+strconv.Itoa(i))
	}
}

// answersOf are the answers that a form gives: those in its fields, or that it is declined
// as a whole.
func answersOf(r *hub.Record, form url.Values) ([]convert.Answer, error) {
	if form.Get("do") == "decline" {
		answers := declining(r.Call)
		if answers == nil {
			return nil, badf("this cannot be declined")
		}
		return answers, nil
	}
	return formAnswers(r.Call, form)
}

// takesNotes reports whether a note reaches who asks: a server's form has no place for one.
func takesNotes(r *hub.Record) bool { return r.Kind != "form" || r.Call.Server == "" }

// formAnswers reads the fields of the page's form. Own words beside a pick are not
// thrown away and not taken for a note: they are asked about.
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
		picks := form["a"+n]
		if len(picks) == 0 { // a switch that is off sends nothing itself
			picks = form["b"+n]
		}
		for _, v := range picks {
			if v == "" {
				continue // nothing was chosen of a list
			}
			if v == "other" {
				other = true
				continue
			}
			j, err := optionAt(q, v)
			if err != nil {
				return nil, err
			}
			a.Selected = append(a.Selected, q.Options[j].Label)
		}
		switch {
		case other && text == "":
			return nil, fmt.Errorf("%w: write your own words, or pick something else", convert.ErrNoAnswer)
		case !q.MultiSelect && text != "" && len(a.Selected) > 0:
			return nil, fmt.Errorf("%w: you picked %q and wrote your own words: keep one of the two", convert.ErrBadAnswer, clean.Truncate(clean.Line(a.Selected[0]), 80))
		}
		a.Text = text
		if i := skip(q); a.Empty() && i >= 0 && c.Server != "" && declining(c) != nil {
			a.Selected = []string{q.Options[i].Label} // a field that may stay empty did
		}
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
