package hub

import (
	"time"

	"github.com/acp-bridge/acp-bridge/internal/life"
)

// lease is what is known of the process that has a record.
type lease struct {
	until     time.Time
	listening int // requests that wait for the answer
	gone      bool
	heard     time.Time // when it was last here, or was told of by another hub
	elsewhere bool      // it is at another hub
	told      time.Time // when the other hubs were told last that it is here
}

const (
	// goneTime is how long a process that is there lets pass between two requests.
	goneTime = 500 * time.Millisecond
	// usingTime is more than it takes a process that is there to hand an outcome to its
	// agent, and to say so.
	usingTime = 5 * time.Second
)

// moment is goneTime, for leases that are as short.
func (s *state) moment() time.Duration { return min(goneTime, s.opts.Lease/4) }

// gone reports whether the process that has a record is gone, for another that has asked
// since began; with a zero began that one only looks. Soon is how long it takes until that is
// known.
//
//	| the process                            | is gone                             |
//	|----------------------------------------|-------------------------------------|
//	| asks itself                            | no; if it only looks, it is its own  |
//	| was given the outcome                  | when it has not used it in time     |
//	| … and says that it hands it on         | no, for a lease                     |
//	| waits here                             | no; a kill has a moment to be noticed |
//	| was here                               | a moment after its last request     |
//	| is at another hub                      | when two tellings are missed; no, if one comes so late that it was sent since |
//	| was not heard of since the board began | when its lease has run out          |
func (s *state) gone(o *Record, asker string, began time.Time) (gone bool, soon time.Duration) {
	l, owner := s.leases[o.key], o.owner()
	switch {
	case owner.Process == asker:
		return began.IsZero(), 0
	case owner.State == life.Taken && !o.End.Claimed.IsZero() && s.uses(o) > 0:
		return false, 0
	case owner.State == life.Taken:
		soon = s.uses(o)
	case l == nil || l.gone:
		return true, 0
	case l.listening > 0:
		return false, max(0, time.Until(began.Add(s.moment())))
	case l.elsewhere && l.heard.After(began.Add(s.opts.Lease/toldShare)) && !began.IsZero():
		return false, 0
	case l.elsewhere:
		soon = time.Until(l.heard.Add(2 * s.opts.Lease / toldShare))
	case l.heard.IsZero():
		soon = time.Until(l.until)
	default:
		soon = time.Until(l.heard.Add(s.moment()))
	}
	return soon <= 0, max(0, soon)
}

// uses is how long the process that was given an outcome still has to say that it used it:
// until then nobody else gets it. One that has claimed it has a lease.
func (s *state) uses(r *Record) time.Duration {
	most := s.using
	if !r.End.Claimed.IsZero() {
		most = s.opts.Lease
	}
	return max(0, time.Until(r.owner().Since.Add(most)))
}

// hears notes that the process that has a record is here now.
func (s *state) hears(r *Record) {
	l := s.leases[r.key]
	if l == nil {
		l = &lease{gone: r.Gone}
		s.leases[r.key] = l
	}
	s.hear(r, l)
	l.heard, l.elsewhere = time.Now(), false
	l.until = l.heard.Add(s.opts.Lease)
}

// hear notes that an asker is there.
func (s *state) hear(r *Record, l *lease) {
	if l.gone {
		l.gone = false
		s.tell(r.key, false)
	}
}

// listen notes that the asker of a record is there until done is called, and for
// a lease longer.
func (b *Board) listen(r *Record) (done func()) {
	l := peek(b, func(s *state) *lease {
		l := s.leases[r.key]
		if l != nil {
			l.listening++
			s.hear(r, l)
		}
		return l
	})
	return func() {
		if l == nil {
			return
		}
		b.step(func(s *state) {
			l.listening--
			l.heard, l.elsewhere = time.Now(), false
			l.until = l.heard.Add(s.opts.Lease)
		})
	}
}

// spare gives every asker another lease.
func (b *Board) spare(now time.Time) {
	b.step(func(s *state) {
		for _, l := range s.leases {
			l.until = now.Add(s.opts.Lease)
		}
	})
}

// expire marks the askers that are gone.
func (b *Board) expire(now time.Time) {
	b.step(func(s *state) {
		for key, l := range s.leases {
			r := s.records[key]
			if r == nil || !r.Open() && (r.over() || r.Gone && !r.held()) { // of what is held, endGone says first that it has no use
				delete(s.leases, key)
				continue
			}
			if !l.gone && l.listening == 0 && now.After(l.until) {
				l.gone = true
				s.tell(key, true)
			}
		}
	})
}

// tell makes it known that an asker is gone, or back.
func (s *state) tell(key string, gone bool) {
	if r := s.records[key]; r != nil {
		next := *r
		next.Gone = gone
		s.drop(r)
		s.put(&next)
		s.news.add(&next)
	}
}
