package hub

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
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
	if c := o.At.Compare(p.At); c != 0 {
		return c
	}
	return strings.Compare(o.Key, p.Key)
}

// Search returns settled records, the last settled first, and whether there are
// more than the limit.
func (b *Board) Search(s Search) (list []*Record, more bool, err error) {
	for {
		if list, more, err = b.search(s); !errors.Is(err, hubstore.ErrConflict) {
			return list, more, err
		}
	}
}

// search is Search, which fails if a volume is written anew meanwhile.
func (b *Board) search(s Search) (list []*Record, more bool, err error) {
	words := strings.Fields(strings.ToLower(s.Text))
	list = []*Record{}
	take := func(f settledAt) (full bool) {
		r := f.record
		if r == nil {
			if r = b.readable(f.bound); r == nil {
				return false
			}
		}
		if s.Sees != nil && !s.Sees(r) || !r.holds(words) {
			return false
		}
		if full = s.Limit > 0 && len(list) == s.Limit; !full {
			list = append(list, r)
		}
		return full
	}
	found, live, volumes := b.settled(s)
	for _, v := range volumes {
		for ; len(found) > 0 && found[0].At.After(v.To); found = found[1:] {
			if take(found[0]) {
				return list, true, nil
			}
		}
		over, err := b.contents(b.own, v)
		if err != nil {
			return nil, false, err
		}
		for _, q := range over {
			if at := (Place{q.at, q.key}); !live[q.key] && s.reaches(at) && q.mayHold(words) {
				found = append(found, settledAt{Place: at, bound: q})
			}
		}
		slices.SortFunc(found, bySettled)
	}
	return list, slices.ContainsFunc(found, take), nil
}

// settledAt is a settled question at its place: a record, or one in the archive.
type settledAt struct {
	Place
	record *Record
	bound  bound
}

func bySettled(x, y settledAt) int { return x.behind(y.Place) }

// reaches reports whether a place is in the time and behind the place of a search.
func (s Search) reaches(p Place) bool {
	return !p.At.Before(s.Since) && (s.After.Key == "" || p.behind(s.After) > 0)
}

// settled are the settled questions that a search reaches, in its order, the keys of all
// that are not in the archive, and the volumes that have more of them, the last first.
func (b *Board) settled(s Search) (all []settledAt, live map[string]bool, volumes []*volume) {
	b.mu.Lock()
	live = make(map[string]bool, len(b.records))
	for key, r := range b.records {
		live[key] = true
		if !r.Open() && s.reaches(r.Place()) {
			all = append(all, settledAt{Place: r.Place(), record: r})
		}
	}
	volumes = slices.DeleteFunc(b.archive.all(), func(v *volume) bool {
		return v.To.Before(s.Since) || s.After.Key != "" && v.From.After(s.After.At)
	})
	b.mu.Unlock()
	slices.SortFunc(all, bySettled)
	return all, live, volumes
}

// Settled returns up to limit settled records that hold all words of the query,
// the last settled first.
func (b *Board) Settled(query string, limit int) []*Record {
	list, _, err := b.Search(Search{Text: query, Limit: limit})
	if err != nil {
		b.log.Error("settled questions cannot be read", "err", err)
	}
	return list
}

// Holds reports whether a record has all words of a query in it, in any case.
func (r *Record) Holds(query string) bool { return r.holds(strings.Fields(strings.ToLower(query))) }

func (r *Record) holds(words []string) bool {
	if len(words) == 0 {
		return true
	}
	var b strings.Builder
	for _, s := range []string{r.Conversation, r.ID, r.Title, r.Agent, r.Machine, r.Dir, r.About.Title, r.About.Branch, r.Detail} {
		b.WriteString(s + "\n")
	}
	for _, q := range r.Call.Questions {
		b.WriteString(q.Header + "\n" + q.Text + "\n")
	}
	if r.End != nil {
		b.WriteString(r.End.By + "\n" + r.End.Outcome + "\n")
		for _, a := range r.End.Answers {
			b.WriteString(strings.Join(a.Items(), "\n") + "\n" + a.Note + "\n")
		}
	}
	text := strings.ToLower(b.String())
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}
