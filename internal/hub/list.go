package hub

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// find returns the record that ref names:
//
//	| ref has | it is |
//	|---|---|
//	| the key of a record | that one, or none |
//	| an id, and the revision of a record with it, or the process whose it is | that one |
//	| an id | the newest with it, or the one that was asked under it again |
//	| no id | the open one that was asked first, or the last one if none is open |
//
// With a device it is one of that device's.
func (b *Board) find(ref Ref) (*Record, error) {
	if ref.key != "" {
		r, err := b.get(ref.key)
		if err == nil && r == nil {
			err = ref.notFound()
		}
		return r, err
	}
	in := talk{ref.Group, ref.Conversation}
	if ref.ID == "" {
		return b.findFirst(in, ref)
	}
	talk, err := b.lockNamed(in, ref.ID)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if len(talk) == 0 && !b.archive.has(in) {
		return nil, ref.noConversation()
	}
	if ref.Device != "" {
		talk = slices.DeleteFunc(slices.Clone(talk), func(r *Record) bool { return !r.Of(ref.Device) })
	}
	var found *Record
	for _, r := range slices.Backward(talk) {
		switch {
		case r.ID != ref.ID:
		case ref.Revision != 0 && r.Revision == ref.Revision, ref.Asker != "" && b.holder(r) == ref.Asker:
			return r, nil
		case found == nil:
			found = r
		}
	}
	if found != nil {
		return found, nil
	}
	for _, r := range slices.Backward(talk) {
		if l := b.leases[r.key]; l != nil && ref.ID != "" && slices.Contains(l.also, ref.ID) {
			return r, nil
		}
	}
	return nil, ref.notFound()
}

// lockNamed locks the board and returns the records of a conversation in the order of
// asking, and of what is archived those with an id. It stays locked.
func (b *Board) lockNamed(in talk, id string) ([]*Record, error) {
	list, err := b.lockPast(func(a *archive) []*volume { return a.named(in, id) }, func(q bound) bool { return q.talk == in && q.id == id })
	if err != nil || len(list) == 0 {
		return b.talks[in], err
	}
	list = append(list, b.talks[in]...)
	slices.SortFunc(list, byAsked)
	return list, nil
}

// findFirst is find without an id. What is archived is read only where it was asked after
// everything else.
func (b *Board) findFirst(in talk, ref Ref) (*Record, error) {
	list, err := b.lockPast(func(a *archive) []*volume {
		first := b.firstOf(in, ref.Device)
		switch {
		case first != nil && first.Open():
			return nil
		case first != nil:
			return a.since(in, first.Asked)
		case ref.Device == "":
			if last := a.since(in, time.Unix(0, a.talks[in.hash()].asked)); len(last) > 0 {
				return last
			}
		}
		return a.since(in, time.Time{})
	}, func(q bound) bool { return q.talk == in })
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	first := b.firstOf(in, ref.Device)
	if first != nil && first.Open() {
		return first, nil
	}
	for _, r := range slices.Backward(list) {
		if ref.Device == "" || r.Of(ref.Device) {
			if first == nil || byAsked(r, first) > 0 {
				first = r
			}
			break
		}
	}
	if first == nil {
		return nil, ref.noConversation()
	}
	return first, nil
}

// firstOf is the open question of a conversation that was asked first, or the last one,
// by a device if it is not empty, or nil. It knows nothing of the archive. mu is held.
func (b *Board) firstOf(in talk, device string) (first *Record) {
	for _, r := range b.talks[in] {
		if device != "" && !r.Of(device) {
			continue
		}
		if first = r; r.Open() {
			break
		}
	}
	return first
}

func (r Ref) noConversation() error {
	return fmt.Errorf("conversation %q: %w", r.Conversation, ErrNotFound)
}

func (r Ref) notFound() error {
	return fmt.Errorf("question %q of conversation %q: %w", r.ID, r.Conversation, ErrNotFound)
}

// several reports whether a reply to the id of a record may be one to another record:
// more than one is open under it, or a person has ended one before, whose reply may
// come once more.
func (b *Board) several(r *Record) (bool, error) {
	list, err := b.lockNamed(r.talk(), r.ID)
	defer b.mu.Unlock()
	return slices.ContainsFunc(list, func(o *Record) bool {
		return o.ID == r.ID && o.key != r.key && (o.Open() || o.End.By != "" && !o.End.Elsewhere || o.End.Forgotten)
	}), err
}

// Find returns a record of the owner's group, see [Board.FindIn].
func (b *Board) Find(conversation, id string) (*Record, error) {
	return b.FindIn("", conversation, id)
}

// FindIn returns a record, see [Ref]; with an empty ID the open one that was
// asked first, or the last one if none is open.
func (b *Board) FindIn(group, conversation, id string) (*Record, error) {
	return b.find(Ref{Group: group, Conversation: conversation, ID: id})
}

// FindRef returns the record that ref names.
func (b *Board) FindRef(ref Ref) (*Record, error) { return b.find(ref) }

// Conversation returns what was asked in a conversation, the first first.
func (b *Board) Conversation(group, conversation string) ([]*Record, error) {
	in := talk{group, conversation}
	list, err := b.lockPast(func(a *archive) []*volume { return a.since(in, time.Time{}) }, func(q bound) bool { return q.talk == in })
	list = append(list, b.talks[in]...)
	b.mu.Unlock()
	slices.SortFunc(list, byAsked)
	return list, err
}

// Groups are those that have a conversation of this name.
func (b *Board) Groups(conversation string) (groups []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for group := range b.groups {
		if in := (talk{group, conversation}); len(b.talks[in]) > 0 || b.archive.has(in) {
			groups = append(groups, group)
		}
	}
	return groups
}

// Waiting returns up to limit open records, the newest first, and how many are
// open.
func (b *Board) Waiting(limit int) (list []*Record, total int) {
	b.mu.Lock()
	list = make([]*Record, 0, len(b.open))
	for _, r := range b.open {
		list = append(list, r)
	}
	b.mu.Unlock()
	slices.SortFunc(list, func(x, y *Record) int { return byAsked(y, x) })
	return list[:min(limit, len(list))], len(list)
}

// Conversations returns for each conversation the record that stands for it: the
// open one that was asked first, or the last one. Those that wait come first,
// and of them the newest.
func (b *Board) Conversations() ([]*Record, error) {
	list := []*Record{}
	last, err := b.lastArchived(&list)
	for errors.Is(err, hubstore.ErrConflict) {
		last, err = b.lastArchived(&list)
	}
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		q, found := last[r.talk()]
		if found && !r.Open() && q.asked.After(r.Asked) {
			if list[i] = b.readable(q); list[i] == nil {
				list[i] = r
			}
		}
		delete(last, r.talk())
	}
	for _, q := range last {
		if r := b.readable(q); r != nil {
			list = append(list, r)
		}
	}
	order := func(r *Record) int {
		if r.Open() {
			return 0
		}
		return 1
	}
	slices.SortFunc(list, func(x, y *Record) int { return cmp.Or(order(x)-order(y), byAsked(y, x)) })
	return list, nil
}

// lastArchived returns of each conversation the archived question that was asked last. live
// becomes what stands for those that have others. It fails with [hubstore.ErrConflict] if a
// volume is written anew meanwhile.
func (b *Board) lastArchived(live *[]*Record) (map[talk]bound, error) {
	b.mu.Lock()
	*live = (*live)[:0]
	for in := range b.talks {
		*live = append(*live, b.firstOf(in, ""))
	}
	volumes := b.archive.all()
	b.mu.Unlock()
	last := map[talk]bound{}
	for _, v := range volumes {
		list, err := b.contents(b.own, v)
		if err != nil {
			return nil, err
		}
		for _, q := range slices.Backward(list) { // the last is mostly the one
			if l, found := last[q.talk]; !found || cmp.Or(q.asked.Compare(l.asked), strings.Compare(q.key, l.key)) > 0 {
				q.value = bytes.Clone(q.value) // or all of the volume stays in memory
				last[q.talk] = q
			}
		}
	}
	return last, nil
}

// lease is what is known of an asker.
type lease struct {
	until     time.Time
	listening int // requests that wait for the answer
	gone      bool
	heard     time.Time // when its asker was last here, if it ever was
	told      time.Time // when the other hubs were told last that it is
	// taker is the process that gets the outcome, until the store has one, and taken when
	// that was decided.
	taker string
	taken time.Time
	// asker is the process that asked last, if it was asked again, askers are all
	// that did, and also are the ids under which they did.
	asker  string
	askers []string
	also   []string
}

// join makes whoever asks a call the asker of the record that is the same
// question. mu is held.
func (b *Board) join(known, call *Record) {
	l := b.leases[known.key]
	if l == nil {
		l = &lease{gone: known.Gone}
		b.leases[known.key] = l
	}
	l.askedBy(call.Asker)
	if call.ID != known.ID {
		l.alsoAs(call.ID)
	}
	b.hear(known, l)
	l.heard = time.Now()
	l.until = l.heard.Add(b.opts.Lease)
}

// askedBy notes the process that asks now.
func (l *lease) askedBy(asker string) {
	if l.asker = asker; asker != "" && !slices.Contains(l.askers, asker) {
		l.askers = last(l.askers, asker, maxAskers)
	}
}

// alsoAs notes ids under which a question was asked again.
func (l *lease) alsoAs(ids ...string) {
	for _, id := range ids {
		if !slices.Contains(l.also, id) {
			l.also = last(l.also, id, maxAlso)
		}
	}
}

// hear notes that an asker is there. mu is held.
func (b *Board) hear(r *Record, l *lease) {
	if l.gone {
		l.gone = false
		b.tell(r.key, false)
	}
}

// listen notes that the asker of a record is there until done is called, and for
// a lease longer.
func (b *Board) listen(r *Record) (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.leases[r.key]
	if l == nil {
		return func() {}
	}
	l.listening++
	b.hear(r, l)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		l.listening--
		l.heard = time.Now()
		l.until = l.heard.Add(b.opts.Lease)
	}
}

// spare gives every asker another lease.
func (b *Board) spare(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.leases {
		l.until = now.Add(b.opts.Lease)
	}
}

// expire marks the askers that are gone.
func (b *Board) expire(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, l := range b.leases {
		r := b.records[key]
		if r == nil || !r.Open() && (!r.End.Consumed.IsZero() || r.Gone && (l.taker == "" || l.taker == r.End.Taker)) {
			delete(b.leases, key)
			continue
		}
		if !l.gone && l.listening == 0 && now.After(l.until) {
			l.gone = true
			b.tell(key, true)
		}
	}
}

// tell makes it known that an asker is gone, or back. mu is held.
func (b *Board) tell(key string, gone bool) {
	r := b.records[key]
	if r == nil {
		return
	}
	next := *r
	next.Gone = gone
	b.drop(r)
	b.put(&next)
	b.news.add(&next)
}
