package web

import (
	"net/http"
	"slices"
)

// Away reports whether the people of a group have said that nobody sits at their
// terminals. Then a hook may wait for them where the terminal shows nothing meanwhile.
func (a *Access) Away(group string) bool {
	return slices.Contains(a.kept.Load().Away, groupName(group))
}

// setAway notes that a device says so of its groups, or that somebody is back.
func (a *Access) setAway(by Device, away bool) error {
	groups := by.Groups
	if len(groups) == 0 {
		groups = []string{ownGroup}
	}
	return a.change(&by, func(k *kept) error {
		k.Away = slices.DeleteFunc(k.Away, func(g string) bool { return slices.Contains(groups, g) })
		if away {
			k.Away = append(k.Away, groups...)
		}
		return nil
	})
}

func (s *Server) showAway(w http.ResponseWriter, _ *http.Request, d Device) error {
	return reply(w, map[string]bool{"away": s.access.Away(d.first())}, nil)
}

func (s *Server) away(w http.ResponseWriter, r *http.Request, d Device, g given) error {
	var said struct{ Away *bool }
	if err := g.into(&said); err != nil || said.Away == nil {
		return badf(`expected {"away":true} or {"away":false}`)
	}
	if err := s.access.setAway(d, *said.Away); err != nil {
		return err
	}
	return s.showAway(w, r, d)
}
