package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

func (s *Server) respond(_ http.ResponseWriter, r *http.Request, d Device, g given) error {
	ref, err := s.refOf(r, d)
	if err != nil {
		return err
	}
	var given struct{ Answers json.RawMessage }
	if g.into(&given) != nil {
		return statusError{http.StatusBadRequest, `expected {"answers":{"<question text>":"<answer>"}}`}
	}
	var byText map[string]json.RawMessage
	listed := json.Unmarshal(given.Answers, &byText) != nil // it names no question
	ref.Means = func(o *hub.Record) bool {
		return listed || slices.ContainsFunc(o.Call.Questions, func(q convert.Question) bool { return byText[q.Text] != nil })
	}
	return s.answer(r, ref, d, func(rec *hub.Record) ([]convert.Answer, error) { return readAnswers(rec.Call, given.Answers) })
}

// answer settles a question with what read makes of it. Answers that the asker could
// not have leave it open.
func (s *Server) answer(r *http.Request, ref hub.Ref, d Device, read func(*hub.Record) ([]convert.Answer, error)) error {
	ref.May = s.may(d)
	_, err := s.board.Answer(r.Context(), ref, func(rec *hub.Record) ([]convert.Answer, error) {
		answers, err := read(rec)
		if err == nil {
			err = fits(rec, answers)
		}
		return answers, err
	}, d.Name)
	return err
}

// fits reports answers that cannot be written for their asker, in its dialect.
func fits(rec *hub.Record, answers []convert.Answer) error {
	noted := slices.ContainsFunc(answers, func(a convert.Answer) bool { return a.Note != "" })
	if noted && !takesNotes(rec) { // it would be lost
		return fmt.Errorf("%w: the form of %s has no place for a note", convert.ErrBadAnswer, clean.Truncate(clean.Line(rec.Call.Server), 80))
	}
	for i, a := range answers {
		if err := rec.Call.Questions[i].Fits(a); err != nil && rec.Kind != "permission" {
			return err
		}
	}
	if rec.Kind == "permission" && len(rec.Call.Questions) == 1 {
		if _, _, err := rec.About.Picked(rec.Call.Questions[0].Options, answers); err != nil {
			return err
		}
	}
	if rec.Dialect == hublink.Dialect {
		return nil // its process looks at them, and asks again
	}
	if rec.Dialect == hook.Dialect {
		return hookFits(rec, answers)
	}
	req, err := dialect.Decode(rec.Document, rec.Dialect)
	if err == nil {
		err = req.Fits(answers)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", convert.ErrBadAnswer, err)
	}
	return nil
}

func (s *Server) cancel(_ http.ResponseWriter, r *http.Request, d Device, _ given) error {
	ref, err := s.refOf(r, d)
	if err == nil {
		ref.Means = func(o *hub.Record) bool { // it may come once more, or late: somebody else was quicker
			return o.End.Status() != convert.Answered || o.End.By != d.Name
		}
		_, err = s.board.Cancel(r.Context(), ref, d.Name)
	}
	return err
}

func (s *Server) takeBack(_ http.ResponseWriter, r *http.Request, d Device, g given) error {
	var given hublink.Settling
	err := g.into(&given)
	o, bad := given.Result()
	ref, err := s.ownOf(r, d, given.Asker, errors.Join(err, bad))
	if err == nil {
		_, err = s.board.TakeBack(r.Context(), ref, o, elsewhere(given.By, d))
	}
	return err
}

// ownOf names the question of which its asker says something. Bad is what is wrong with that.
func (s *Server) ownOf(r *http.Request, d Device, asker string, bad error) (ref hub.Ref, err error) {
	rec, err := s.askedBy(r, d, asker)
	if err != nil {
		return ref, err
	}
	if err := errors.Join(bad, checkAsker(asker)); err != nil {
		return ref, badf("%w", err)
	}
	if asker == "" && rec.Asker != "" {
		return ref, hub.ErrNotAsker
	}
	ref = rec.Ref()
	ref.Asker, ref.May = asker, s.may(d)
	return ref, nil
}

func (s *Server) received(_ http.ResponseWriter, r *http.Request, d Device, g given) error {
	var given hublink.Received
	bad := g.into(&given)
	ref, err := s.ownOf(r, d, given.Asker, bad)
	switch {
	case err != nil:
	case given.Refused != "":
		_, err = s.board.Refuse(r.Context(), ref, given.Refused)
	case given.Unsure != "":
		_, err = s.board.Unsure(r.Context(), ref, given.Unsure)
	case given.Claim:
		_, err = s.board.Claim(r.Context(), ref)
	case given.Ended:
		_, err = s.board.Ended(r.Context(), ref)
	case given.Consumed:
		_, err = s.board.Consumed(r.Context(), ref)
	default:
		_, err = s.board.Delivered(r.Context(), ref)
	}
	return err
}

// may returns what says, right before something is written, that a device still may,
// as far as any hub knows.
func (s *Server) may(d Device) func(context.Context) error {
	return func(ctx context.Context) error { return s.access.still(ctx, d) }
}

// refOf reads which question is meant.
func (s *Server) refOf(r *http.Request, d Device) (hub.Ref, error) {
	ref := hub.Ref{Conversation: r.PathValue("id"), ID: r.Form.Get("question"), May: s.may(d)}
	var err error
	if ref.Group, err = s.groupOf(r, d); err != nil {
		return ref, err
	}
	if v := r.Form.Get("revision"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil || n == 0 {
			return ref, badf("revision: expected a positive number, got %q", v)
		}
		ref.Revision, ref.Fingerprint = n>>20, fmt.Sprintf("%05x", n&(1<<20-1))
	}
	return ref, nil
}
