package hub

import (
	"encoding/json"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// asking says that the asker of a record is there. Hubs that share a store tell
// each other: an asker is at one of them, and gone only if it is at none.
type asking struct {
	Key   string `json:"key"`
	Asker string `json:"asker,omitempty"`
}

const (
	// toldShare is how often an asker is told of in the time of a lease: some messages may
	// get lost before it counts as gone.
	toldShare = 5
	// maxTold is how many askers are in one message, where the server takes as much.
	maxTold = 500
)

// tellAskers tells the other hubs which askers are here.
func (b *Board) tellAskers(now time.Time) {
	var here []asking
	b.step(func(s *state) {
		for key, l := range s.leases {
			if r := s.records[key]; r != nil && l.listening > 0 && now.Sub(l.told) >= s.opts.Lease/toldShare {
				l.told = now
				here = append(here, asking{key, r.Asker})
			}
		}
	})
	b.tellOthers(here)
}

// tellOthers sends as many messages as it takes: the server bounds each.
func (b *Board) tellOthers(list []asking) {
	for len(list) > 0 {
		n := min(len(list), maxTold)
		data := clean.JSON(list[:n])
		for ; n > 1 && len(data) > b.store.Limit(); data = clean.JSON(list[:n]) {
			n /= 2
		}
		if err := b.store.Tell(data); err != nil {
			b.log.Warn("other hubs were not told which agents are here", "err", err)
			return
		}
		list = list[n:]
	}
}

// told takes what another hub tells.
func (b *Board) told(data []byte) {
	var list []asking
	if json.Unmarshal(data, &list) != nil {
		return // of another version
	}
	b.step(func(s *state) {
		for _, a := range list {
			l, r := s.leases[a.Key], s.records[a.Key]
			if l == nil || r == nil || a.Asker != r.Asker {
				continue
			}
			s.hear(r, l)
			if l.listening == 0 {
				l.heard, l.elsewhere = time.Now(), true
			}
			if until := time.Now().Add(s.opts.Lease); until.After(l.until) {
				l.until = until
			}
		}
	})
}
