package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// Record is a question call as it is kept. Records that the board hands out are
// shared: nobody changes them.
type Record struct {
	// Version is that of the way it is written; 0 is the first one.
	Version int `json:"version,omitempty"`
	// Group is whose question it is; empty is the owner's own. Conversations of
	// two groups are two, also if they have one name.
	Group        string `json:"group,omitempty"`
	Conversation string `json:"conversation"`
	// ID is its name: whoever asked it minted that, or a caller of the API chose it.
	ID string `json:"id"`
	// Kind is "question", "form" or "permission".
	Kind string `json:"kind"`
	// Title, Agent, Machine and Dir say who asks and where, for people.
	Title   string `json:"title,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Machine string `json:"machine,omitempty"`
	Dir     string `json:"dir,omitempty"`
	// Detail is what a permission is for, as the agent wrote it.
	Detail string `json:"detail,omitempty"`
	// About is what else the asker tells. What was said in the conversation is
	// there for as long as the question is open.
	About about.About `json:"about,omitzero"`
	// Device is whose credential asked it, and Asker the process that has it: it asked it,
	// or took it over. As is the name that a process has minted for what it then took over.
	// The reply that tells it ID may be lost, and links of before do not read it: who asks
	// once more under the name, or tells what became of it, means this record.
	Device string `json:"device,omitempty"`
	Asker  string `json:"asker,omitempty"`
	As     string `json:"as,omitempty"`
	// Shown are the revisions under which people saw it open before that.
	Shown []uint64 `json:"shown,omitempty"`
	// Dialect and Document are the call as it was asked, for its result, of those who call
	// the API. Call is kept beside them where it is not what they say, and by hubs of before.
	Dialect  string          `json:"dialect,omitempty"`
	Document json.RawMessage `json:"document,omitempty"`
	Call     convert.Call    `json:"call,omitzero"`
	// Hold is set where the outcome can reach one connection and nobody else.
	Hold  *Hold     `json:"hold,omitempty"`
	Asked time.Time `json:"asked"`
	End   *End      `json:"end,omitempty"`

	// Revision is that of the last write. It is not part of the value.
	Revision uint64 `json:"-"`
	// Gone says that the asker has not been heard of for a while. It is not
	// part of the value.
	Gone bool `json:"-"`

	key   string
	hash  string    // of what is asked
	size  int       // in bytes, before it is packed
	rest  rest      // nil if all of it is known
	known time.Time // when the board has seen it so, by its own clock
	again bool      // that of [Asking], while it is asked

	inDocument bool // Call is kept there alone
}

// End is how a question ended.
type End struct {
	Outcome string           `json:"outcome"`
	Answers []convert.Answer `json:"answers,omitempty"`
	Reason  string           `json:"reason,omitempty"`
	// By says who ended it, for people; empty if nobody did. Elsewhere says that
	// it is the asker's word: it was ended where it was asked, not at a hub.
	By        string    `json:"by,omitempty"`
	Elsewhere bool      `json:"elsewhere,omitempty"`
	At        time.Time `json:"at"`
	// Delivered is when the asker's process had it, Consumed when its result
	// had gone back to the agent.
	Delivered time.Time `json:"delivered,omitzero"`
	Consumed  time.Time `json:"consumed,omitzero"`
	// Ended is when the asker's process ended, or the agent's session, if it said so:
	// nobody works on with the outcome.
	Ended time.Time `json:"ended,omitzero"`
	// Unsure says why it is not known whether the agent took what its asker has: until it
	// is, it does not count as delivered.
	Unsure string `json:"unsure,omitempty"`
	// Undelivered says why the asker can never have it.
	Undelivered string `json:"undelivered,omitempty"`
	// Taken is when the asker's process was given it. Claimed is when that last said that
	// it hands it to the agent now, see [Board.Claim].
	Taken   time.Time `json:"taken,omitzero"`
	Claimed time.Time `json:"claimed,omitzero"`
	// Forgotten says that what was answered, and by whom, was removed.
	Forgotten bool `json:"forgotten,omitempty"`
	// Redacted says that Answers are without a secret that was typed. Typed are all,
	// until the agent has them or never can.
	Redacted bool             `json:"redacted,omitempty"`
	Typed    []convert.Answer `json:"typed,omitempty"`

	rest rest
}

// Receipt says how far an outcome has got: accepted, delivered, consumed, unknown or
// undeliverable.
func (e *End) Receipt() string {
	switch {
	case e.Undelivered != "":
		return "undeliverable"
	case !e.Consumed.IsZero():
		return "consumed"
	case e.Unsure != "":
		return "unknown"
	case !e.Delivered.IsZero():
		return "delivered"
	}
	return "accepted"
}

// Status is the outcome as package convert has it. Who has ended what is forgotten is
// not known.
func (e *End) Status() convert.Status {
	by := e.By
	if e.Forgotten {
		by = "somebody"
	}
	if s, ok := life.StatusOf(e.Outcome, by); ok {
		return s
	}
	return convert.Failed
}

// Result is the outcome of the call, for whoever asked. What was forgotten, or is no
// longer there as it was typed, is nobody's answer.
func (e *End) Result() convert.Outcome {
	switch {
	case e.Redacted && e.Typed != nil:
		return convert.Outcome{Status: e.Status(), Answers: e.Typed}
	case e.Redacted && !e.Forgotten:
		return convert.Outcome{Status: convert.Failed, Reason: "The hub does not keep a secret that the agent has had"}
	}
	return e.Shown()
}

// Shown is the outcome of the call for anybody else.
func (e *End) Shown() convert.Outcome {
	if e.Forgotten {
		return convert.Outcome{Status: convert.Failed, Reason: "The answer was removed from the hub"}
	}
	return convert.Outcome{Status: e.Status(), Answers: e.Answers, Reason: e.Reason}
}

// ResultFor is the outcome for a process that asks. What another one says of its own
// user is no answer to this one: whoever can only ask must not be able to answer.
func (r *Record) ResultFor(asker string) convert.Outcome {
	if r.End.Elsewhere && (asker == "" || asker != r.Asker) {
		return convert.Outcome{Status: convert.Failed, Reason: "It was settled where it was asked"}
	}
	return r.End.Result()
}

// Open reports whether the question waits for an answer.
func (r *Record) Open() bool { return r.End == nil }

// Owner is the one process that has a question, and where that is in its life since when,
// by the clock of the board. It answers every "may this one have it".
type Owner struct {
	Process string
	State   life.State
	Since   time.Time
}

func (r *Record) owner() Owner {
	o := Owner{Process: r.Asker, State: life.Settled, Since: r.known}
	switch {
	case r.Open():
		o.State = life.Shown
	case !r.End.Consumed.IsZero():
		o.State = life.Used
	case r.End.Undelivered != "" || !r.End.Status().ByPerson() && !r.End.Forgotten: // nobody can have it, or nobody ended it
		o.State = life.Withdrawn
	case !r.End.Taken.IsZero() || !r.End.Delivered.IsZero():
		o.State = life.Taken
	}
	return o
}

// makesRoom reports whether nothing more has to become of a question: it is over, or nobody
// will ever say so.
func (r *Record) makesRoom() bool {
	return r.over() || r.owner().State == life.Withdrawn || !r.Open() && r.Asker == "" && !r.End.Delivered.IsZero()
}

// named reports whether a process asks for this record by its name.
func (r *Record) named(id, asker string) bool {
	return id != "" && (r.ID == id || r.As == id && r.Asker == asker)
}

// over reports whether nothing more happens with a question.
func (r *Record) over() bool {
	return !r.Open() && (!r.End.Consumed.IsZero() || r.End.Undelivered != "")
}

// accepted reports whether a person has ended the question, and no asker is known to have
// that.
func (r *Record) accepted() bool {
	return !r.Open() && r.End.By != "" && r.End.Receipt() == "accepted"
}

// words are what the question says.
func (r *Record) words() life.Words {
	return life.Words{Kind: r.Kind, Server: r.Call.Server, Detail: r.Detail + r.About.Key(), Questions: r.Call.Questions}
}

// Of reports whether a device asked the question, as far as that is known.
func (r *Record) Of(device string) bool { return r.Device == "" || r.Device == device }

// Fingerprint is the same for two records that ask the same.
func (r *Record) Fingerprint() string { return r.hash }

// Size is how many bytes the record has, about.
func (r *Record) Size() int { return r.size }

// Key is where the record is kept. It never changes, and no other record has it.
func (r *Record) Key() string { return r.key }

// Ref names this record, and no other that is asked under the same id.
func (r *Record) Ref() Ref {
	return Ref{Group: r.Group, Conversation: r.Conversation, ID: r.ID, key: r.key}
}

func (r *Record) talk() talk { return talk{r.Group, r.Conversation} }

// talk names a conversation.
type talk struct{ group, conversation string }

// Ref names a record.
type Ref struct {
	// Group is that of the question; empty is the owner's own.
	Group        string
	Conversation string
	// ID may be empty for the open question that was asked first. Means, if it is not nil,
	// says of another of the conversation whether it may be the one that is meant then.
	ID    string
	Means func(*Record) bool
	// Device, if it is not empty, is whose question it is: two devices may ask
	// under one id, and each finds its own.
	Device string
	// Revision and the beginning of Fingerprint, if they are not zero, must be those of
	// the open question: what is answered is what was seen. Revisions alone do not tell
	// the questions of two stores apart.
	Revision    uint64
	Fingerprint string
	// Asker, if it is not empty, is the process that asks: what it says of a question
	// counts if it has it.
	Asker string
	// May, if it is not nil, is asked right before anything is written: whoever
	// had the right when a request began may have lost it.
	May func(context.Context) error

	key string // of one record, whatever was asked under its id since
}

var (
	// ErrNotFound means that there is no such conversation or question.
	ErrNotFound = errors.New("not found")
	// ErrRevision means that the open question is not the one that was seen.
	ErrRevision = errors.New("the question has changed since it was read")
	// ErrBadID means that an id cannot be kept as it is.
	ErrBadID = errors.New("bad id")
	// ErrNotAsker means that somebody else asks the question.
	ErrNotAsker = errors.New("another process asks this question now")
	// ErrRight means that whoever wanted this has no right to it any more, as
	// [Ref.May] says.
	ErrRight = errors.New("this credential does not count any more")
	// ErrSeveral means that a reply may be one to another question, and ErrUnseen that it
	// does not say what was seen of a permission.
	ErrSeveral = errors.New("another question may be meant: say question= and revision= of the one that was seen")
	ErrUnseen  = errors.New("a permission is answered as it was shown: say question= and revision=")
	// ErrSettled means that there is nothing to answer. The error is a
	// [SettledError] if the question had its answer.
	ErrSettled = errors.New("nothing waits for an answer")
)

// SizeError says that something is too large for the store. Nothing of it was
// written.
type SizeError struct {
	What       string // "question" or "answer"
	Limit, Got int    // in bytes, of the record
}

// Error says what would have fitted.
func (e *SizeError) Error() string {
	return fmt.Sprintf("the %s is too large: expected at most %d bytes as it is kept, got %d", e.What, e.Limit, e.Got)
}

// Left reports whether it was left to the terminal in which it was asked: there it may
// still be open.
func (e *End) Left() bool { return e.Status() == convert.Disconnected && !e.Forgotten }

// SettledError says how a question ended that somebody wanted to answer.
type SettledError struct{ *End }

// Error says by whom the question was settled, and when.
func (e *SettledError) Error() string {
	by := ""
	if e.By != "" {
		by = " by " + clean.Line(e.By)
		if e.Elsewhere {
			by += ", according to the agent's machine,"
		}
	}
	what := e.Outcome
	switch {
	case e.Left():
		what = "left to the terminal"
	case !e.Status().ByPerson():
		what = convert.Withdrawn.String()
	}
	return fmt.Sprintf("it was %s already%s at %s", what, by, e.At.UTC().Format(time.RFC3339))
}

// Unwrap returns [ErrSettled].
func (e *SettledError) Unwrap() error { return ErrSettled }

// same reports whether an outcome is this one, given again by the same person. Whom an
// asker names is nobody whom the hub knows.
func (e *End) same(o *End) bool {
	return !e.Elsewhere && !o.Elsewhere && e.Outcome == o.Outcome && e.By == o.By && e.By != "" &&
		reflect.DeepEqual(e.Answers, o.Answers) && reflect.DeepEqual(e.Typed, o.Typed)
}

// fingerprint covers all that is asked. Permission for one thing is none for
// another, even if the words of the question are the same.
func (r *Record) fingerprint() string {
	sum := sha256.Sum256(clean.JSON(struct {
		Kind, Server, Detail string
		Questions            []convert.Question
	}{r.Kind, r.Call.Server, r.Detail + r.About.Key(), r.Call.Questions}))
	return hex.EncodeToString(sum[:16])
}

// keyOf is where a record is kept: its generation at the place of its name.
func keyOf(t talk, name string, generation int) string {
	return placeOf(t, name) + strconv.Itoa(generation)
}

// placeOf is how the keys of all records with a name begin. Names may be anything; a
// key is not.
func placeOf(t talk, name string) string { return t.place() + short(name) + "." }

// place is how the keys of all records of a conversation begin.
func (t talk) place() string {
	if t.group != "" {
		return "g" + short(t.group) + "." + short(t.conversation) + "."
	}
	return short(t.conversation) + "."
}

// short is a name in a key.
func short(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// generationOf counts the records before the one with a key under its id.
func generationOf(key string) int {
	n, _ := strconv.Atoi(key[strings.LastIndexByte(key, '.')+1:])
	return n
}
