package transcript

// mark is a line that is replayed.
type mark struct {
	off   int64
	msg   uint64
	size  int32
	flags flags
}

// active returns the lines of the branch that the conversation is on, in the
// order in which they were written. Going back in a conversation leaves the
// abandoned lines in the file; the branch that the last line is on counts.
func (x *index) active() []mark {
	for i := x.leaf(); i >= 0; {
		r := &x.records[i]
		if r.flags&isActive != 0 {
			break // a cycle
		}
		r.flags |= isActive
		i = x.before(i)
	}
	x.addSiblings()
	var marks []mark
	for _, r := range x.records {
		if r.flags&isActive != 0 {
			marks = append(marks, mark{r.off, r.msg, r.size, r.flags})
		}
	}
	return marks
}

// leaf is the line that the conversation ends with, -1 if there is none. What
// hangs on nothing and is no message does not count.
func (x *index) leaf() int {
	for i := len(x.records) - 1; i >= 0; i-- {
		r := x.records[i]
		if _, hangs := x.byID[r.parent]; hangs || r.flags&(isUser|isAssistant) != 0 {
			return i
		}
	}
	return -1
}

// before is the line that a line follows, -1 for the first. A parent that is
// not there was damaged: the line before it in the file takes its place. So it
// does for a compaction that does not name what it compacted.
func (x *index) before(i int) int {
	r := x.records[i]
	if r.parent == 0 && r.id != 0 && r.flags&isBoundary == 0 {
		return -1
	}
	if p, ok := x.byID[r.parent]; ok && r.parent != 0 {
		return int(p)
	}
	return i - 1
}

// addSiblings adds what the chain of parents leaves out. Tool calls of one
// message run side by side: each result follows its own call, and the chain
// goes through one of them only.
func (x *index) addSiblings() {
	messages := map[uint64]bool{}
	for _, r := range x.records {
		if r.flags&isActive != 0 && r.msg != 0 && r.flags&isSynthetic == 0 {
			messages[r.msg] = true
		}
	}
	for i := range x.records {
		if r := &x.records[i]; r.msg != 0 && messages[r.msg] {
			r.flags |= isActive
		}
	}
	for i := range x.records {
		r := &x.records[i]
		if r.flags&hasResult != 0 && (x.activeCall(r.parent) || x.activeCall(r.source)) {
			r.flags |= isActive
		}
	}
}

func (x *index) activeCall(id uint64) bool {
	i, ok := x.byID[id]
	return ok && id != 0 && x.records[i].flags&(isActive|isAssistant) == isActive|isAssistant
}
