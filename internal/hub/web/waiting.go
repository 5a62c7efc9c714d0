package web

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// view is what somebody wants to see of what waits.
type view struct {
	query, agent, project, group string
	from                         int
	also                         []string // cards that somebody has begun to answer
	whole                        string   // the card that has all that it is for
	secret                       string   // what the page knows, see [loginSession]
	fragment                     bool     // for a page that is there
}

// viewFields are the fields of a view, in a query or a form.
const viewFields = "q agent project in from"

func viewOf(values url.Values) view {
	from, _ := strconv.Atoi(values.Get("from"))
	also := strings.FieldsFunc(values.Get("also"), func(c rune) bool { return c == ',' })
	return view{
		query: values.Get("q"), agent: values.Get("agent"), project: values.Get("project"), group: values.Get("in"), from: max(from, 0),
		also: also[:min(len(also), maxCards)], whole: values.Get("whole"), secret: values.Get(pageField),
	}
}

// fits reports whether a record is one that is wanted.
func (v view) fits(r *hub.Record) bool {
	return (v.agent == "" || agentOf(r) == v.agent) && (v.project == "" || laneOf(r).Key == v.project) && (v.group == "" || groupName(r.Group) == v.group) && r.Holds(v.query)
}

func (v view) filtered() bool { return v.query+v.agent+v.project+v.group != "" }

// waiting is what the page shows: those that have waited longest, project by project,
// those whose agent is gone behind all others, a page at a time, the first ones whole; and so
// also those that somebody has begun to answer, or has opened.
func (s *Server) waiting(d Device, v view) map[string]any {
	at := s.eventID(s.board.Revision()) // before the list: what comes meanwhile is told
	all, _ := s.board.Waiting(math.MaxInt)
	all = only(all, d.sees)
	slices.Reverse(all) // the oldest first
	total, facets := len(all), facetsOf(all, v)
	open := only(slices.Clone(all), v.fits)
	gone := only(slices.Clone(open), func(r *hub.Record) bool { return r.Gone })
	first, rest := share(only(open, func(r *hub.Record) bool { return !r.Gone }), maxLines)
	open = slices.Concat(first, rest, gone)
	if v.from >= len(open) {
		v.from = 0
	}
	list := slices.Clone(open[v.from:min(v.from+maxLines, len(open))])
	opened := only(slices.Clone(all), func(r *hub.Record) bool {
		id := cardID(r)
		return id == v.whole || slices.Contains(v.also, id)
	})
	cards := slices.Concat(list[:min(maxCards, len(list))], opened)
	unlisted := func(r *hub.Record) bool { return !slices.Contains(list, r) }
	list = append(list, only(opened, unlisted)...)
	now := time.Now()
	lanes := lanesOf(list, func(r *hub.Record) card {
		c := headOf(r, now)
		if c.Line = !slices.Contains(cards, r); !c.Line {
			c = cardOf(r, now, cardID(r) == v.whole)
		}
		c.Page = v.secret
		return c
	})
	var past []*hub.Record
	if total == 0 {
		past, _ = s.board.Search(hub.Search{Limit: 3, Sees: d.sees})
	}
	return map[string]any{
		"Title": titleFor(total), "Lanes": lanes, "Past": linesOf(past), "Total": total, "At": at, "Count": countOf(total), "Page": v.secret, "Facets": facets, "View": v.values(),
		"Fragment": v.fragment, "Filtered": v.filtered(), "Admin": d.Can == CanAdmin, "Pages": pagesOf(v, len(open), total),
	}
}

// values are those of the filter.
func (v view) values() map[string]string {
	return map[string]string{"q": v.query, "agent": v.agent, "project": v.project, "in": v.group}
}

// facet is something to filter by.
type facet struct {
	Name, Label string
	Choices     []choice
}

type choice struct {
	Value, Label string
	Picked       bool
}

// maxChoices is how many a facet offers. The search finds the others.
const maxChoices = 200

// facetsOf are those by which there is something to tell apart.
func facetsOf(open []*hub.Record, v view) (facets []facet) {
	add := func(name, label, picked string, of func(*hub.Record) (value, label string)) {
		n, labels := map[string]int{}, map[string]string{}
		for _, r := range open {
			value, label := of(r)
			n[value]++
			labels[value] = label
		}
		if len(n) < 2 && picked == "" {
			return
		}
		f := facet{Name: name, Label: label}
		for value, label := range labels {
			f.Choices = append(f.Choices, choice{value, fmt.Sprintf("%s (%d)", label, n[value]), value == picked})
		}
		slices.SortFunc(f.Choices, func(x, y choice) int {
			return cmp.Or(cmp.Compare(n[y.Value], n[x.Value]), cmp.Compare(x.Label, y.Label))
		})
		f.Choices = f.Choices[:min(len(f.Choices), maxChoices)]
		facets = append(facets, f)
	}
	add("agent", "Agent", v.agent, func(r *hub.Record) (string, string) { return agentOf(r), agentOf(r) })
	lanes := map[[4]string]lane{} // of thousands of records, a few
	add("project", "Project", v.project, func(r *hub.Record) (string, string) {
		of := [4]string{r.Group, r.Machine, r.Dir, r.About.Branch}
		l, ok := lanes[of]
		if !ok {
			l = laneOf(r)
			lanes[of] = l
		}
		return l.Key, strings.TrimSuffix(l.Name+" · "+l.Branch, " · ")
	})
	add("in", "Group", v.group, func(r *hub.Record) (string, string) { return groupName(r.Group), groupName(r.Group) })
	return facets
}

// agentOf is who asks, as it says of itself: behind that is the name of its credential, which
// it cannot choose, unless that is the owner's own, or the one that hook install has made
// for this machine.
func agentOf(r *hub.Record) string {
	agent, device := short(r.Agent, 60), short(nameOf(r.Device), 60)
	if device != "" && device != Owner && device != "claude-"+r.Machine && agent != "" && agent != device {
		return fmt.Sprintf("%s (%s)", agent, device)
	}
	if device == Owner {
		device = ""
	}
	return cmp.Or(agent, device, "An agent")
}

// pages says which of them are shown, and where the others are.
type pages struct {
	Text           string
	Earlier, Later string // the values of from; empty where there is none
}

func pagesOf(v view, n, total int) (p pages) {
	if n > maxLines {
		p.Text = fmt.Sprintf("%d to %d of %d", v.from+1, min(v.from+maxLines, n), n)
		if v.from > 0 {
			p.Earlier = strconv.Itoa(max(v.from-maxLines, 0))
		}
		if v.from+maxLines < n {
			p.Later = strconv.Itoa(v.from + maxLines)
		}
	}
	if v.filtered() {
		p.Text = strings.TrimPrefix(p.Text+fmt.Sprintf(" · %d of %d match the filter", n, total), " · ")
	}
	return p
}

func countOf(n int) string {
	if n == 0 {
		return "Nothing waiting"
	}
	return strconv.Itoa(n) + " waiting"
}

// titleFor is that of the window.
func titleFor(n int) string {
	switch n {
	case 0:
		return "acp-bridge"
	case 1:
		return "1 question waiting · acp-bridge"
	}
	return fmt.Sprintf("%d questions waiting · acp-bridge", n)
}

// project is a lane with its cards.
type project struct {
	lane
	list []*hub.Record
	draw func(*hub.Record) card
}

// Cards are those of the project.
func (p *project) Cards() iter.Seq[card] { return drawn(p.list, p.draw) }

// Count is how many there are, and These which.
func (p *project) Count() int { return len(p.list) }

func (p *project) These() string {
	var names []string
	for _, r := range p.list {
		names = append(names, shownAs(r))
	}
	return strings.Join(names, " ")
}

// shownAs names an asking as a page has it: what came since is another one.
func shownAs(r *hub.Record) string {
	return fmt.Sprintf("%s-%d-%s", cardID(r), r.Revision, r.Fingerprint())
}

// lanesOf puts the cards of a project together, and in it those of a conversation:
// whoever has waited longest is on top.
func lanesOf(list []*hub.Record, draw func(*hub.Record) card) (lanes []*project) {
	at, first := map[string]*project{}, map[string]int{}
	for i, r := range list {
		l := laneOf(r)
		if r.Gone {
			l = lane{Key: "lanegone", Name: "Agents that are gone", Gone: true}
		}
		p := at[l.Key]
		if p == nil {
			p = &project{lane: l, draw: draw}
			at[l.Key] = p
			lanes = append(lanes, p)
		}
		p.list = append(p.list, r)
		if _, ok := first[talkURL(r)]; !ok {
			first[talkURL(r)] = i
		}
	}
	for _, p := range lanes {
		slices.SortStableFunc(p.list, func(x, y *hub.Record) int { return first[talkURL(x)] - first[talkURL(y)] })
	}
	return lanes
}

// share returns up to most of the open questions, in their order, and the others.
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

// shows writes the page, or its cards for a page that is there.
func (s *Server) shows(name string) looks {
	return func(w http.ResponseWriter, r *http.Request, d Device) error {
		v := viewOf(r.Form)
		v.secret, v.fragment = "", name == "cards" // the secret is in no address
		return show(w, name, s.waiting(d, v))
	}
}

// dismissGone dismisses those whose agent is gone and that the person saw: just these,
// and none if one of them is another by now.
func (s *Server) dismissGone(w http.ResponseWriter, r *http.Request, d Device, g given) error {
	these := strings.Fields(g.form.Get("these"))
	open, _ := s.board.Waiting(math.MaxInt)
	gone := only(open, func(r *hub.Record) bool { return r.Gone && d.sees(r) && slices.Contains(these, shownAs(r)) })
	if len(gone) != len(these) || len(gone) == 0 {
		return statusf(http.StatusConflict, "nothing was dismissed: only %d of the %d you saw are unchanged", len(gone), len(these))
	}
	for _, rec := range gone {
		ref := rec.Ref()
		ref.Revision, ref.Fingerprint, ref.May = rec.Revision, rec.Fingerprint(), s.may(d)
		if _, err := s.board.Cancel(r.Context(), ref, d.Name); err != nil {
			return err
		}
	}
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		return reply(w, map[string]int{"dismissed": len(gone)}, nil)
	}
	data := s.waiting(d, view{secret: g.form.Get(pageField)})
	data["Said"] = fmt.Sprintf("%d dismissed.", len(gone))
	return show(w, "page", data)
}
