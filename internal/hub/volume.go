package hub

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// volume is many questions with which nothing more happens, in one value of a bucket
// beside that of the board. What is in it is told by a listing in the board's own bucket,
// so that it comes in order with everything else.
type volume struct {
	key      string // of the listing
	revision uint64 // of the listing
	seen     time.Time
	slot     uint32 // see [archive]
	count    int    // of its entries
	listing
}

// listing is the head of what tells of a volume. Behind it, and a line feed, are its
// entries.
type listing struct {
	// Version is one that no record has: older hubs leave it alone.
	Version int `json:"version"`
	// Value is the key of the volume in the bucket beside.
	Value string `json:"value"`
	// From and To are when the first and the last of the questions were settled, and Newest
	// is the highest of their revisions.
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Newest uint64    `json:"newest"`
	Groups []string  `json:"groups"`
}

const (
	listingVersion = 1 << 20
	// listings is how the keys of listings begin. No record has such a key.
	listings = "volumes."
)

// listed is what a listing says of a question: hashes of the parts of its key, which of
// those there it is, and when it was asked, in nanoseconds.
type listed struct {
	talk, name uint64
	generation uint32
	asked      int64
	revision   uint64
}

// hashed is the hash of a part of a key. It is kept.
func hashed(part string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(part))
	return h.Sum64()
}

// hash is that of what the keys of a conversation begin with.
func (t talk) hash() uint64 { return hashed(t.place()) }

// parts are the hashes of the parts of a key, and its generation.
func parts(key string) (talk, name uint64, generation uint32) {
	at := strings.LastIndexByte(key, '.')
	in := strings.LastIndexByte(key[:max(at, 0)], '.') + 1
	return hashed(key[:in]), hashed(key[in:max(at, in)]), uint32(generationOf(key))
}

// bound is a question in a volume.
type bound struct {
	key      string
	revision uint64
	gone     bool
	value    []byte
	talk     talk
	id       string
	asked    time.Time
	at       time.Time // when it was settled
	in       string    // key of its volume, if it was read from one
}

func boundOf(r *Record) bound {
	return bound{key: r.key, revision: r.Revision, gone: r.Gone, value: r.encode(), talk: r.talk(), id: r.ID, asked: r.Asked.Round(0), at: r.End.At.Round(0)}
}

// record is the question as it was.
func (q bound) record() (*Record, error) {
	r, err := decode(q.key, q.value, q.revision)
	if err != nil {
		return nil, err
	}
	r.hash, r.Gone, r.archived = r.fingerprint(), q.gone, q.in
	return r, nil
}

// entries are what a listing says of a question. One that was asked without an id is
// found by the one that it got, too.
func (q bound) entries() []listed {
	talk, name, generation := parts(q.key)
	all := []listed{{talk, name, generation, q.asked.UnixNano(), q.revision}}
	if id := hashed(short(q.id)); id != name {
		again := all[0]
		again.name = id
		all = append(all, again)
	}
	return all
}

// mayHold reports whether the record may have all words in it. They are in lower case.
func (q bound) mayHold(words []string) bool {
	if len(words) == 0 || bytes.Contains(q.value, []byte(`\u`)) || bytes.Contains(q.value, []byte(`\/`)) {
		return true
	}
	text := strings.ToLower(string(q.value))
	return !slices.ContainsFunc(words, func(w string) bool { return asWritten(w) && !strings.Contains(text, w) })
}

// asWritten reports whether a word stands in JSON as it is, unless it is escaped for no
// need.
func asWritten(word string) bool {
	return !strings.ContainsFunc(word, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' })
}

// bind makes the value of a volume, and the value of its listing, of which key is where
// the volume is kept.
func bind(list []bound, key string) (value, told []byte) {
	list = slices.SortedFunc(slices.Values(list), func(x, y bound) int { return cmp.Compare(x.revision, y.revision) })
	head := listing{Version: listingVersion, Value: key, From: list[0].at, To: list[0].at}
	var text, entries []byte
	var before listed
	for _, q := range list {
		gone := uint64(0)
		if q.gone {
			gone = 1
		}
		for _, n := range []uint64{q.revision, gone, uint64(q.asked.UnixNano()), uint64(q.at.UnixNano())} {
			text = binary.AppendUvarint(text, n)
		}
		for _, part := range []string{q.key, q.talk.group, q.talk.conversation, q.id, string(q.value)} {
			text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
		}
		for _, l := range q.entries() {
			entries = binary.LittleEndian.AppendUint64(entries, l.talk)
			entries = binary.LittleEndian.AppendUint64(entries, l.name)
			entries = binary.AppendUvarint(entries, uint64(l.generation))
			entries = binary.AppendVarint(entries, l.asked-before.asked)
			entries = binary.AppendUvarint(entries, l.revision-before.revision)
			before = l
		}
		if q.at.Before(head.From) {
			head.From = q.at
		}
		if q.at.After(head.To) {
			head.To = q.at
		}
		head.Newest = max(head.Newest, q.revision)
		if !slices.Contains(head.Groups, q.talk.group) {
			head.Groups = append(head.Groups, q.talk.group)
		}
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // options that are wrong
	}
	return e.EncodeAll(text, nil), append(append(clean.JSON(head), '\n'), entries...)
}

var errVolume = errors.New("it is not as it was written")

// unbind reads the value of a volume, of which key is where it is kept.
func unbind(key string, value []byte) (list []bound, err error) {
	text, err := unpack(value)
	for err == nil && len(text) > 0 {
		var numbers [4]uint64
		for i := range numbers {
			if numbers[i], text, err = number(text); err != nil {
				return list, err
			}
		}
		var parts [5][]byte
		for i := range parts {
			if parts[i], text, err = part(text); err != nil {
				return list, err
			}
		}
		list = append(list, bound{
			key: string(parts[0]), revision: numbers[0], gone: numbers[1] == 1, value: parts[4], talk: talk{string(parts[1]), string(parts[2])}, id: string(parts[3]),
			asked: time.Unix(0, int64(numbers[2])), at: time.Unix(0, int64(numbers[3])), in: key,
		})
	}
	return list, err
}

// readListing reads the value of a listing. Its entries take the place of those in room.
func readListing(value []byte, room []listed) (head listing, entries []listed, err error) {
	text, rest, _ := bytes.Cut(value, []byte("\n"))
	if err := json.Unmarshal(text, &head); err != nil {
		return head, nil, unreadable(err)
	}
	if head.Version != listingVersion {
		return head, nil, fmt.Errorf("expected version %d, got %d: a newer hub wrote it", listingVersion, head.Version)
	}
	entries = slices.Grow(room[:0], len(rest)/20)
	var before listed
	for len(rest) > 0 {
		var hashes []byte
		var generation, more uint64
		if hashes, rest, err = cut(rest, 16); err != nil {
			return head, nil, err
		}
		if generation, rest, err = number(rest); err != nil {
			return head, nil, err
		}
		later, n := binary.Varint(rest)
		if n <= 0 {
			return head, nil, errVolume
		}
		if more, rest, err = number(rest[n:]); err != nil {
			return head, nil, err
		}
		before = listed{binary.LittleEndian.Uint64(hashes), binary.LittleEndian.Uint64(hashes[8:]), uint32(generation), before.asked + later, before.revision + more}
		entries = append(entries, before)
	}
	return head, entries, nil
}

func number(text []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(text)
	if n <= 0 {
		return 0, nil, errVolume
	}
	return v, text[n:], nil
}

func cut(text []byte, n uint64) (part, rest []byte, err error) {
	if n > uint64(len(text)) {
		return nil, nil, errVolume
	}
	return text[:n:n], text[n:], nil
}

func part(text []byte) (part, rest []byte, err error) {
	n, text, err := number(text)
	if err != nil {
		return nil, nil, err
	}
	return cut(text, n)
}
