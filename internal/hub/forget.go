package hub

import (
	"context"
	"errors"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// Forgotten says what became of one person's answers.
type Forgotten struct {
	// Answers counts those without words now, and Left those that their asker
	// has not had yet: they stay whole until then.
	Answers int `json:"forgotten"`
	Left    int `json:"left"`
}

// ForgetBy removes what a person said from the records that sees shows: answers,
// notes and the name. That the question was settled, how and when stays. What is
// open or on its way to its asker is not touched.
//
// No client of the store can read what was removed, earlier values included. In
// the server's files its bytes may stay until JetStream writes them anew, as after
// every change; logs and the counts of a running hub keep the name.
//
// may is that of [Ref].
func (b *Board) ForgetBy(ctx context.Context, by string, sees func(*Record) bool, may func(context.Context) error) (done Forgotten, err error) {
	if by == "" {
		return done, nil
	}
	if err := b.CatchUp(ctx); err != nil {
		return done, err
	}
	var keys []string
	b.step(func(s *state) {
		for key, r := range s.records {
			if r.names(by) && sees(r) {
				keys = append(keys, key)
			}
		}
	})
	for _, key := range keys {
		forgotten, left, err := b.forgetOne(ctx, key, by, may)
		if err != nil {
			return done, err
		}
		if forgotten {
			done.Answers++
		}
		if left {
			done.Left++
		}
	}
	return done, nil
}

// names reports whether a settled record says what somebody did.
func (r *Record) names(by string) bool {
	return !r.Open() && (r.End.By == by || strings.HasSuffix(r.End.Undelivered, refusedBy(by)))
}

// refusedBy is how a refusal ends that says who was first, an asker's own too.
func refusedBy(who string) string { return " by " + who }

// without is a settled record without what somebody said.
func (r *Record) without(by string) *Record {
	next, end := *r, *r.End
	end.Undelivered = strings.TrimSuffix(strings.TrimSuffix(end.Undelivered, refusedBy(by)), ",")
	if end.By == by {
		end.Answers, end.Typed, end.Reason, end.By, end.Forgotten = nil, nil, "", "", true
		end.rest = nil // what a newer hub noted may be words, too
		next.Version = max(next.Version, forgottenVersion)
	}
	next.End = &end
	return &next
}

func (b *Board) forgetOne(ctx context.Context, key, by string, may func(context.Context) error) (forgotten, left bool, err error) {
	for {
		r := b.get(key)
		if r == nil || !r.names(by) { // others were at it meanwhile
			return forgotten, false, nil
		}
		if r.End.Receipt() == "accepted" {
			return false, true, nil
		}
		next := r.without(by)
		switch _, err := b.write(ctx, next, r, may); {
		case err == nil:
			return next.End.Forgotten, false, b.store.Trim(ctx, key)
		case !errors.Is(err, hubstore.ErrConflict):
			return false, false, err
		}
	}
}
