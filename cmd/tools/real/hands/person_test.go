package hands_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

var (
	personLives = flag.Int("person.lives", 100, "how many lives TestWhatAPersonMeans plays")
	personFirst = flag.Uint64("person.first", 1, "the seed of the first one")
	personSpeed = flag.Int("person.speed", 10, "how much faster than a person's the time of the page runs at most; a slow machine has it run slower")
)

// A person sits at a real page with keys, a pointer and a finger, while cards come, end and
// move under their hands. They decide by what is on the screen, and touch what they saw
// there a moment ago; they change their mind, type where a field has just gone, and press
// keys that mean nothing. What an agent gets from this page, its person meant for just that
// card, had not taken back, and had seen.
//
//	go -C cmd/tools test ./real/hands -run TestWhatAPersonMeans -person.lives 2000 -person.first 1000
func TestWhatAPersonMeans(t *testing.T) {
	t.Parallel()
	const desks = 4
	total, mu := map[string]int{}, sync.Mutex{}
	t.Run("desks", func(t *testing.T) {
		for d := range desks {
			t.Run(fmt.Sprint(d), func(t *testing.T) {
				t.Parallel()
				w := newDesk(t, d%2 == 1)
				for i := d; i < *personLives; i += desks {
					w.live(*personFirst + uint64(i))
				}
				mu.Lock()
				defer mu.Unlock()
				for what, n := range w.count {
					total[what] += n
				}
			})
		}
	})
	if len(total) == 0 {
		t.Skip("there is no browser")
	}
	t.Log(total)
	if *personLives < 100 || t.Failed() {
		return
	}
	require.Less(t, 2*total["too slow"], *personLives, "most lives were judged")
	for i, what := range []string{"got Allow", "got answered", "taken back", "ended under the hands", "got Reject", "got cancelled"} {
		if i > 3 && *personLives < 400 {
			break // these are rare
		}
		require.NotZero(t, total[what], "the lives do not reach this: %s", what)
	}
}

// meaning is what a person wants to say to a card.
type meaning struct{ revision, outcome, pick, text, note, fields string }

// desk is a person, the page, and the world around it.
type desk struct {
	*site
	t       *testing.T
	p       *tab
	phone   bool
	r       *rand.Rand
	log     []string
	count   map[string]int
	records []*hub.Record
	means   map[meaning]bool
	many    []string
	at      string // the revision of the card in which the person types
	slow    bool   // the machine was slower than hands are
	speed   int    // how much faster than a person's the time of the page runs
	serial  int
}

// target is something in view that can be touched, or that has the focus.
type target struct {
	X, Y                              float64
	Revision, Kind, Label, Text, Note string
	Plan                              string
	Picks, Fields                     []string
	List                              []string // the revisions of all that it is for
	Off, Edited                       bool
}

// touched is when something was pressed last, and what it was.
type touched struct {
	Now  float64
	What *target
}

// hands is where keys go, and what is pending.
type hands struct {
	Now     float64
	At      *target
	InView  bool
	Dialog  bool // is over the page
	Options []string
	Pending []string
}

func newDesk(t *testing.T, phone bool) *desk {
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	b.patience = time.Minute
	script, err := os.ReadFile("testdata/person.js")
	require.NoError(t, err)
	w := &desk{site: s, t: t, phone: phone, count: map[string]int{}, speed: *personSpeed}
	width := 1100
	if phone {
		width = 390
	}
	w.p = s.visit(b, width, false)
	w.p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 760, "deviceScaleFactor": 1, "mobile": phone})
	w.p.call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": phone})
	w.p.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": strings.ReplaceAll(string(script), "SPEED", fmt.Sprint(*personSpeed))})
	w.p.open(s.url + "/?person")
	return w
}

func (w *desk) note(what string, args ...any) { w.log = append(w.log, fmt.Sprintf(what, args...)) }

func (w *desk) live(seed uint64) {
	w.r, w.log, w.means, w.records = rand.New(rand.NewPCG(seed, 38)), nil, map[meaning]bool{}, nil
	defer func() {
		if w.t.Failed() {
			w.t.Logf("seed %d:\n%s", seed, strings.Join(w.log, "\n"))
			var diary []string
			w.p.reads(`diary`, &diary)
			w.t.Logf("diary:\n%s", strings.Join(diary, "\n"))
			w.t.Logf("the page shows:\n%s", w.p.eval(`document.body.innerText`))
		}
	}()
	for range 2 + w.r.IntN(2) {
		w.asks()
	}
	w.p.until(fmt.Sprintf(`document.querySelectorAll(".card:not(.over)").length === %d`, len(w.records)))
	w.slow = false
	w.p.eval(fmt.Sprintf(`runs(%d)`, w.speed))
	if w.r.IntN(3) == 0 { // one who reads all of it first
		w.p.eval(`(async () => {
			for (const thing of document.querySelectorAll(".card .thing")) { thing.scrollIntoView({ block: "end", behavior: "instant" }); await new Promise((done) => setTimeout(done, 2000)); }
			scrollTo({ top: 1e6, behavior: "instant" });
			await new Promise((done) => setTimeout(done, 1000));
		})()`)
	}
	for range 8 {
		w.act()
	}
	w.p.until(`!document.querySelector(".sending:not([hidden])")`)
	if w.slow {
		w.count["too slow"]++
		w.speed = max(1, w.speed/2) // the next is slow enough for it
	} else {
		w.judge()
		w.speed = min(*personSpeed, w.speed+w.serial%2) // not too soon: it is as slow still
	}
	for _, r := range w.records {
		_ = w.cancel(r, "the end")
	}
	w.p.eval(`document.activeElement.blur(); document.querySelectorAll(".unsent button").forEach((b) => b.click()); scrollTo(0, 0); 0`)
	w.p.until(`!document.querySelector(".card:not(.over)")`)
}

// judge compares what each agent got from this page with what its person meant.
func (w *desk) judge() {
	var seen map[string]bool
	w.p.reads(`sawEnd`, &seen)
	for _, r := range w.records {
		now, err := w.board.FindRef(r.Ref())
		require.NoError(w.t, err)
		if now.Open() || now.End.By != web.Owner {
			continue
		}
		m := meaning{revision: fmt.Sprint(r.Revision), outcome: now.End.Outcome}
		if r.Kind == "form" {
			m.fields = fieldsOf(now.End.Answers)
		} else if len(now.End.Answers) > 0 {
			a := now.End.Answers[0]
			m.pick, m.text, m.note = strings.Join(a.Selected, ","), a.Text, a.Note
		}
		require.True(w.t, w.means[m], "%s got what nobody meant: %+v", r.Call.Questions[0].Text, m)
		require.True(w.t, !strings.HasPrefix(m.pick, "Allow") || seen[m.revision], "%+v: its last line was never in view", m)
		switch {
		case r.Kind == "permission" && m.pick != "":
			w.count["got "+m.pick]++
		case m.fields != "":
			w.count["got fields"]++
		default:
			w.count["got "+m.outcome]++
		}
	}
}

// fieldsOf are the answers to the fields of a form.
func fieldsOf(answers []convert.Answer) string {
	var all []string
	for _, a := range answers {
		all = append(all, strings.Join(a.Items(), ","))
	}
	return strings.Join(all, "|")
}

// asks has an agent ask something.
func (w *desk) asks() {
	w.serial++
	if w.r.IntN(6) == 0 {
		w.note("a form is asked")
		w.records = append(w.records, w.deployForm(fmt.Sprint("form", w.serial)))
		return
	}
	id, command := fmt.Sprint("t", w.serial), fmt.Sprint("echo ", w.serial)
	a := hub.Asking{Conversation: fmt.Sprint("c", w.r.IntN(2)), Agent: "Claude Code", Machine: "laptop", Dir: fmt.Sprint("/src/", w.r.IntN(2)), Dialect: "bridge",
		Call: convert.Call{ID: id, Questions: []convert.Question{{Text: "Which one, " + id + "?", Options: []convert.Option{{Label: "one"}, {Label: "two"}, {Label: "three"}}}}}}
	if w.r.IntN(2) == 0 {
		if w.r.IntN(2) == 0 {
			command += strings.Repeat("\necho working", 16+w.r.IntN(30))
		}
		a.Kind, a.Detail = "permission", fmt.Sprintf(`{"command":%s}`, quoted(command+"\n: the last line"))
		a.About.Tool = about.Tool{Kind: "execute", Picks: []string{"allow_once", "reject_once"}}
		a.Call.Name, a.Call.Questions[0] = "Bash", convert.Question{Text: command, Closed: true, Options: []convert.Option{{Label: "Allow"}, {Label: "Reject"}}}
		if w.r.IntN(3) == 0 {
			a.Call.Name, a.Detail = "ExitPlanMode", fmt.Sprintf(`{"plan":%s}`, quoted(fmt.Sprintf("# Plan %d\n%s\nthe last line", w.serial, strings.Repeat("\nOne more step.\n", w.r.IntN(20)))))
			a.About.Tool = about.Tool{Kind: "switch_mode", Picks: []string{"allow_once", "reject_once", "allow_edited"}}
			a.Call.Questions[0].Options = append(a.Call.Questions[0].Options, convert.Option{Label: "Allow my plan"})
		}
	}
	r := w.post(a)
	w.records = append(w.records, r)
	w.note("%d is asked: %s", r.Revision, a.Kind)
}

// world does something while hands are busy, or nothing: a card ends, perhaps the one that
// is typed in, or one comes.
func (w *desk) world() {
	open := slices.DeleteFunc(slices.Clone(w.records), func(r *hub.Record) bool {
		now, err := w.board.FindRef(r.Ref())
		return err != nil || !now.Open()
	})
	switch {
	case w.r.IntN(3) > 0:
	case len(open) < 5 && w.r.IntN(2) == 0 || len(open) == 0:
		w.asks()
	default:
		r := open[w.r.IntN(len(open))]
		if i := slices.IndexFunc(open, func(r *hub.Record) bool { return fmt.Sprint(r.Revision) == w.at }); i >= 0 {
			r = open[i]
			w.count["ended under the hands"]++
		}
		if err := w.cancel(r, "phone"); !errors.Is(err, hub.ErrSettled) {
			require.NoError(w.t, err)
		}
		w.note("%d ends elsewhere", r.Revision)
	}
}

// pause is what hands need, in the page's time.
func (w *desk) pause(ms int) {
	time.Sleep(time.Duration(ms) * time.Millisecond / time.Duration(w.speed))
}

func (w *desk) hands() (h hands) { w.p.reads(`hands()`, &h); return h }

// act is one thing that a person does.
func (w *desk) act() {
	switch n := w.r.IntN(20); {
	case n < 12:
		w.touches()
	case n < 15:
		w.keys()
	case n < 17: // words, wherever the focus is
		w.words([]string{"always a\n", "no, 1 is as a\n", "just keep it", "2 please"}[w.r.IntN(4)])
	case n < 18:
		w.p.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseWheel", "x": 200, "y": 400, "deltaX": 0, "deltaY": []int{w.r.IntN(900) - 300, 9000}[w.r.IntN(2)]})
		w.pause(3000) // it glides
	default:
		w.pause(w.r.IntN(2500))
	}
	w.world()
	w.pause(w.r.IntN(600))
}

// touches has the person touch what they saw at a place, a moment later.
func (w *desk) touches() {
	var list []target
	before := w.hands()
	if w.p.reads(`targets()`, &list); len(list) == 0 {
		return
	}
	t := list[w.r.IntN(len(list))]
	rare := slices.IndexFunc(list, func(t target) bool {
		return slices.Contains([]string{"edited", "edit", "decline"}, t.Kind) || t.Kind == "dots" && t.Plan != "" && !t.Edited || t.Kind == "field" && slices.Contains(t.Fields, "Skip")
	})
	if rare >= 0 && w.r.IntN(3) == 0 {
		t = list[rare]
	}
	if i := slices.IndexFunc(list, func(t target) bool { return t.Kind == "list" || t.Kind == "all" }); i >= 0 && w.r.IntN(2) == 0 {
		t = list[i]
	}
	if w.r.IntN(3) == 0 {
		w.world()
	}
	w.pause(100 + w.r.IntN(200))
	took := w.gap(func() { w.presses(t) })
	w.slow = w.slow || t.Kind == "text" && took > 400 // these were no two halves of a double click
	w.note("touches %+v", t)
	met := w.touched()
	w.note("  met %+v", met.What)
	if t.Kind == "undo all" {
		for _, revision := range w.many {
			w.takesBack(before, revision, met.Now)
		}
	}
	if t.Revision != "" && t.Kind != "now" && t.Kind != "text" && met.What != nil { // to select what is written is to read, and who meets nothing sees that
		w.takesBack(before, t.Revision, met.Now)
	}
	w.meant(t)
	// A machine that is slower than hands has touched what came there, or what was grey.
	if m := met.What; m != nil && (met.Now-before.Now > 450 || t.Off && m.Revision == t.Revision && m.Label == t.Label) {
		w.meant(*m)
	}
	switch t.Kind {
	case "open", "edit", "field":
		w.words([]string{"always use 1 ninja", "not a b"}[w.r.IntN(2)])
	case "text":
		w.words("a\n")
	}
}

// gap is how long it took from one touch to the next, at most.
func (w *desk) gap(do func()) (took float64) {
	w.p.eval(`slowest = 0; touched.now = performance.now()`)
	do()
	w.p.reads(`slowest`, &took)
	return took
}

// touched is when and where hands last pressed.
func (w *desk) touched() (t touched) { w.p.reads(`touched`, &t); return t }

// meant notes what a touch means by what was on the screen.
func (w *desk) meant(t target) {
	m := meaning{revision: t.Revision, outcome: "answered"}
	switch t.Kind {
	case "all":
		w.many = t.List
		for _, revision := range t.List {
			w.means[meaning{revision: revision, outcome: "answered", pick: "Allow"}] = true
		}
		w.count["many"] += len(t.List)
	case "edited":
		m.pick, m.note = "Allow my plan", t.Plan
	case "decline":
		m.fields = strings.Repeat("Decline|", 4) + "Decline"
	case "option":
		m.pick = t.Label
	case "button":
		if m.pick = t.Label; t.Label == "Reject" {
			m.note = t.Note
		} else if t.Edited {
			m.pick = "" // it is not the plan that they want
		}
	case "reason":
		m.pick, m.note = "Reject", t.Note
	case "submit":
		if m.fields = strings.Join(t.Fields, "|"); m.fields == "" {
			m.pick, m.text, m.note = strings.Join(t.Picks, ","), t.Text, t.Note
		}
	case "dismiss":
		m.outcome = "cancelled"
	}
	if (m.pick+m.text+m.fields != "" || t.Kind == "dismiss") && !t.Off {
		w.means[m] = true
	}
}

// takesBack notes that what was pending, in a card or in all, is not meant any more, unless
// it had left the page by then.
func (w *desk) takesBack(before hands, revision string, at float64) {
	var sent map[string]float64
	w.p.reads(`sentAt`, &sent)
	for _, p := range before.Pending {
		if left, ok := sent[p]; (revision == "" || p == revision) && (!ok || left > at) {
			w.count["taken back"]++
			w.note("  %s is taken back", p)
			for m := range w.means {
				if m.revision == p {
					delete(w.means, m)
				}
			}
		}
	}
}

// presses touches a place with the pointer or a finger; text is selected by two clicks.
func (w *desk) presses(t target) {
	if w.phone && t.Kind != "text" {
		w.p.call("Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []map[string]any{{"x": t.X, "y": t.Y}}})
		w.p.call("Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []map[string]any{}})
		return
	}
	w.p.presses(t.X, t.Y, map[bool]int{true: 2, false: 1}[t.Kind == "text"])
}

// words are typed where the focus is. They mean nothing but themselves, also if the card
// ends meanwhile that they are for.
func (w *desk) words(text string) {
	before := w.hands()
	if before.At != nil && before.At.Kind == "field" {
		w.at = before.At.Revision
		defer func() { w.at = "" }()
	}
	w.note("types %q at %+v", text, before.At)
	took := w.gap(func() {
		for i, c := range text {
			if c == '\n' {
				w.p.key("Enter")
			} else {
				w.p.letter(string(c))
			}
			if i%4 == 3 {
				w.world()
			}
			w.pause(40 + w.r.IntN(80))
		}
	})
	w.slow = w.slow || took > 1900
	if w.at == "" && !before.Dialog {
		w.takesBack(before, "", w.touched().Now) // the first letters may be keys that stop nothing
	}
}

// keys are those of somebody who knows them: to a card, and then for what it shows.
func (w *desk) keys() {
	w.p.letter([]string{"j", "k"}[w.r.IntN(2)])
	w.pause(700)
	h := w.hands()
	if h.At == nil || h.At.Kind != "card" || !h.InView {
		return
	}
	w.note("keys at %+v", h.At)
	switch {
	case len(h.Options) > 0:
		n := w.r.IntN(len(h.Options))
		w.p.letter(fmt.Sprint(n + 1))
		w.takesBack(h, h.At.Revision, w.touched().Now)
		w.means[meaning{revision: h.At.Revision, outcome: "answered", pick: h.Options[n]}] = true
	case w.r.IntN(3) == 0:
		w.p.letter("r")
		w.pause(200)
		w.words("no, use make a b")
		if f := w.hands(); f.At != nil && f.At.Kind == "field" && f.At.Note != "" {
			w.means[meaning{revision: f.At.Revision, outcome: "answered", pick: "Reject", note: f.At.Note}] = true
			w.p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "modifiers": 2})
			w.p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "modifiers": 2})
		}
	default:
		w.p.letter("a")
		w.pause(200)
		if f := w.hands(); f.At != nil && f.At.Kind == "button" && f.InView {
			w.meant(*f.At)
			w.note("allows %s", f.At.Revision)
			w.p.key("Enter")
		}
	}
}
