package life

import (
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/acp-bridge/acp-bridge/convert"
)

// Words are what an asking says. They are compared by a [Claim], and identify
// nothing.
type Words struct {
	// Kind is "question", "form", "permission"; Server is the MCP server that
	// wants to know, and Detail what a permission is for.
	Kind, Server, Detail string
	Questions            []convert.Question
}

// Same reports whether the same is asked, in the same order.
func (w Words) Same(o Words) bool {
	if w.Kind != o.Kind || w.Server != o.Server || w.Detail != o.Detail || len(w.Questions) != len(o.Questions) {
		return false
	}
	return len(w.Questions) == 0 || reflect.DeepEqual(w.Questions, o.Questions)
}

// permission is the kind that is never taken over by its words alone.
const permission = "permission"

// Left is an asking as a claim sees it.
type Left struct {
	// Session is where it was asked, and ID what its agent called it.
	Session, ID string
	State       State
	// Past says that the user has prompted since, see [Epoch].
	Past bool
	// Gone says that its asker is gone. Whoever takes it over is its asker from
	// then on and is there: that is why each is taken over once.
	Gone bool
	Words
}

// Claimant is a process that takes a session up again, and what it asks now.
type Claimant struct {
	// Session is by its name. Without one nothing is claimed.
	Session, ID string
	// Prompts is that of its epoch. The user has prompted since: what is asked now is new.
	Prompts int
	Words
}

// Epoch is when something is asked in a session, for its user: in which process, and behind
// how many prompts to that, by [Prompt]; 0 if it was given none since it has the session.
type Epoch struct {
	Process string
	Prompts int
}

// Past reports whether the user has prompted between this epoch and one in which something
// was asked later.
func (e Epoch) Past(later Epoch) bool {
	if e.Process == later.Process {
		return e.Prompts < later.Prompts
	}
	return later.Prompts > 0
}

var prompts atomic.Int64

// Prompt counts a prompt of the user's, among all of this process: one of a session that was
// closed and is open once more comes behind those of before.
func Prompt() int { return int(prompts.Add(1)) }

// Claim finds what a call takes over from a predecessor: the index in left, which
// is in the order of asking, or -1 if it is asked anew. All of this must hold:
//
//	| what      | must be                                                      |
//	|-----------|--------------------------------------------------------------|
//	| session   | the same name, and not empty                                 |
//	| asker     | gone                                                         |
//	| state     | one that a successor can take over, see the package comment  |
//	| prompt    | none since it was asked, in the process that took the session up or in another |
//	| words     | the same questions in the same order                         |
//	| id        | the same, for a permission: one call's is not another's      |
//
// Of several the one with the call's own id is taken, and else the first. This is
// the only place where words decide something.
func Claim(by Claimant, left []Left) int {
	found := -1
	for i, l := range left {
		_, err := l.State.Step(TakeOver)
		sameID := by.ID != "" && by.ID == l.ID
		switch {
		case by.Session == "" || by.Session != l.Session || by.Prompts > 0 || l.Past || !l.Gone || err != nil || !by.Same(l.Words):
		case by.Kind == permission && !sameID:
		case sameID:
			return i
		case found < 0:
			found = i
		}
	}
	return found
}

// Lasting reports whether a session's name can be of one session alone: what is no
// more than a word, or is counted, is given again by the next process, for another. It is a
// guess: a long word that an agent gives twice passes. What then keeps an old answer from a
// new session is that agents ask nothing in one before the user has prompted.
func Lasting(session string) bool {
	word := strings.TrimRight(session, "0123456789")
	digits := len(session) - len(word)
	plain := strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.-") == ""
	return !plain || digits == 0 && len(word) > 15 || digits > 6
}
