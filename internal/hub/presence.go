package hub

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// asking says that the asker of a record is there. Hubs that share a store tell
// each other: an asker is at one of them, and gone only if it is at none.
type asking struct {
	Key   string   `json:"key"`
	Asker string   `json:"asker,omitempty"`
	Also  []string `json:"also,omitempty"`
}

// maxTold is how many askers are in one message, which has a limit of its own.
const maxTold = 500

// tellAskers tells the other hubs which askers are here: of each often enough that some
// messages may get lost before it counts as gone there.
func (b *Board) tellAskers(now time.Time) {
	b.mu.Lock()
	var here []asking
	for key, l := range b.leases {
		if l.listening > 0 && now.Sub(l.told) >= b.opts.Lease/5 {
			l.told = now
			here = append(here, l.asking(key))
		}
	}
	b.mu.Unlock()
	for len(here) > 0 {
		n := min(len(here), maxTold)
		b.tellOthers(here[:n])
		here = here[n:]
	}
}

// tellOf tells the other hubs that the asker of one record is here now, and under
// which id.
func (b *Board) tellOf(r *Record, id string) {
	if b.store.Shared() {
		b.tellOne(r, id)
	}
}

func (b *Board) tellOne(r *Record, id string) {
	b.mu.Lock()
	l := b.leases[r.key]
	if l == nil {
		b.mu.Unlock()
		return
	}
	one := asking{Key: r.key, Asker: l.asker}
	b.mu.Unlock()
	if id != "" && id != r.ID {
		one.Also = []string{id}
	}
	b.tellOthers([]asking{one})
}

func (l *lease) asking(key string) asking {
	return asking{Key: key, Asker: l.asker, Also: slices.Clone(l.also)}
}

func (b *Board) tellOthers(list []asking) {
	if err := b.store.Tell(clean.JSON(list)); err != nil {
		b.log.Warn("other hubs were not told which agents are here", "err", err)
	}
}

// told takes what a hub tells, this one too.
func (b *Board) told(data []byte) {
	var list []asking
	if json.Unmarshal(data, &list) != nil {
		return // of another version
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range list {
		l, r := b.leases[a.Key], b.records[a.Key]
		if l == nil || r == nil {
			continue
		}
		if a.Asker != "" {
			l.askedBy(a.Asker)
		}
		l.alsoAs(a.Also...)
		b.hear(r, l)
		if until := time.Now().Add(b.opts.Lease); until.After(l.until) {
			l.until = until
		}
	}
}
