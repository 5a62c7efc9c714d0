package web

import "time"

// SetBodyTime says how long a body may take, before the first request.
func (s *Server) SetBodyTime(d time.Duration) { s.body = d }

// SetBlock says how long a hook may keep a terminal from asking, before the first request.
func (s *Server) SetBlock(d time.Duration) { s.opts.Block = d }

// Watched reports whether a request of a device ends with its removal.
func (a *Access) Watched(device string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for l := range a.there {
		if l.device == device {
			return true
		}
	}
	return false
}

// May reports whether a device may do what those can.
func (d Device) May(can ...Can) bool { return d.may(can) }

// Changing are the patterns of all that changes something.
func (s *Server) Changing() []string {
	all := []string{"POST /login"}
	for pattern, r := range s.table() {
		if r.change != nil {
			all = append(all, pattern)
		}
	}
	return all
}

var SeenOf = seenOf // the number of what is shown

// Looking are the patterns of all that changes nothing.
func (s *Server) Looking() (all []string) {
	for pattern, r := range s.table() {
		if r.look != nil {
			all = append(all, pattern)
		}
	}
	return all
}

// Patterns are those of all routes.
func (s *Server) Patterns() []string { return s.mux.patterns }

// Taken is what a route takes: who may use it, names of parameters and of members.
// It is false for a route that needs no credential.
func (s *Server) Taken(pattern string) (can []Can, query, members string, ok bool) {
	r, ok := s.table()[pattern]
	return r.can, r.takes.query, r.takes.names, ok
}

// Written counts what was kept.
func (a *Access) Written() uint64 { return a.kept.Load().revision }
