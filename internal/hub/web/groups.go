package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// ownGroup is the name that the owner's own group has for people. A board has no
// name for it.
const ownGroup = Owner

// errGroup means that a device names a group that it is not in. It tells nothing
// about the group.
var errGroup = errors.New("this device is not in that group")

func groupName(group string) string { return cmp.Or(group, ownGroup) }

func groupNamed(name string) string {
	if name == ownGroup {
		return ""
	}
	return name
}

// shownGroup is a group in a reply, where the owner's own is left out.
func shownGroup(r *hub.Record) string { return clean.Line(r.Group) }

// in reports whether a device is in a group. Who administers the hub is in all.
func (d *Device) in(group string) bool {
	switch {
	case d.Can == CanAdmin:
		return true
	case len(d.Groups) == 0:
		return group == ""
	}
	return slices.Contains(d.Groups, groupName(group))
}

// first is the group in which a device asks where it names none.
func (d *Device) first() string {
	if len(d.Groups) == 0 {
		return ""
	}
	return groupNamed(d.Groups[0])
}

// sees reports whether a device may know of a question.
func (d *Device) sees(r *hub.Record) bool {
	return d.in(r.Group) && (d.Can != CanAsk && d.Can != CanHook || r.Of(d.id()))
}

// named reads which group a request names.
func named(r *http.Request, d Device) (group string, given bool, err error) {
	name := r.Form.Get("group")
	switch {
	case name == "":
		return "", false, nil
	case !deviceName.MatchString(name):
		return "", false, badf("group: expected letters, digits, dots and dashes, got %q", clean.Truncate(clean.Line(name), 80))
	case !d.in(groupNamed(name)):
		return "", false, errGroup
	}
	return groupNamed(name), true, nil
}

// asksIn is the group for which a request asks.
func asksIn(r *http.Request, d Device) (string, error) {
	group, given, err := named(r, d)
	if !given {
		group = d.first()
	}
	return group, err
}

// groupOf is the group of the conversation that a request is about. Where it
// names none, and several that the device is in have such a conversation, it has
// to: nothing is guessed.
func (s *Server) groupOf(r *http.Request, d Device) (string, error) {
	if group, given, err := named(r, d); err != nil || given {
		return group, err
	}
	if d.Can == CanAsk {
		return d.first(), nil
	}
	found := slices.DeleteFunc(s.board.Groups(r.PathValue("id")), func(g string) bool { return !d.in(g) })
	switch len(found) {
	case 0:
		return d.first(), nil
	case 1:
		return found[0], nil
	}
	return "", badf("several groups have a conversation of this name: say ?group=NAME")
}

// knows reports whether this hub has seen the question that a request means. Where
// the group is not sure, another hub may know of one more that has such a
// conversation.
func (s *Server) knows(r *http.Request, d Device, conversation, question string) bool {
	group, given, err := named(r, d)
	asker := d.Can == CanAsk || r.Method == http.MethodPost && r.PathValue("question") != "" // it is asksIn
	switch {
	case err != nil:
		return true // it is refused
	case given:
	case asker, d.Can != CanAdmin && len(d.Groups) <= 1:
		group = d.first()
	default:
		return false
	}
	_, err = s.find(d, hub.Ref{Group: group, Conversation: conversation, ID: question})
	return err == nil
}

// seen returns what a list shows to a device: what it may see, of one group if
// the request names one.
func seen(r *http.Request, d Device) (func(*hub.Record) bool, error) {
	group, given, err := named(r, d)
	if err != nil {
		return nil, err
	}
	return func(rec *hub.Record) bool { return d.sees(rec) && (!given || rec.Group == group) }, nil
}

// reader reads what changes after an event, of the one group that a request is about
// or its device is in, or of all. It knows nothing of rights.
func (s *Server) reader(r *http.Request, d Device, after string) *hub.Reader {
	group, given, _ := named(r, d) // a wrong one was refused
	if !given && d.Can != CanAdmin && len(d.Groups) <= 1 {
		group, given = d.first(), true
	}
	reader := s.after(after)
	if given {
		reader.In(group)
	}
	return reader
}

// only keeps the records that may be seen.
func only(list []*hub.Record, sees func(*hub.Record) bool) []*hub.Record {
	return slices.DeleteFunc(list, func(r *hub.Record) bool { return !sees(r) })
}

// checkGroups reads the groups of a new device.
func checkGroups(groups []string) error {
	for i, g := range groups {
		if !deviceName.MatchString(g) {
			return badf("group %q: expected letters, digits, dots and dashes", g)
		}
		if slices.Contains(groups[:i], g) {
			return badf("group %q is named twice", g)
		}
	}
	if len(groups) > maxGroups {
		return badf("a device is in at most %d groups, not %d", maxGroups, len(groups))
	}
	return nil
}

// maxGroups is how many groups a device may be in.
const maxGroups = 100

// find finds a question for a device. One that can only ask finds its own alone,
// another its own first, if it names one.
func (s *Server) find(d Device, ref hub.Ref) (*hub.Record, error) {
	if !d.in(ref.Group) {
		return nil, fmt.Errorf("conversation %q: %w", ref.Conversation, hub.ErrNotFound)
	}
	own := ref
	own.Device = d.id()
	if d.Can == CanAsk || ref.Device != "" {
		return s.board.FindRef(own)
	}
	if ref.ID != "" && ref.Revision == 0 {
		if rec, err := s.board.FindRef(own); err == nil {
			return rec, nil
		}
	}
	return s.board.FindRef(ref)
}
