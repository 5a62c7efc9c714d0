package web

import (
	"errors"
	"fmt"
	"io"
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

// bound sees to it that nobody waits for a body that does not come, or that nobody
// wants. A request that changes nothing needs none: whatever it has is left, and
// the connection ends with the reply.
func (s *Server) bound(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.body))
	if reads(r) {
		w.Header().Set("Connection", "close")
	}
}

func (s *Server) readUpTo(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.body))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
	} else { // with no deadline the rest would be waited for
		w.Header().Set("Connection", "close")
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		got, unit := "more", fmt.Sprintf("%d MiB", most>>20)
		if most < maxBody {
			unit = fmt.Sprintf("%d KiB", most>>10)
		}
		if r.ContentLength > 0 {
			got = fmt.Sprintf("%d bytes", r.ContentLength)
		}
		return nil, statusf(http.StatusRequestEntityTooLarge, "the body is too large: expected at most %d bytes (%s), got %s", most, unit, got)
	case err != nil:
		return nil, statusf(http.StatusBadRequest, "the body did not come whole")
	}
	return body, nil
}
