package hublink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// question is an item of the desk that is also at the hub.
type question struct {
	link    *Link
	entry   desk.Entry
	path    string // of the conversation
	id      string // at the hub; shared as the link's where others read it
	asking  Asking
	ctx     context.Context // ends when the desk has settled it, or the link ends
	cancel  context.CancelFunc
	settled chan desk.Settlement
	heard   bool // that it is there, or not
	there   bool // at the hub, for sure

	// Shared as what the link has.
	stands bool     // the desk has taken the hub's outcome
	early  *receipt // what became of it, told before that was known
}

const (
	firstPause = 250 * time.Millisecond
	lastPause  = 15 * time.Second
)

// run asks at the hub until there is an outcome here or there. Asking again is
// how it waits: the same call is the same question, also at a hub that was
// started anew with an empty disk.
func (q *question) run() {
	defer q.cancel()
	q.asking.About = q.asking.About.Told() // here, where it may take its time
	q.asking.About.Branch = BranchOf(q.asking.Dir)
	body := clean.JSON(q.asking)
	pause := firstPause
	for q.ctx.Err() == nil {
		began, wait := time.Now(), q.wait()
		status, data, err := q.post(q.ctx, fmt.Sprintf("/ask?dialect=%s&wait=%s", Dialect, wait), body)
		said := verdict(status, data, err)
		q.there = q.there || said == nil
		q.hear(said)
		switch {
		case q.ctx.Err() != nil:
		case err != nil:
			q.link.is(down, Reason(err).Error())
		case status == http.StatusOK:
			q.link.is(up, "")
			if q.take(data) {
				return
			}
		case status == http.StatusAccepted:
			q.link.is(up, "")
			q.named(data)
			pause = firstPause
			if time.Since(began) >= wait/2 {
				continue // it waited
			}
		case status == http.StatusForbidden:
			q.link.is(barred, problem(status, data))
			pause = lastPause // until it has another one
		case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge:
			q.link.is(up, "")
			q.link.log.Warn("the hub refused a question: it is asked here only", "name", q.entry.Name, "why", problem(status, data))
			return
		default:
			q.link.is(down, problem(status, data))
		}
		proc.Sleep(q.ctx, pause)
		pause = min(2*pause, lastPause)
	}
	select {
	case s := <-q.settled:
		if s.Outcome.Status != convert.Disconnected {
			q.takeBack(s)
			return
		}
	default:
	}
	if !q.there && q.entry.Kind != desk.Permission {
		// Whoever asked was faster than the hub. A question that is left stays open
		// there, so it has to get there.
		q.tell("/ask?dialect="+Dialect+"&wait=0s", q.asking)
	}
}

// wait is how long a request waits for the answer: not at all if somebody wants to
// know first whether the hub has the question.
func (q *question) wait() time.Duration {
	if q.link.opts.Heard != nil && !q.heard {
		return 0
	}
	return q.link.opts.Wait
}

// hear tells whoever wants to know whether the hub has the question. It is called
// before run and by it.
func (q *question) hear(err error) {
	if q.link.opts.Heard != nil && !q.heard && (q.ctx.Err() == nil || err == nil) {
		q.heard = true
		q.link.opts.Heard(q.entry, err)
	}
}

// verdict is what a reply says of a question.
func verdict(status int, data []byte, err error) error {
	switch {
	case err != nil:
		return err
	case status == http.StatusOK, status == http.StatusAccepted:
		return nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("%w: %s", ErrRefused, problem(status, data))
	}
	return errors.New(problem(status, data))
}

// named takes the name that the question has at the hub, where it may have been
// asked under another id before.
func (q *question) named(data []byte) {
	var reply struct{ Question string }
	if json.Unmarshal(data, &reply) == nil && reply.Question != "" {
		q.setID(reply.Question)
	}
}

// setID is called by run alone, and others read the id.
func (q *question) setID(id string) {
	q.link.shared.Step(func() { q.id = id })
}

// take gives the hub's outcome to the desk. It returns false if the question has
// to be asked again.
func (q *question) take(data []byte) (done bool) {
	o, id, by, err := DecodeOutcome(data)
	if err != nil {
		q.link.is(down, Reason(err).Error())
		return false
	}
	q.setID(id)
	switch {
	case by == "":
		return true // nobody's outcome: it stays open here
	case o.Status == convert.Answered:
		q.link.delivers(q)
		err = q.link.desk.Answer(q.entry.Name, o.Answers, by)
	case o.Status == convert.Cancelled:
		q.link.delivers(q)
		err = q.link.desk.Cancel(q.entry.Name, by)
	default:
		return true
	}
	if q.link.deliver(q, o, err); err == nil {
		return true
	}
	var late *desk.SettledError
	why := err.Error()
	if errors.As(err, &late) && late.By != "" {
		why = fmt.Sprintf("it was %s before by %s", late.Outcome.Status, late.By)
	}
	q.tell(q.at("/received"), Received{Refused: why, Asker: q.link.nonce})
	return errors.Is(err, desk.ErrSettled) || errors.Is(err, desk.ErrNotOpen)
}

// takeBack tells the hub what the desk knows.
func (q *question) takeBack(s desk.Settlement) {
	o := s.Outcome
	settling := Settling{Outcome: o.Status.String(), Answers: ask.Kept(q.entry.Call, o.Answers), Reason: o.Reason, By: s.By, Asker: q.link.nonce}
	// That it is settled must be known there, if not how.
	if q.tell(q.at("/settle"), settling) == http.StatusRequestEntityTooLarge {
		settling.Answers, settling.Reason = nil, "What was answered is too large for the hub"
		q.tell(q.at("/settle"), settling)
	}
}

func (q *question) consumed() {
	q.tell(q.at("/received"), Received{Consumed: true, Asker: q.link.nonce})
}

// tellTime is how long the hub is told something for: after that the asker
// counts as gone, which says enough.
const tellTime = 10 * time.Minute

// at is a path below the question at the hub.
func (q *question) at(what string) string { return "/questions/" + url.PathEscape(q.id) + what }

// tell sends something that needs no reply, until the hub has it or does not take
// it. It returns the status of its last reply.
func (q *question) tell(path string, v any) (status int) {
	ctx, cancel := context.WithTimeout(q.link.ctx, tellTime)
	defer cancel()
	body := clean.JSON(v)
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		var data []byte
		var err error
		status, data, err = q.post(ctx, path, body)
		switch {
		case ctx.Err() != nil:
			return status
		case err != nil:
			q.link.is(down, Reason(err).Error())
		case status == http.StatusBadRequest:
			q.link.log.Warn("the hub does not take what it was told of a question", "name", q.entry.Name, "why", problem(status, data))
			fallthrough
		case status == http.StatusOK, status == http.StatusAccepted, status == http.StatusNotFound, status == http.StatusConflict,
			status == http.StatusRequestEntityTooLarge:
			q.link.is(up, "")
			return status
		case status == http.StatusForbidden:
			return status // whoever may not ask has nothing to tell
		default:
			q.link.is(down, problem(status, data))
		}
		if q.link.isClosed() {
			return status
		}
		proc.Sleep(ctx, pause)
	}
	return status
}

func (l *Link) isClosed() (closed bool) {
	l.shared.Step(func() { closed = l.closed })
	return closed
}

// runs begins something that Close waits for, unless that has been called.
func (l *Link) runs(do func()) {
	l.shared.Step(func() {
		if !l.closed {
			l.running.Go(do)
		}
	})
}

// replyTime is how much longer than it was asked to wait the hub may take.
const replyTime = 10 * time.Second

func (q *question) post(ctx context.Context, path string, body []byte) (status int, data []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, q.wait()+replyTime)
	defer cancel()
	return q.send(ctx, http.MethodPost, path, body)
}

// send makes a request about the conversation.
func (q *question) send(ctx context.Context, method, path string, body []byte) (status int, data []byte, err error) {
	if group := q.link.opts.Group; group != "" {
		mark := "?"
		if strings.Contains(path, "?") {
			mark = "&"
		}
		path += mark + "group=" + url.QueryEscape(group)
	}
	return q.link.caller.Send(ctx, method, q.path+path, body)
}

// problem is what the hub said, in words.
func problem(status int, data []byte) string {
	var said struct{ Error string }
	if json.Unmarshal(data, &said) == nil && said.Error != "" {
		if status == http.StatusBadRequest { // it does not know all that this program says
			said.Error += "; a hub that is older than this program has to be upgraded"
		}
		return fmt.Sprintf("%d: %s", status, said.Error)
	}
	return fmt.Sprintf("it replied with status %d", status)
}
