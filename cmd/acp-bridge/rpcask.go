package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/pipe"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

// rpcAsker answers requests: with the answers given, on the terminal, or
// through files.
type rpcAsker struct {
	answers *answerList // nil where none were given
	hub     *hubDesk    // nil where there is none
	tty     *tty        // nil where there is none
	gone    atomic.Bool // the terminal hung up
	plain   bool
	wait    bool // for what is open when the input has ended
	store   pending.Store

	mu sync.Mutex
	// waiting has, by id, what is closed when a request that waits in a file
	// is over: a second request for the same questions waits for it.
	waiting map[string]chan struct{}
	log     io.Writer
}

func (a *rpcAsker) say(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(a.log, "acp-bridge rpc: "+format+"\n", args...)
}

func unanswered(status convert.Status, reason string) pipe.Reply {
	return pipe.Reply{Reply: dialect.Reply{Outcome: convert.Outcome{Status: status, Reason: reason}}}
}

// ask is called for one request at a time.
func (a *rpcAsker) ask(ctx context.Context, c convert.Call) pipe.Reply {
	switch {
	case a.answers != nil:
		return a.fromList(c)
	case a.hub != nil && a.tty == nil:
		return pipe.Reply{Later: func(ctx context.Context) pipe.Reply { return a.atHub(ctx, c, nil) }}
	case a.hub != nil:
		return a.atHub(ctx, c, func(ctx context.Context, c convert.Call) (convert.Outcome, error) { return a.tty.ask(ctx, c, a.plain) })
	case a.tty == nil:
		return a.inFile(ctx, c)
	}
	file, _ := a.store.Find(c) // nil if there is none, or none that is of use
	again := func() pipe.Reply { return a.ask(ctx, c) }
	if file != nil && file.Settled() {
		return a.deliver(fromFile(file, modeRPC), file, func() {}, again)
	}
	if a.gone.Load() {
		return unanswered(convert.Disconnected, "")
	}
	outcome, _ := a.tty.ask(ctx, c, a.plain)
	if outcome.Status == convert.Disconnected {
		a.gone.Store(true)
	}
	if ctx.Err() != nil && outcome.Status == convert.Cancelled && outcome.Reason != convert.CancelMessage {
		outcome.Reason = "" // not the user
	}
	return a.own(c, file, outcome, "what was chosen here", again)
}

// own replies with an outcome that was got here, but the first answers stand.
func (a *rpcAsker) own(c convert.Call, f *pending.File, outcome convert.Outcome, what string, again func() pipe.Reply) pipe.Reply {
	r := askResult{reply: answeredNow(nil, modeRPC), file: f}
	r.reply.Outcome = outcome
	r = r.settle(c, modeRPC, func(err error) {
		a.say("%s is not used: %s: %s", what, clean.Line(f.Path), oneLine(err))
	})
	if r.taken {
		return a.deliver(r.reply, r.file, func() {}, again)
	}
	reply := pipe.Reply{Reply: r.reply}
	if r.file != nil && outcome.Status == convert.Answered {
		reply.Done = a.clear(r.file)
	}
	return reply
}

// atHub asks at the hub, and on the terminal if that is what local does.
func (a *rpcAsker) atHub(ctx context.Context, c convert.Call, local func(context.Context, convert.Call) (convert.Outcome, error)) pipe.Reply {
	o, _ := a.hub.ask(ctx, desk.Question, c, local)
	if ctx.Err() != nil && o.Status != convert.Answered {
		return unanswered(convert.Cancelled, "")
	}
	r := pipe.Reply{Reply: answeredNow(nil, modeRPC)}
	r.Outcome = o
	r.Done = func(delivered bool) {
		if delivered {
			a.hub.used(c.Session)
		}
	}
	return r
}

// fromList takes the answers that were given.
func (a *rpcAsker) fromList(c convert.Call) pipe.Reply {
	o, err := a.answers.next(c)
	if err != nil {
		return unanswered(convert.Failed, err.Error())
	}
	file, _ := a.store.Find(c)
	return a.own(c, file, o, a.answers.flags.name(), func() pipe.Reply {
		r := pipe.Reply{Reply: answeredNow(nil, modeRPC)}
		r.Outcome = o
		return r
	})
}

// inFile has the questions wait in a file, after those of an earlier request
// that asks the same.
func (a *rpcAsker) inFile(ctx context.Context, c convert.Call) pipe.Reply {
	id, mine := pending.ID(c), make(chan struct{})
	a.mu.Lock()
	earlier := a.waiting[id]
	if a.waiting == nil {
		a.waiting = map[string]chan struct{}{}
	}
	a.waiting[id] = mine
	a.mu.Unlock()
	over := func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.waiting[id] == mine {
			delete(a.waiting, id)
		}
		close(mine)
	}
	if earlier == nil {
		return a.post(ctx, c, over)
	}
	return pipe.Reply{Later: func(ctx context.Context) pipe.Reply {
		select {
		case <-earlier:
		case <-ctx.Done():
		}
		return a.post(ctx, c, over)
	}}
}

// post writes the file, or finds it, and waits for answers in it.
func (a *rpcAsker) post(ctx context.Context, c convert.Call, over func()) pipe.Reply {
	end := func(status convert.Status, reason string) pipe.Reply {
		r := unanswered(status, reason)
		r.Done = func(bool) { over() }
		return r
	}
	file, err := a.store.Find(c)
	found := file != nil
	switch {
	case found && file.Settled():
		return a.deliver(fromFile(file, modeRPC), file, over, func() pipe.Reply { return a.post(ctx, c, over) })
	case ctx.Err() != nil:
		return end(convert.Cancelled, "")
	case found: // also with an answer that has to be corrected
	case errors.Is(err, pending.ErrNotFound):
		store := a.store
		store.Report = nil // Find has reported
		if file, err = store.Post(c); err != nil {
			return end(convert.Failed, err.Error())
		}
	default:
		return end(convert.Failed, err.Error())
	}
	a.say("%q waits in %s; answer it there, or with acp-bridge questions answer %s",
		clean.Truncate(clean.Line(c.Questions[0].Text), 50), clean.Line(file.Path), file.ID)
	return pipe.Reply{Later: func(ctx context.Context) pipe.Reply {
		answered, err := a.store.Wait(ctx, file)
		if !found && err != nil && errors.Is(context.Cause(ctx), pipe.ErrWithdrawn) { // else whoever is started next finds it
			answered, err = a.withdraw(c, err)
		}
		switch {
		case err == nil:
			return a.deliver(fromFile(answered, modeRPC), answered, over, func() pipe.Reply { return a.post(ctx, c, over) })
		case errors.Is(err, pending.ErrTaken) && ctx.Err() == nil: // these were another's answers
			return a.post(ctx, c, over)
		case errors.Is(err, pending.ErrGone): // a person removed it
			return end(convert.Cancelled, "")
		case ctx.Err() == nil:
			return end(convert.Failed, err.Error())
		}
		return end(convert.Cancelled, "")
	}}
}

// deliver replies with what a file has, which is removed when the response is
// written. Should somebody else use that first, it asks again.
func (a *rpcAsker) deliver(reply dialect.Reply, f *pending.File, over func(), again func() pipe.Reply) pipe.Reply {
	use := func(write func() error) *pipe.Reply {
		written := false
		err := a.store.Take(f, func() error {
			err := write()
			written = err == nil
			return err
		})
		switch {
		case !written && (errors.Is(err, pending.ErrGone) || errors.Is(err, pending.ErrChanged)):
			r := again()
			return &r
		case written && err != nil:
			a.say("the answers were used, but %s", oneLine(err))
		}
		return nil
	}
	return pipe.Reply{Reply: reply, Use: use, Done: func(bool) { over() }}
}

func (a *rpcAsker) clear(f *pending.File) func(bool) {
	return func(delivered bool) {
		if !delivered {
			return
		}
		if err := a.store.Clear(f); err != nil {
			a.say("the answers were used, but %s", oneLine(err))
		}
	}
}

// withdraw removes a file of our own that nobody has begun to answer. Without an
// error it is settled, and its answers are to be used.
func (a *rpcAsker) withdraw(c convert.Call, why error) (*pending.File, error) {
	for {
		now, err := a.store.Find(c)
		switch {
		case err == nil && now.Settled():
			return now, nil
		case err == nil && now.Untouched():
			err = a.store.Take(now, func() error { return nil })
		}
		switch {
		case errors.Is(err, pending.ErrChanged): // in this moment
			continue
		case err != nil && !errors.Is(err, pending.ErrNotFound) && !errors.Is(err, pending.ErrGone):
			a.say("%s", oneLine(err))
		}
		return nil, why
	}
}
