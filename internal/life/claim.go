package life

import (
	"reflect"
	"slices"
	"strings"

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

// Left is an asking as a claim sees it.
type Left struct {
	// Session is where it was asked, and ID what its agent called it.
	Session, ID string
	State       State
	// Gone says that its asker is gone. Whoever takes it over is its asker from
	// then on and is there: that is why each is taken over once.
	Gone bool
	Words
}

// Claimant is a process that takes a session up again, and what it asks now.
type Claimant struct {
	// Session is by its name. Without one nothing is claimed.
	Session, ID string
	// Again says that this is what was open when the predecessor ended, and that nothing
	// has come since: the session's history ends with this call, or a file of ours has it.
	// What an agent asks by itself is new, whatever its words and ids are: between its
	// processes there may have been others, and prompts, of which nobody here knows.
	Again bool
	Words
}

// Claim finds what a call takes over from a predecessor: the index in left, which
// is in the order of asking, or -1 if it is asked anew. All of this must hold:
//
//	| what    | must be                                                     |
//	|---------|-------------------------------------------------------------|
//	| session | the same name, and not empty                                |
//	| call    | asked again, as [Claimant].Again says                       |
//	| id      | the same, and the last of that id, as agents count; without |
//	|         | one, of a file, the first with the words                    |
//	| asker   | gone                                                        |
//	| state   | one that a successor can take over, see the package comment |
//	| words   | the same questions in the same order                        |
//
// This is the only place where words decide something.
func Claim(by Claimant, left []Left) int {
	last := -1
	for i, l := range left {
		_, err := l.State.Step(TakeOver)
		fits := by.Again && l.Gone && err == nil && by.Same(l.Words)
		switch {
		case by.Session == "" || by.Session != l.Session:
		case by.ID == "" && fits:
			return i
		case by.ID == "" || by.ID != l.ID:
		case fits:
			last = i
		default:
			last = -1
		}
	}
	return last
}

// Lasting reports whether a name that an agent gave can be of one session, or of one
// request, alone: what is no more than a word, or is counted, in one part or in several, is
// given again by the next process, for another. It is a guess: a long word that an agent
// gives twice passes. Whoever goes by the names of session and request guesses twice.
func Lasting(name string) bool {
	own := func(part string) bool {
		word := strings.TrimRight(part, "0123456789")
		return len(part)-len(word) > 6 || strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != ""
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_.-:/#", r) })
	return slices.ContainsFunc(parts, own) || len(name) > 15 && !strings.ContainsAny(name, "0123456789")
}
