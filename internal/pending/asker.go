package pending

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Asker is who asks in files: a process, or one that plays several. What it has
// asked is its own while it lives, and a successor's after that, see
// [Asker.Claim].
type Asker struct {
	store *Store
	agent string

	shared proc.Shared         // has what follows
	held   map[string]*os.File // by id: a lock that ends with the process
	using  map[string]bool     // the ids of what is being handed over
}

// Asker begins to ask, for an agent that people are told of. It must be closed.
func (s *Store) Asker(agent string) *Asker {
	return &Asker{store: s, agent: agent, held: map[string]*os.File{}, using: map[string]bool{}}
}

// Close ends the asker. What it has asked and not taken waits for a successor.
func (a *Asker) Close() {
	var all []string
	a.shared.Step(func() { all = slices.Collect(maps.Keys(a.held)) })
	for _, id := range all {
		a.release(id)
	}
}

// aliveSuffix names the files that askers keep locked, one for each question.
const aliveSuffix = ".alive"

func (r *records) alive(id string) string { return filepath.Join(r.dir, id+aliveSuffix) }

// hold makes the asker the one that a question has, unless another has it. The
// folder is locked.
func (a *Asker) hold(d *dir, id string) error {
	for {
		f, err := os.OpenFile(d.records.alive(id), os.O_CREATE|os.O_RDWR, 0o600)
		if err == nil {
			err = proc.TryLock(f)
		}
		if err != nil {
			if f != nil {
				_ = f.Close()
			}
			return fmt.Errorf("keep a record of who asks in %s: %w", d.records.dir, reason(err))
		}
		locked, err := f.Stat()
		named, gone := os.Stat(f.Name())
		if err == nil && gone == nil && os.SameFile(locked, named) {
			a.shared.Step(func() { a.held[id] = f })
			return nil
		}
		_ = f.Close() // the one before has just removed it
	}
}

// release gives a question up.
func (a *Asker) release(id string) {
	a.shared.Step(func() {
		if f := a.held[id]; f != nil {
			_ = os.Remove(f.Name()) // before others can lock it
			proc.Unlock(f)
			delete(a.held, id)
		}
	})
}

// gone reports whether nobody has a question any more. The folder is locked:
// whoever looks has the lock for a moment.
func (d *dir) gone(id string) bool {
	f, err := os.OpenFile(d.records.alive(id), os.O_RDWR, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer proc.Unlock(f)
	return proc.TryLock(f) == nil
}

// Post writes the questions of a call into a new file. sessions are the names by
// which a successor may claim them.
func (a *Asker) Post(c convert.Call, sessions ...string) (*File, error) {
	return a.post(a.agent, c, sessions)
}

func (a *Asker) post(agent string, c convert.Call, sessions []string) (*File, error) {
	if len(c.Questions) == 0 {
		return nil, convert.ErrNoQuestions
	}
	return a.inFolder(true, func(d *dir) (*File, error) {
		id := newID()
		rec := &record{Ticket: life.Mint(), Folder: d.name, Asked: a.store.now(), Questions: c.Questions, Session: c.Session, Agent: agent, Sessions: sessions}
		err := a.hold(d, id)
		if err != nil {
			return nil, err
		}
		if rec.File, err = d.create(names(id), compose(c, id, rec.Asked, rec.Ticket)); err != nil {
			return nil, err
		}
		if err := d.records.save(id, rec); err != nil {
			return nil, fmt.Errorf("%s: %w", d.path(rec.File), errors.Join(err, d.remove(rec.File)))
		}
		return d.load(rec.File), nil
	})
}

// again writes the file of a question anew that is the asker's and has lost it: under
// its own name, or under another if that holds other questions now.
func (a *Asker) again(f *File) (now *File, err error) {
	return a.inFolder(true, func(d *dir) (*File, error) {
		rec, err := d.records.load(f.ID)
		switch {
		case err != nil:
			return nil, err
		case rec.cleared():
			return nil, fmt.Errorf("%s: %w", clean.Line(f.Path), ErrGone)
		case rec == nil || !a.holds(f.ID):
			return nil, fmt.Errorf("%s: %w", clean.Line(f.Path), errUnrecorded)
		}
		if now := d.load(rec.File); now.ID == f.ID { // it is back
			return now, nil
		}
		c := convert.Call{Session: rec.Session, Questions: rec.Questions}
		if rec.File, err = d.create(names(f.ID), compose(c, f.ID, rec.Asked, rec.Ticket)); err != nil {
			return nil, err
		}
		return d.load(rec.File), d.records.save(f.ID, rec)
	})
}

// errUnrecorded means that nothing would vouch for a file.
var errUnrecorded = errors.New("there is no record of the questions any more")

// Claim takes over the file where a predecessor asked the same in one of the
// sessions that this one takes up again, the first of them first: one that is
// gone, see [life.Claim]. Without one the error is [ErrNotFound]. A file that
// cannot be used as it is comes with the error that says why.
func (a *Asker) Claim(c convert.Call, sessions ...string) (*File, error) {
	return a.inFolder(false, func(d *dir) (*File, error) {
		recs, err := d.records.all()
		if err != nil {
			return nil, err
		}
		for _, session := range sessions {
			// Its questions are as a record has them. What was left is that of the session's next
			// process, until Forget.
			by := life.Claimant{Session: session, Again: true, Words: life.Words{Kind: "question", Questions: asKept(c.Questions)}}
			i := life.Claim(by, d.left(session, recs))
			if i < 0 {
				continue
			}
			rec := recs[i]
			if err := a.hold(d, rec.id); err != nil {
				return nil, err
			}
			f := d.load(rec.File)
			f.ID, f.Session, f.Questions = rec.id, rec.Session, rec.Questions // it may be damaged
			return f, f.Err
		}
		a.store.brought(d, c)
		return nil, ErrNotFound
	})
}

// left are the questions of a folder as a claim by that session sees them.
func (d *dir) left(session string, recs []*record) []life.Left {
	left := make([]life.Left, len(recs))
	for i, rec := range recs {
		if !slices.Contains(rec.Sessions, session) || rec.Ticket == "" {
			continue
		}
		left[i] = life.Left{Session: session, ID: rec.id, Gone: d.gone(rec.id), Words: life.Words{Kind: "question", Questions: rec.Questions}}
		switch f := d.load(rec.File); {
		case errors.Is(f.Err, ErrDamaged) && !d.mentions(rec.File, rec.id), f.ID != "" && f.ID != rec.id, f.Foreign != nil:
			left[i].State = life.Withdrawn // a person has removed it, or put something in its place
		case f.Settled():
			left[i].State = life.Settled
		}
	}
	return left
}

// mentions reports whether a damaged file was the one with this id.
func (d *dir) mentions(name, id string) bool {
	data, _, _ := d.read(name)
	return strings.Contains(string(data), encode(id))
}

// inFolder does something in the store's folder while no other program does.
func (a *Asker) inFolder(create bool, do func(*dir) (*File, error)) (*File, error) {
	d, err := a.store.open(create)
	if err != nil {
		return nil, err
	}
	defer d.close()
	unlock, err := d.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	a.store.sweep(d)
	return do(d)
}

// keepMissing is how long a record is kept whose file is not there: an editor
// may be writing it anew.
const keepMissing = 24 * time.Hour

// sweep forgets what a person has removed and nobody waits for.
func (s *Store) sweep(d *dir) {
	recs, _ := d.records.all()
	for _, rec := range recs {
		_, err := d.root.Lstat(rec.File)
		missing := errors.Is(err, fs.ErrNotExist) && s.now().Sub(rec.Asked) > keepMissing
		if (missing || rec.Ticket == "") && d.gone(rec.id) {
			_ = d.records.remove(rec.id)
		}
	}
}

// brought reports a file in the first place that is damaged, or whose answers to
// a call do not count.
func (s *Store) brought(d *dir, c convert.Call) {
	f := d.load(names("")[0])
	switch {
	case errors.Is(f.Err, fs.ErrNotExist):
	case errors.Is(f.Err, ErrDamaged):
		s.report(f.Err)
	case f.Foreign != nil && sameTexts(f.Questions, c.Questions) && (f.Err != nil || !f.Untouched()):
		s.report(f.Foreign)
	}
}

// Deliver hands over what a person has said in a file: it calls use while nobody
// else can take it, and removes the file if that returns nil, see [life.Deliver].
// The error is [ErrGone] if a person has removed the file meanwhile.
func (a *Asker) Deliver(f *File, use func() error) error {
	return life.Deliver(&kept{a, f}, use)
}

// kept is a file whose answers are handed over. That its asker lives keeps
// successors away, so the folder is not locked while the answers are used.
type kept struct {
	*Asker
	file *File
}

// Hold implements [life.Kept].
func (k *kept) Hold() (release func(), err error) {
	busy := false
	k.shared.Step(func() { busy, k.using[k.file.ID] = k.using[k.file.ID], true })
	if busy {
		return nil, life.ErrTaken
	}
	release = func() { k.shared.Step(func() { delete(k.using, k.file.ID) }) }
	err = k.own(func(*dir, *record) error { return nil })
	if err != nil {
		release()
	}
	return release, err
}

// Keep implements [life.Kept].
func (k *kept) Keep(e life.Event) error {
	if e != life.Take {
		return nil
	}
	err := k.own(func(d *dir, rec *record) error {
		err := d.records.remove(k.file.ID)
		if now := d.load(rec.File); now.ID == k.file.ID {
			err = errors.Join(err, d.remove(rec.File))
		}
		return err
	})
	if err == nil || errors.Is(err, ErrGone) { // meanwhile: nobody gets it a second time
		k.release(k.file.ID)
		return nil
	}
	return err
}

// own does something with a file that is the asker's.
func (k *kept) own(do func(*dir, *record) error) error {
	d, err := k.store.openKept(k.file)
	if err != nil {
		return err
	}
	defer d.close()
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := d.records.load(k.file.ID)
	switch {
	case err != nil:
		return err
	case rec.cleared():
		return fmt.Errorf("%s: %w", clean.Line(k.file.Path), ErrGone)
	case !k.holds(k.file.ID):
		return fmt.Errorf("%s: %w", clean.Line(k.file.Path), life.ErrTaken)
	case rec == nil: // the records were removed: without one nobody else can take it
		rec = &record{File: filepath.Base(k.file.Path)}
	}
	return do(d, rec)
}

func (a *Asker) holds(id string) (holds bool) {
	a.shared.Step(func() { holds = a.held[id] != nil })
	return holds
}

// Withdraw removes a file that nobody has begun to answer. One that somebody has
// stays, and is returned as it is now; it is nil if it was removed.
func (a *Asker) Withdraw(f *File) (now *File, err error) {
	err = (&kept{a, f}).own(func(d *dir, rec *record) error {
		switch now = d.load(rec.File); {
		case errors.Is(now.Err, fs.ErrNotExist):
			now = nil
			return d.records.remove(f.ID)
		case now.ID != f.ID || !now.Untouched():
			return nil
		}
		now = nil
		return errors.Join(d.records.remove(f.ID), d.remove(rec.File))
	})
	if now == nil {
		a.release(f.ID)
	}
	return now, err
}

// Forget removes everything that was asked in these sessions, by the asker and by
// predecessors that are gone: their turn is over. It returns what a predecessor asked
// and nobody has claimed.
func (a *Asker) Forget(sessions ...string) (unclaimed []convert.Question, err error) {
	_, err = a.inFolder(false, func(d *dir) (*File, error) {
		recs, err := d.records.all()
		for _, rec := range recs {
			ours := slices.ContainsFunc(sessions, func(s string) bool { return slices.Contains(rec.Sessions, s) })
			if !ours || !a.holds(rec.id) && !d.gone(rec.id) {
				continue
			}
			if !a.holds(rec.id) {
				unclaimed = append(unclaimed, rec.Questions...)
			}
			err = errors.Join(err, d.records.remove(rec.id))
			if now := d.load(rec.File); now.ID == rec.id {
				err = errors.Join(err, d.remove(rec.File))
			}
			a.release(rec.id)
		}
		return nil, err
	})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return unclaimed, err
}

// Lost reports whether nobody is left who could get the answers in a file.
func (s *Store) Lost(f *File) bool {
	lost := false
	_ = s.change(f, func(d *dir, _ string, _ *document) error {
		rec, err := d.records.load(f.ID)
		lost = err == nil && rec != nil && len(rec.Sessions) == 0 && d.gone(f.ID)
		return nil
	})
	return lost
}
