package display

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"
)

// Tasks is the to-do list of a session as its TaskCreate, TaskUpdate, TaskList
// and TaskGet calls tell it, in the order in which the tasks came up. The zero
// value is an empty list. It is not safe for concurrent use.
type Tasks struct{ list []task }

type task struct{ id, subject, active, status string }

// Apply folds a call that has ended into the list and reports whether the list
// changed. A call that failed changes nothing, nor does one of another tool.
func (ts *Tasks) Apply(t Tool, r Result) (changed bool) {
	if r.IsError {
		return false
	}
	before := slices.Clone(ts.list)
	c := end(t, r, "")
	switch t.Name {
	case "TaskCreate":
		ts.create(c)
	case "TaskUpdate":
		ts.update(c)
	case "TaskList":
		ts.replace(c)
	case "TaskGet":
		ts.learn(c)
	}
	return !slices.Equal(before, ts.list)
}

// Plan returns the list as ACP plan entries. It is not nil.
func (ts *Tasks) Plan() []acp.PlanEntry {
	entries := []acp.PlanEntry{}
	for _, t := range ts.list {
		if e := planEntry(t.subject, t.active, t.status); e.Content != "" {
			entries = append(entries, e)
		}
	}
	return entries
}

// taskNumber is how the text of a result names a task.
var taskNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`#([\w-]+)`) })

// create needs the result: only it has the id by which later calls name the
// task.
func (ts *Tasks) create(c ended) {
	made := object(c.output().Get("task"))
	id := idOf(made, "id")
	if id == "" {
		if m := taskNumber().FindStringSubmatch(c.text()); m != nil {
			id = m[1]
		}
	}
	subject := cmp.Or(c.in.str("subject"), made.str("subject"))
	if id != "" && subject != "" {
		ts.set(task{id, subject, c.in.str("activeForm"), "pending"})
	}
}

// update believes the input unless the result says that nothing was done.
func (ts *Tasks) update(c ended) {
	id := idOf(c.in, "taskId")
	out := c.output()
	if done := out.Get("success"); id == "" || done.Exists() && !done.Bool() {
		return
	}
	if about := idOf(out, "taskId"); about != "" && about != id {
		return
	}
	if c.in.str("status") == "deleted" {
		ts.list = slices.DeleteFunc(ts.list, func(t task) bool { return t.id == id })
		return
	}
	t := ts.get(id)
	t.subject = cmp.Or(c.in.str("subject"), t.subject)
	t.active = cmp.Or(c.in.str("activeForm"), t.active)
	t.status = cmp.Or(c.in.str("status"), t.status)
	// A task that was made before this session has a name only once a TaskList
	// or TaskGet told it.
	if t.subject != "" {
		ts.set(t)
	}
}

// taskLine is a task in the text of a TaskList result.
var taskLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^#([\w-]+) \[(\w+)\] (.+)$`) })

// replace takes the whole list over. It is the one call that also tells of
// tasks made before a session was resumed.
func (ts *Tasks) replace(c ended) {
	var list []task
	if tasks, ok := c.output().list("tasks"); ok {
		for _, v := range tasks {
			if o := object(v); idOf(o, "id") != "" {
				list = append(list, ts.told(o))
			}
		}
		ts.list = list
		return
	}
	for line := range strings.Lines(c.text()) {
		m := taskLine().FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		t := ts.get(m[1])
		t.status = m[2]
		// Behind the subject may stand an owner and what blocks the task.
		if t.subject == "" || !strings.HasPrefix(m[3], t.subject) {
			t.subject, _, _ = strings.Cut(m[3], " [blocked by ")
		}
		list = append(list, t)
	}
	if list != nil {
		ts.list = list
	}
}

func (ts *Tasks) learn(c ended) {
	if o := object(c.output().Get("task")); idOf(o, "id") != "" {
		ts.set(ts.told(o))
	}
}

// told is a task as a result describes it, with what was known besides.
func (ts *Tasks) told(o input) task {
	t := ts.get(idOf(o, "id"))
	t.subject = cmp.Or(o.str("subject"), t.subject)
	t.status = cmp.Or(o.str("status"), t.status)
	return t
}

func (ts *Tasks) get(id string) task {
	for _, t := range ts.list {
		if t.id == id {
			return t
		}
	}
	return task{id: id, status: "pending"}
}

func (ts *Tasks) set(t task) {
	for i := range ts.list {
		if ts.list[i].id == t.id {
			ts.list[i] = t
			return
		}
	}
	ts.list = append(ts.list, t)
}

// output is the result as an object: the structured one or, from an older CLI,
// the text if that is JSON.
func (c ended) output() input {
	if c.structured.Exists() {
		return c.structured
	}
	return readInput([]byte(c.text()))
}

// idOf reads an id, which may be a string or a number.
func idOf(in input, key string) string {
	if v := in.Get(key); v.Type == gjson.String || v.Type == gjson.Number {
		return v.String()
	}
	return ""
}
