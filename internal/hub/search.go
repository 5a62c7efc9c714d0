package hub

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Search says which settled questions are wanted. The zero value wants all.
type Search struct {
	// Since leaves out what was settled before.
	Since time.Time
	// Text are words that a record holds, all of them and in any case: in what
	// was asked, in the answers, or in who asked and answered.
	Text string
	// After goes on behind this record, see [Record.Place].
	After Place
	// Limit is how many are wanted at most; 0 is all.
	Limit int
	// Sees says what whoever searches may see; nil is everything.
	Sees func(*Record) bool
}

// Place is that of a settled record among the others. It never changes, so that
// who goes on behind it misses nothing, whatever was settled or dropped meanwhile.
type Place struct {
	At  time.Time
	Key string
}

// Place is where a settled record stands.
func (r *Record) Place() Place { return Place{r.End.At.Round(0), r.key} }

// behind is negative if p comes before o: the last settled comes first.
func (p Place) behind(o Place) int {
	return cmp.Or(o.At.Compare(p.At), strings.Compare(o.Key, p.Key))
}

// Search returns settled records, the last settled first, and whether there are
// more than the limit.
func (b *Board) Search(s Search) (list []*Record, more bool) {
	words := strings.Fields(strings.ToLower(s.Text))
	list = []*Record{}
	for _, r := range b.settled(s) {
		switch {
		case s.Sees != nil && !s.Sees(r) || !r.holds(words):
		case s.Limit > 0 && len(list) == s.Limit:
			return list, true
		default:
			list = append(list, r)
		}
	}
	return list, false
}

// settled are the settled questions that a search reaches, in its order.
func (b *Board) settled(s Search) (all []*Record) {
	b.step(func(on *state) {
		for _, r := range on.records {
			if !r.Open() && !r.End.At.Before(s.Since) && (s.After.Key == "" || r.Place().behind(s.After) > 0) {
				all = append(all, r)
			}
		}
	})
	slices.SortFunc(all, func(x, y *Record) int { return x.Place().behind(y.Place()) })
	return all
}

// Settled returns up to limit settled records that hold all words of the query,
// the last settled first.
func (b *Board) Settled(query string, limit int) []*Record {
	list, _ := b.Search(Search{Text: query, Limit: limit})
	return list
}

// Holds reports whether a record has all words of a query in it, in any case.
func (r *Record) Holds(query string) bool { return r.holds(strings.Fields(strings.ToLower(query))) }

func (r *Record) holds(words []string) bool {
	if len(words) == 0 {
		return true
	}
	said := []string{r.Conversation, r.ID, r.Title, r.Agent, r.Machine, r.Dir, r.About.Title, r.About.Branch, r.Detail}
	for _, q := range r.Call.Questions {
		said = append(said, q.Header, q.Text)
	}
	if r.End != nil {
		said = append(said, r.End.By, r.End.Outcome)
		for _, a := range r.End.Answers {
			said = append(append(said, a.Items()...), a.Note)
		}
	}
	text := strings.ToLower(strings.Join(said, "\n"))
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}
