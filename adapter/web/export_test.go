package web

import "time"

// SetBodyTime says how long a body may take, before the first request.
func (s *Server) SetBodyTime(d time.Duration) { s.body = d }
