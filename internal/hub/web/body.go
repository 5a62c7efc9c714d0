package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

func waitOf(r *http.Request) (time.Duration, error) {
	v := r.Form.Get("wait")
	if v == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return 0, badf("wait: expected a time such as 30s, got %q", v)
	}
	return min(d, maxWait), nil
}

// readJSON reads a body. If it is none that can be taken, it says why.
func (s *Server) readJSON(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		fail(w, http.StatusUnsupportedMediaType, "expected Content-Type: application/json")
		return nil, false
	}
	if body, ok = s.readBody(w, r); !ok {
		return nil, false
	}
	if !json.Valid(body) {
		fail(w, http.StatusBadRequest, "the body is not JSON")
		return nil, false
	}
	return body, true
}

// bounded sees to it that nobody waits for a body that does not come. What no
// handler reads is read before the reply is sent: a client of which nothing is
// known could hold its connection for ever. A request that changes nothing needs
// none, and may be under way for long: its body is read first.
func (s *Server) bounded(w http.ResponseWriter, r *http.Request) (ok bool) {
	switch {
	case r.ContentLength == 0:
		return true
	case reads(r):
		_, ok = s.readBody(w, r)
		return ok
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.body))
	return true
}

func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.body))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
	} else { // with no deadline the rest would be waited for
		w.Header().Set("Connection", "close")
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		got := "more"
		if r.ContentLength > 0 {
			got = fmt.Sprintf("%d bytes", r.ContentLength)
		}
		fail(w, http.StatusRequestEntityTooLarge, "the body is too large: expected at most %d bytes (1 MiB), got %s", maxBody, got)
		return nil, false
	case err != nil:
		fail(w, http.StatusBadRequest, "the body did not come whole")
		return nil, false
	}
	return body, true
}
