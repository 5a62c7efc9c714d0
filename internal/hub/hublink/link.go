package hublink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Options say where the hub is. Without a URL nothing works; the rest may be
// left out.
type Options struct {
	URL *url.URL
	// Others are hubs that have the same questions, used when the first is gone.
	Others []*url.URL
	// Token returns the credential. It is called for every request: the hub may
	// be started, and its token made, after this process.
	Token func() (string, error)
	// Group is whose questions they are; empty is the first group of the
	// credential.
	Group string
	// Agent says who asks where the desk does not know, for people.
	Agent string
	// Logger gets one warning for each change of the hub's state; nil discards
	// them.
	Logger *slog.Logger
	// Tell, if not nil, is told in words of each change of the hub's state. It must
	// not block.
	Tell func(works bool, words string)
	// Wait is how long a request waits for an answer before it is made again; 0
	// is 25 seconds.
	Wait time.Duration
	// Heard, if not nil, is told once for each item of the desk whether the hub
	// has it, or why not: [ErrRefused] if it does not take the credential. It
	// must not block.
	Heard func(e desk.Entry, err error)
}

// ErrRefused means that a hub does not let the credential ask.
var ErrRefused = errors.New("the hub does not take this token")

// dialTime is how long a machine may take to say that it is there.
const dialTime = 5 * time.Second

// Link joins a desk to a hub.
type Link struct {
	opts    Options
	log     *slog.Logger
	desk    *desk.Desk
	caller  *Caller
	machine string
	nonce   string // of this process
	ctx     context.Context
	cancel  context.CancelFunc
	unwatch []func()
	running sync.WaitGroup

	shared proc.Shared          // has what follows
	open   map[string]*question // by the desk's name
	// delivered are, by the desk's name, the questions whose outcome came from the
	// hub and was not used for sure yet, or is about to come.
	delivered map[string]*question
	// left are questions that nobody asks any more and that stay open at the hub,
	// the oldest first.
	left []left
	// last are, by session, the questions that were answered last.
	last   map[string]*question
	state  state
	closed bool
	// told gets one when what happened on the desk before Close is known.
	told chan struct{}
}

type state int

const (
	unknown state = iota
	up
	down
	// barred means that the hub works, and does not let this credential ask.
	barred
)

// Start begins to put what is on the desk to the hub.
func Start(d *desk.Desk, o Options) *Link {
	l := &Link{opts: o, log: o.Logger, desk: d, nonce: life.Mint()[:10], open: map[string]*question{}, delivered: map[string]*question{}, last: map[string]*question{}, told: make(chan struct{}, 1)}
	l.log = cmp.Or(l.log, slog.New(slog.DiscardHandler))
	l.opts.Wait = cmp.Or(l.opts.Wait, 25*time.Second)
	l.machine, _ = os.Hostname()
	l.caller = NewCaller(append([]*url.URL{o.URL}, o.Others...), o.Token, dialTime)
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.unwatch = []func(){d.Watch(l.changed), d.WatchTurns(l.turned), d.WatchReceipts(l.Received)}
	return l
}

// closeTime is how long the end of the process waits for the hub.
const closeTime = 2 * time.Second

// Close ends the link. What was settled on the desk is still told to the hub, and
// that nobody works on with it, if that takes no longer than a moment; what is open
// there stays open.
func (l *Link) Close() {
	limit, stop := proc.Context(context.Background(), closeTime)
	defer stop()
	l.catchUp(limit)
	for _, stop := range l.unwatch {
		stop()
	}
	var last []*question
	l.shared.Step(func() {
		l.closed = true
		for _, q := range l.open {
			q.cancel()
		}
		last = slices.Collect(maps.Values(l.last))
		l.last = nil
	})
	context.AfterFunc(limit, l.cancel)
	l.running.Wait()
	for _, q := range last {
		if l.ctx.Err() == nil {
			q.tell(q.at("/received"), Received{Ended: true, Asker: l.nonce})
		}
	}
	l.cancel()
	l.caller.Client.CloseIdleConnections()
}

// catchUp returns when the link was told what has happened on the desk: a change may be
// told after the call that made it has returned, and a receipt is.
func (l *Link) catchUp(ctx context.Context) {
	if l.isClosed() {
		return
	}
	l.desk.Receipt(l.nonce, nil) // which names nothing
	select {
	case <-l.told:
	case <-ctx.Done():
	}
}

// changed is told of every change on the desk.
func (l *Link) changed(e desk.Entry) {
	l.shared.Step(func() {
		q := l.open[e.Name]
		switch {
		case e.State == desk.Settled && q != nil:
			delete(l.open, e.Name)
			if e.Outcome.Status == convert.Disconnected && e.Kind != desk.Permission {
				l.leave(q)
			}
			l.answered(q, e.Outcome)
			q.settled <- e.Settlement // which does not block
			q.cancel()
		case e.State != desk.Settled && q == nil && !l.closed:
			l.begin(e)
		}
	})
}

// turned tells the hub that a turn of an agent has ended. One that does not know of turns
// refuses it, and nobody misses anything here.
func (l *Link) turned(t desk.Turn) {
	event := TurnEvent(t.Err != nil, t.Working)
	if event == "" {
		return
	}
	at := &question{link: l, path: l.pathOf(t.Session), heard: true}
	l.runs(func() {
		said := t.About.Told() // here, where it may take its time
		told := Turn{Event: event, Agent: cmp.Or(t.Agent, l.opts.Agent), Dir: t.Dir, Text: said.Said, Prompt: said.Prompt}
		if t.Err != nil {
			told.Text = about.Redact(t.Err.Error())
		}
		at.tell("/turn", told)
	})
}

// answered notes that a session goes on with an answer. It is called in a step.
func (l *Link) answered(q *question, o convert.Outcome) {
	if l.last != nil && (o.Status == convert.Answered || o.Status == convert.Declined) {
		l.last[q.entry.Call.Session] = q
	}
}

// begin puts an item to the hub. It is called in a step.
func (l *Link) begin(e desk.Entry) {
	q := &question{link: l, entry: e, settled: make(chan desk.Settlement, 1)}
	q.ctx, q.cancel = context.WithCancel(l.ctx)
	l.open[e.Name] = q // also if it cannot be asked there: it is tried once
	detail, ok := detailOf(e)
	if !ok || e.Secret { // a hub keeps what it is told
		q.hear(errors.New("it is not for a hub"))
		return
	}
	asking := Asking{Name: e.Name, Kind: e.Kind.String(), Agent: cmp.Or(e.Agent, l.opts.Agent), Machine: l.machine, Dir: e.Dir, Detail: detail, About: e.About, Asker: l.nonce, Again: e.Again, Call: e.Call}
	if !e.Again {
		asking.Prompts = 1
	}
	if name := l.claim(e, detail); name != "" { // the session was resumed
		asking.Name = name
	}
	asking.Call.Input = nil
	if size := len(clean.JSON(asking)); size > maxBody-maxBranch-about.MaxTold {
		l.log.Warn("a question is too large for the hub: it is asked here only", "name", e.Name, "limit", maxBody, "got", size)
		q.hear(errors.New("the question is too large for the hub"))
		return
	}
	q.asking, q.path = asking, l.pathOf(e.Call.Session)
	q.id = asking.Name
	l.running.Go(q.run)
}

// left is a question that stays open at the hub under its name.
type left struct {
	name string
	life.Left
}

// maxLeft bounds what is remembered of sessions that nobody resumes.
const maxLeft = 1000

// leave remembers a question whose asker is gone. It is called in a step.
func (l *Link) leave(q *question) {
	detail, _ := detailOf(q.entry)
	l.left = append(l.left, left{q.id, life.Left{Session: q.entry.Call.Session, ID: q.entry.Call.ID, Gone: true, Words: wordsOf(q.entry, detail)}})
	l.left = l.left[max(len(l.left)-maxLeft, 0):]
}

// claim is the name at the hub of what an item takes over, or empty. It is called in a step.
func (l *Link) claim(e desk.Entry, detail string) string {
	there := make([]life.Left, len(l.left))
	for i, one := range l.left {
		there[i] = one.Left
	}
	i := life.Claim(life.Claimant{Session: e.Call.Session, ID: e.Call.ID, Again: e.Again && e.Call.ID != "", Words: wordsOf(e, detail)}, there)
	if i < 0 {
		return ""
	}
	name := l.left[i].name
	l.left = slices.Delete(l.left, i, i+1)
	return name
}

func wordsOf(e desk.Entry, detail string) life.Words {
	return life.Words{Kind: e.Kind.String(), Server: e.Call.Server, Detail: detail + e.About.Key(), Questions: e.Call.Questions}
}

// maxBody is the most that a hub takes.
const maxBody = 1 << 20

// maxDetail is how much of a permission's input a person reads on a page. What
// is longer is approved where it can be seen whole.
const maxDetail = 400 << 10

// detailOf is what a permission is for. ok is false if it cannot be shown.
func detailOf(e desk.Entry) (detail string, ok bool) {
	if e.Kind != desk.Permission || len(e.Call.Input) == 0 {
		return "", true
	}
	detail = clean.Indented(e.Call.Input)
	return detail, clean.ValidJSON(e.Call.Input) && len(detail) <= maxDetail
}

// pathOf is where a session is at the hub.
func (l *Link) pathOf(session string) string {
	if strings.Trim(session, ".") == "" { // which no path can have for a name
		session += l.nonce
	}
	return "/conversations/" + url.PathEscape(session)
}

// is says whether the hub works. It warns when that has changed.
func (l *Link) is(s state, why string) {
	var old state
	l.shared.Step(func() { old, l.state = l.state, s })
	tell := func(works bool, words string) {
		if l.opts.Tell != nil {
			l.opts.Tell(works, words)
		}
	}
	switch {
	case old == s:
	case s == down:
		l.log.Warn(fmt.Sprintf("can't reach the hub at %s: questions are asked here only", l.opts.URL.Host), "why", why)
		tell(false, "Can't reach the hub: questions are asked here only")
	case s == barred:
		tell(false, "This credential may not ask at the hub: questions are asked here only")
		l.log.Warn("this credential may not ask at the hub: questions are asked here only; acp-bridge-hub device add NAME --can ask makes one that may", "hub", l.opts.URL.Host, "why", why)
	case old == down || old == barred:
		l.log.Warn("the hub works again", "hub", l.opts.URL.Host)
		tell(true, "The hub works again")
	}
}
