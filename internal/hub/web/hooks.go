package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

const (
	// maxHook is the most that a hook sends: the input of a tool, and its output.
	maxHook = 8 << 20
	// holdTime is how long a hook may wait for a person where the terminal shows the
	// same, and BlockTime where it shows nothing meanwhile, unless nobody is there: see
	// [Options]. lookTime is how often that is looked at.
	holdTime  = 24 * time.Hour
	BlockTime = 5 * time.Second
	lookTime  = time.Second
)

// machineHeader says where Claude Code runs, for people.
const machineHeader = "Acp-Bridge-Machine"

// terminal is who has answered where Claude Code runs.
const terminal = "the terminal"

// claudeHook takes what a hook of Claude Code says. What cannot be asked here gets an
// empty reply: then all is as if there were no hook.
func (s *Server) claudeHook(w http.ResponseWriter, r *http.Request, d Device, g given) error {
	e, err := hook.Parse(g.json)
	if err != nil {
		return badf("%w", err)
	}
	if !e.Asks() {
		s.hookEnds(r.Context(), d, e)
		s.askedSince(r.Context(), d, e)
		said := s.hooked.see(d, e) // after it: what is over is forgotten
		if t, ok := turnOf(d, e, about.Decode(r.Header.Get(about.Header))); ok {
			s.turns.add(t)
		}
		return reply(w, said, nil)
	}
	asking, err := e.Asking()
	if err != nil {
		s.log.Info("a hook's question is asked in the terminal alone", "err", err)
		return reply(w, hook.NoSay, nil)
	}
	leave, ok := s.room(s.bytes, d, len(g.json)) // what it waits with
	if !ok {
		return &hub.BoundError{What: "bytes of what waits", Limit: s.mostBytes}
	}
	defer leave()
	rec, err := s.askHook(r, d, g, e, asking)
	if err != nil {
		return err
	}
	return s.holdHook(w, r, d, rec, asking, e)
}

// askHook puts what a hook asks on the board.
func (s *Server) askHook(r *http.Request, d Device, g given, e hook.Event, a hook.Asking) (*hub.Record, error) {
	name := e.Held
	// It asks again under it, but for a pass: one yes is one.
	if !IsName(name) || e.Name == hook.PermissionDenied {
		name = life.Mint()
	}
	machine := clean.Truncate(r.Header.Get(machineHeader), 100)
	if machine == "" { // an address is one of this machine
		machine, _ = os.Hostname()
	}
	told := about.Decode(r.Header.Get(about.Header))
	told.Picks, told.NoReason = a.Picks, a.NoReason()
	return s.board.Ask(r.Context(), hub.Asking{
		Group: d.first(), Conversation: e.Session, Name: "hook_" + name[:min(16, len(name))], Kind: a.Kind, Agent: "Claude Code", Machine: machine, Dir: e.Dir, Detail: a.Detail,
		About:  told,
		Device: d.id(), Asker: name, May: s.may(d), Dialect: hook.Dialect, Document: g.json, Call: a.Call,
		Hold: &hub.Hold{Call: cmp.Or(s.hooked.take(d, e), e.ToolUse), Agent: e.Agent},
	})
}

// holdHook waits for a person, or for the end of the connection, the hub or the time. A
// named hook connects again, or says that it was taken back; one that does neither is
// lost, see [hub.Hold].
func (s *Server) holdHook(w http.ResponseWriter, r *http.Request, d Device, rec *hub.Record, a hook.Asking, e hook.Event) error {
	blocks, named := e.Blocks(), rec.Asker == e.Held
	wait := holdTime
	if blocks {
		wait = cmp.Or(s.opts.Block, BlockTime)
	}
	rec, err := s.wait(r.Context(), rec, wait, d, true)
	for err == nil && blocks && rec.Open() && s.access.Away(rec.Group) && r.Context().Err() == nil && s.serving.Err() == nil {
		rec, err = s.wait(r.Context(), rec, lookTime, d, true)
	}
	switch {
	case named && r.Context().Err() != nil: // it comes back, for its answer, too
		return nil
	case err == nil && !rec.Open() && !rec.End.Elsewhere && rec.End.By != "":
		s.answerHook(w, r, d, rec, a, e)
		return nil
	case rec.Open() && named && !blocks && s.serving.Err() != nil:
		return context.Canceled
	case rec.Open():
		s.withdrawHook(r, rec, e)
	}
	return reply(w, hook.NoSay, nil)
}

// withdrawHook takes back what nobody has answered here. It is the hub that says so:
// whoever asked may have lost the right to say anything.
func (s *Server) withdrawHook(r *http.Request, rec *hub.Record, e hook.Event) {
	o := convert.Outcome{Status: convert.Disconnected, Reason: "nobody answered it here: it is open in the terminal"}
	switch {
	case r.Context().Err() != nil && s.serving.Err() == nil:
		o = convert.Outcome{Status: convert.Failed, Reason: "Claude Code has taken it back: it was dismissed in the terminal, or Claude Code has ended"}
	case e.Name == hook.PermissionDenied:
		o = convert.Outcome{Status: convert.Failed, Reason: "nobody answered it here, and it stays blocked; acp-bridge away gives more time"}
	case s.serving.Err() != nil:
		o.Reason = "the hub was stopped: it is open in the terminal"
	case e.Blocks():
		o.Reason = "it is asked in the terminal now; acp-bridge away says that nobody is there"
	}
	s.endHook(r.Context(), rec.Ref(), o, "")
}

// endHook settles what has ended elsewhere.
func (s *Server) endHook(ctx context.Context, ref hub.Ref, o convert.Outcome, by string) {
	if _, err := s.board.TakeBack(context.WithoutCancel(ctx), ref, o, by); err != nil && !errors.Is(err, hub.ErrSettled) {
		s.log.Warn("what a hook asked could not be taken back", "err", err)
	}
}

// answerHook gives the hook what a person said. That Claude Code goes on with it is
// known when an event of the tool call says so.
func (s *Server) answerHook(w http.ResponseWriter, r *http.Request, d Device, rec *hub.Record, a hook.Asking, e hook.Event) {
	body, err := a.Reply(rec.End.Result())
	ref := rec.Ref()
	ref.May = s.may(d)
	ctx := context.WithoutCancel(r.Context())
	switch {
	case err == nil && r.Context().Err() == nil:
		if e.Name == hook.PermissionDenied {
			s.hooked.arm(d, e, rec.End.By, rec.Asked, hook.Retries(body))
		}
		if err = replyRaw(w, jsonKind, body); err == nil {
			_, err = s.board.Delivered(ctx, ref)
		} else {
			s.hooked.see(d, hook.Event{Name: hook.TakenBack, Session: e.Session, Held: e.Held})
		}
	case err == nil:
		_, err = s.board.Refuse(ctx, ref, "Claude Code had taken it back")
	default:
		_, refused := s.board.Refuse(ctx, ref, err.Error())
		err = errors.Join(err, refused, reply(w, hook.NoSay, nil))
	}
	if err != nil {
		s.log.Warn("an answer may not have reached Claude Code", "err", err)
	}
}

// replyRaw writes a reply in one piece, and returns when it is sent.
func replyRaw(w http.ResponseWriter, kind string, body []byte) error {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if err := send(w, body); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// hookEnds moves what is held in a session on to where an event says that it is.
func (s *Server) hookEnds(ctx context.Context, d Device, e hook.Event) {
	defer s.hookLeaves(ctx, d, e)
	held := s.board.Held(d.first(), e.Session, d.id())
	s.uncross(d, e, held)
	for _, rec := range held {
		s.hookEnd(ctx, d, rec, e.Ends(heldAs(rec, s.callOf(d, rec), e)))
	}
}

// callOf is the call that a request is for, as far as known. That of a yes to a blocked call is
// known where the pass was given, until it is over there.
func (s *Server) callOf(d Device, rec *hub.Record) string {
	asked, _ := hook.Parse(rec.Document) // it was read before
	is := rec.Hold.Call
	if hook.Retries(heldAs(rec, "", hook.Event{}).Reply) {
		is = ""
	}
	return s.hooked.call(placeAt(d, asked), rec.Hold.Call, is)
}

// heldAs is a request that is for a call, as an event finds it: a hook that takes it back has
// had no reply unless that was handed out.
func heldAs(rec *hub.Record, call string, e hook.Event) hook.Held {
	held := hook.Held{Call: call, Agent: rec.Hold.Agent, Document: rec.Document}
	if !rec.Open() && (e.Name != hook.TakenBack || rec.End.Receipt() != "accepted") {
		held.Reply, _ = replyTo(rec, rec.End.Result())
	}
	return held
}

// uncross finds out for which of two calls with the same input a request was. They are
// asked in any order, and nothing says which is which until one has run: that is the
// one that a person has allowed here, if there is one.
func (s *Server) uncross(d Device, e hook.Event, held []*hub.Record) {
	if e.ToolUse == "" {
		return
	}
	arrives := func(r *hub.Record) bool { return !r.Open() && e.Ends(heldAs(r, e.ToolUse, e)).What == hook.Arrived }
	i := slices.IndexFunc(held, func(r *hub.Record) bool { return r.Hold.Agent == e.Agent && s.callOf(d, r) == e.ToolUse })
	if i < 0 || arrives(held[i]) {
		return
	}
	for _, r := range held {
		if r.Hold.Call != "" && arrives(r) && sameRequest(r, held[i]) {
			s.hooked.cross(placeAt(d, e), r.Hold.Call, held[i].Hold.Call)
			return
		}
	}
}

// sameRequest reports whether two hooks of an agent have asked for the same tool with the
// same input.
func sameRequest(a, b *hub.Record) bool {
	x, _ := hook.Parse(a.Document) // they were read before
	y, _ := hook.Parse(b.Document)
	return x.Name == y.Name && !x.Apart(y) && x.Tool == y.Tool && bytes.Equal(canonical(x.Input), canonical(y.Input))
}

// hookLeaves notes at a session's last question that the session has ended.
func (s *Server) hookLeaves(ctx context.Context, d Device, e hook.Event) {
	if e.Name != hook.SessionEnd {
		return
	}
	asked := only(s.board.Conversation(d.first(), e.Session), func(r *hub.Record) bool { return r.Device == d.id() })
	if len(asked) == 0 || asked[len(asked)-1].Open() {
		return
	}
	ref := asked[len(asked)-1].Ref()
	ref.May = s.may(d)
	if _, err := s.board.Ended(context.WithoutCancel(ctx), ref); err != nil {
		s.log.Warn("it could not be noted that a session has ended", "err", err)
	}
}

func (s *Server) hookEnd(ctx context.Context, d Device, rec *hub.Record, end hook.Ending) {
	ref := rec.Ref()
	ref.May = s.may(d)
	var err error
	switch end.What {
	case hook.Answered:
		s.endHook(ctx, ref, convert.Outcome{Status: convert.Answered, Answers: end.Answers}, terminal)
	case hook.Over:
		s.endHook(ctx, ref, convert.Outcome{Status: convert.Failed, Reason: end.Why}, "")
	case hook.Arrived:
		_, err = s.board.Consumed(context.WithoutCancel(ctx), ref)
	case hook.Late:
		_, err = s.board.Refuse(context.WithoutCancel(ctx), ref, end.Why)
	}
	if err != nil {
		s.log.Warn("it could not be noted what became of an answer", "err", err)
	}
}

// replyTo is what the hook of a question says when that has settled so.
func replyTo(rec *hub.Record, o convert.Outcome) (json.RawMessage, error) {
	e, err := hook.Parse(rec.Document)
	if err != nil {
		return nil, err
	}
	a, err := e.Asking()
	if err != nil {
		return nil, err
	}
	return a.Reply(o)
}

// hookFits reports answers that Claude Code has no place for.
func hookFits(rec *hub.Record, answers []convert.Answer) error {
	_, err := replyTo(rec, convert.Outcome{Status: convert.Answered, Answers: answers})
	if err != nil && !errors.Is(err, convert.ErrBadAnswer) {
		err = fmt.Errorf("%w: %w", convert.ErrBadAnswer, err)
	}
	return err
}
