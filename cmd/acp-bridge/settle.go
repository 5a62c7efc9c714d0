package main

import (
	"errors"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

// askResult is a reply and the file where the questions waited, if there is one.
type askResult struct {
	reply dialect.Reply
	file  *pending.File
	taken bool // the reply is the one in the file
}

// settle writes what the user has chosen into the file where the questions wait,
// so that nobody else can settle them before the reply is used. If somebody has
// done so already, that stands: it is the reply, in the given mode, and unused is
// told what came of the user's choice. A failure is nobody's choice and is not
// written.
func (r askResult) settle(c convert.Call, mode string, unused func(error)) askResult {
	store := &pending.Store{}
	for r.file != nil {
		written, err := r.record(store)
		now, _ := store.Find(c)
		switch {
		case now == nil: // it is gone, or damaged
			return r
		case !now.Settled() && errors.Is(err, pending.ErrChanged):
			r.file = now
			continue
		case !now.Settled(): // it cannot be written, or is left to others
			return r
		case written:
			r.file, r.taken = now, true
			return r
		case r.chosen():
			unused(now.SettledError())
		}
		return askResult{fromFile(now, mode), now, true}
	}
	return r
}

// chosen reports whether the reply is the choice of a person.
func (r askResult) chosen() bool {
	o := r.reply.Outcome
	return o.Status == convert.Answered || o.Status == convert.Declined ||
		o.Status == convert.Cancelled && o.Reason == convert.CancelMessage
}

// record writes a choice into the file. What somebody has begun to answer is not
// dismissed.
func (r askResult) record(store *pending.Store) (written bool, err error) {
	switch {
	case !r.chosen():
		return false, nil
	case r.reply.Outcome.Status == convert.Answered:
		err = store.Answer(r.file, r.reply.Outcome.Answers, whoAmI())
	case r.file.Untouched():
		err = store.Dismiss(r.file, whoAmI())
	default:
		return false, nil
	}
	return err == nil, err
}
