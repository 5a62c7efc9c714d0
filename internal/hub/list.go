package hub

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// get returns the record with a key, or nil.
func (b *Board) get(key string) *Record {
	return peek(b, func(s *state) *Record { return s.records[key] })
}

// find returns the record that ref names:
//
//	| ref has | it is |
//	|---|---|
//	| the key of a record | that one, or none |
//	| an id, and the revision of a record with it, or the process that has it | that one |
//	| an id | the newest with it |
//	| no id | the open one that was asked first, or the last one if none is open |
//
// With a device it is one of that device's.
func (b *Board) find(ref Ref) (*Record, error) {
	if ref.key != "" {
		r := b.get(ref.key)
		if r == nil {
			return nil, ref.notFound()
		}
		return r, nil
	}
	in := talk{ref.Group, ref.Conversation}
	if ref.ID == "" {
		if first := peek(b, func(s *state) *Record { return s.firstOf(in, ref.Device) }); first != nil {
			return first, nil
		}
		return nil, ref.noConversation()
	}
	talk := b.Conversation(ref.Group, ref.Conversation)
	if len(talk) == 0 {
		return nil, ref.noConversation()
	}
	if ref.Device != "" {
		talk = slices.DeleteFunc(talk, func(r *Record) bool { return !r.Of(ref.Device) })
	}
	var found *Record
	for _, r := range slices.Backward(talk) {
		switch {
		case !r.named(ref.ID, ref.Asker):
		case ref.Revision != 0 && r.Saw(ref.Revision), ref.Asker != "" && r.Asker == ref.Asker:
			return r, nil
		case found == nil:
			found = r
		}
	}
	if found == nil {
		return nil, ref.notFound()
	}
	return found, nil
}

// Saw reports whether who saw a revision saw this question as it is open.
func (r *Record) Saw(revision uint64) bool {
	return revision == r.Revision || slices.Contains(r.Shown, revision)
}

// firstOf is the open question of a conversation that was asked first, or the last one,
// by a device if it is not empty, or nil.
func (s *state) firstOf(in talk, device string) (first *Record) {
	for _, r := range s.talks[in] {
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
// more than one is open under it, it has asked something else, or a person has ended one
// before, whose reply may come once more. One without an id may be to whatever ref says.
func (b *Board) several(r *Record, ref Ref) bool {
	return peek(b, func(s *state) bool {
		return slices.ContainsFunc(s.talks[r.talk()], func(o *Record) bool {
			switch {
			case o.key == r.key:
				return false
			case ref.ID == "":
				return ref.Means != nil && (o.Open() || ref.Means(o))
			}
			return o.ID == r.ID && (o.hash != r.hash || o.Open() || o.End.By != "" && !o.End.Elsewhere || o.End.Forgotten)
		})
	})
}

// Find returns a record of the owner's group, see [Ref].
func (b *Board) Find(conversation, id string) (*Record, error) {
	return b.find(Ref{Conversation: conversation, ID: id})
}

// FindRef returns the record that ref names.
func (b *Board) FindRef(ref Ref) (*Record, error) { return b.find(ref) }

// Conversation returns what was asked in a conversation, the first first.
func (b *Board) Conversation(group, conversation string) []*Record {
	return peek(b, func(s *state) []*Record { return slices.Clone(s.talks[talk{group, conversation}]) })
}

// Groups are those that have a conversation of this name.
func (b *Board) Groups(conversation string) (groups []string) {
	b.step(func(s *state) {
		for in := range s.talks {
			if in.conversation == conversation {
				groups = append(groups, in.group)
			}
		}
	})
	return groups
}

// Waiting returns up to limit open records, the newest first, and how many are
// open.
func (b *Board) Waiting(limit int) (list []*Record, total int) {
	list = peek(b, func(s *state) []*Record { return slices.Collect(maps.Values(s.open)) })
	slices.SortFunc(list, func(x, y *Record) int { return byAsked(y, x) })
	return list[:min(limit, len(list))], len(list)
}

// Conversations returns for each conversation the record that stands for it: the
// open one that was asked first, or the last one. Those that wait come first,
// and of them the newest.
func (b *Board) Conversations() []*Record {
	var list []*Record
	b.step(func(s *state) {
		for in := range s.talks {
			list = append(list, s.firstOf(in, ""))
		}
	})
	order := func(r *Record) int {
		if r.Open() {
			return 0
		}
		return 1
	}
	slices.SortFunc(list, func(x, y *Record) int { return cmp.Or(order(x)-order(y), byAsked(y, x)) })
	return list
}
