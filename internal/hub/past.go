package hub

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"
)

// past is a question with which nothing more happens: its outcome was used, or never
// can be. There are many, and hardly anybody looks at one again, so that it is packed,
// beside what it takes to find it. [past.whole] is the record.
type past struct {
	key, id   string
	of        *pasts
	revision  uint64
	asked, at time.Time
	known     time.Time
	gone      bool
	escaped   bool // letters may not be in value as they are
	value     []byte
}

// pasts are those of a conversation, in the order of asking.
type pasts struct {
	talk talk
	list []*past
}

// all are the questions, or nil if there are none.
func (ps *pasts) all() []*past {
	if ps == nil {
		return nil
	}
	return ps.list
}

// last is the one that was asked last, or nil.
func (ps *pasts) last() *past {
	if ps == nil {
		return nil
	}
	return ps.list[len(ps.list)-1]
}

// pastTime is for how long a record stays as it is after its last change: whoever is
// told of it looks at it then.
const pastTime = time.Minute

// over reports whether nothing more happens with a question.
func (r *Record) over() bool {
	return !r.Open() && (!r.End.Consumed.IsZero() || r.End.Undelivered != "")
}

// pastOf is a record as it is kept when it is over. plain is its value.
func pastOf(r *Record, plain []byte) *past {
	p := &past{key: r.key, id: r.ID, revision: r.Revision, asked: r.Asked.Round(0), at: r.End.At.Round(0), known: r.known, gone: r.Gone, escaped: bytes.Contains(plain, []byte(`\u`)) || bytes.Contains(plain, []byte(`\/`))}
	p.value = bytes.Clone(common().Encode(nil, plain))
	return p
}

// overBefore returns a record as past if it was over before this board has seen it: most
// are when it starts. Otherwise it returns nil.
func (b *Board) overBefore(r *Record, value []byte) *past {
	if r == nil || !r.over() || r.known.Sub(r.End.At) < pastTime {
		return nil
	}
	b.mu.Lock()
	seen := b.records[r.key] != nil || b.leases[r.key] != nil
	b.mu.Unlock()
	if seen {
		return nil
	}
	plain, err := unpack(value)
	if err != nil {
		panic(err) // it was read
	}
	return pastOf(r, plain)
}

// plain is the value as the store has it.
func (p *past) plain() []byte {
	plain, err := common().Decode(nil, p.value)
	if err != nil {
		panic(err) // it was packed by this process
	}
	return plain
}

// whole is the record.
func (p *past) whole() *Record {
	r, err := decode(p.key, p.plain(), p.revision)
	if err != nil {
		panic(err) // it was a record
	}
	r.hash, r.known, r.Gone = r.fingerprint(), p.known, p.gone
	return r
}

// mayHold reports whether the record may have all words in it. They are in lower case.
func (p *past) mayHold(words []string) bool {
	if len(words) == 0 || p.escaped {
		return true
	}
	text := strings.ToLower(string(p.plain()))
	return !slices.ContainsFunc(words, func(w string) bool { return asWritten(w) && !strings.Contains(text, w) })
}

// asWritten reports whether a word stands in JSON as it is, unless it is escaped for no
// need.
func asWritten(word string) bool {
	return !strings.ContainsFunc(word, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' })
}

// common is what records have in common, so that those that are short are packed to
// much less.
var common = sync.OnceValue(func() *s2.Dict {
	return s2.MakeDict([]byte(`"reason":"","undelivered":"","elsewhere":true,"forgotten":true,"detail":"","about":{"model":"","title":"","branch":"main","kind":"execute","picks":["allow_once","allow_always","reject_once"]},"hold":{"call":"toolu_"},"dialect":"claude","document":{"id":"toolu_","name":"AskUserQuestion","input":{"questions":[{"question":"","header":"","options":[{"label":"","description":""},{"label":"","description":""}],"multiSelect":false}]}},`+
		`{"version":2,"group":"","conversation":"","id":"q_","kind":"permission","title":"","agent":"Claude Code","machine":"","dir":"/home/","device":"","asker":"","dialect":"bridge","call":{"Session":"","ID":"toolu_","Name":"","Title":"","Server":"","Questions":[{"Text":"","Header":"","Options":[{"Label":"","Description":"","Preview":""},{"Label":"","Description":"","Preview":""}],"MultiSelect":false}],"Input":null},"asked":"2026-","end":{"outcome":"answered","answers":[{"Selected":[""],"Text":"","Note":""}],"by":"","at":"2026-","delivered":"2026-","consumed":"2026-","taker":""}}`), nil)
})

// settleDown makes past what has been over for a while.
func (b *Board) settleDown(now time.Time) {
	b.mu.Lock()
	var over []*Record
	for key, r := range b.records {
		if r.over() && b.leases[key] == nil && now.Sub(r.known) >= pastTime {
			over = append(over, r)
		}
	}
	b.mu.Unlock()
	for _, r := range over {
		p := pastOf(r, r.encode()) // it takes its time
		b.mu.Lock()
		if b.records[r.key] == r && b.leases[r.key] == nil {
			b.drop(r)
			b.putPast(r.talk(), p)
		}
		b.mu.Unlock()
	}
}

// putPast adds a past question. mu is held.
func (b *Board) putPast(t talk, p *past) {
	of := b.pasts[t]
	if of == nil {
		of = &pasts{talk: t}
		b.pasts[t] = of
	}
	p.of, b.past[p.key] = of, p
	i, _ := slices.BinarySearchFunc(of.list, p, func(x, y *past) int { return cmp.Or(x.asked.Compare(y.asked), strings.Compare(x.key, y.key)) })
	of.list = slices.Insert(of.list, i, p)
}

// dropPast forgets a past question, if there is one with the key. mu is held.
func (b *Board) dropPast(key string) {
	p := b.past[key]
	if p == nil {
		return
	}
	delete(b.past, key)
	if p.of.list = slices.DeleteFunc(p.of.list, func(o *past) bool { return o == p }); len(p.of.list) == 0 {
		delete(b.pasts, p.of.talk)
	}
}

// withPast are the records of a conversation in the order of asking, and of what is past
// those with an id. mu is held.
func (b *Board) withPast(t talk, id string) []*Record {
	list := b.talks[t]
	var found []*Record
	for _, p := range b.pasts[t].all() {
		if p.id == id {
			found = append(found, p.whole())
		}
	}
	if found == nil {
		return list
	}
	found = append(found, list...)
	slices.SortFunc(found, byAsked)
	return found
}

// lastPast is the past question of a conversation that was asked last, by a device if it
// is not empty, or nil. Of those before another one, if that is not nil, it knows none: to
// unpack them takes its time. mu is held.
func (b *Board) lastPast(t talk, device string, after *Record) *Record {
	for _, p := range slices.Backward(b.pasts[t].all()) {
		if after != nil && p.asked.Before(after.Asked) {
			return nil
		}
		if r := p.whole(); (device == "" || r.Of(device)) && (after == nil || byAsked(r, after) > 0) {
			return r
		}
	}
	return nil
}

// get is the record with a key, or nil. mu is held.
func (b *Board) get(key string) *Record {
	if p := b.past[key]; p != nil {
		return p.whole()
	}
	return b.records[key]
}
