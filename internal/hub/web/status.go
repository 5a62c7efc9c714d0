package web

import (
	"context"
	"math"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// Status is a hub as its operator sees it. There is no word of a question in it.
type Status struct {
	Version string `json:"version,omitempty"`
	// PID is that of its process.
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	Ready bool      `json:"ready"`
	// Problem says why it is not ready, or what is not known.
	Problem string          `json:"problem,omitempty"`
	Engine  hubstore.Engine `json:"engine"`
	Open    int             `json:"open"`
	// Gone counts those of them whose asker is gone.
	Gone   int       `json:"gone"`
	Oldest time.Time `json:"oldest,omitzero"`
	// Asked, Answered and Ended (otherwise than with an answer) are counted since
	// this hub was started, and Failed what the store did not take.
	Asked    uint64 `json:"asked"`
	Answered uint64 `json:"answered"`
	Ended    uint64 `json:"ended"`
	Failed   uint64 `json:"failed"`
	Streams  int    `json:"streams"`
	Devices  int    `json:"devices"`
	// Groups are those of devices and of open questions.
	Groups []string `json:"groups"`
	// LAN is "on" or "off" where this machine's own networks can be let in.
	LAN string `json:"lan,omitempty"`
}

// engineTime bounds what the engine may take to tell of itself.
const engineTime = 5 * time.Second

func (s *Server) status(w http.ResponseWriter, r *http.Request, _ Device) error {
	ctx, cancel := context.WithTimeout(r.Context(), engineTime)
	defer cancel()
	stats := s.board.Stats()
	out := Status{Version: s.opts.Version, PID: os.Getpid(), LAN: s.lan(), Since: s.since, Asked: stats.Asked, Failed: stats.Failed, Groups: []string{}}
	engine, err := s.board.Engine(ctx)
	if out.Engine = engine; err != nil {
		out.Problem = "the store does not tell how it is"
		s.log.Warn(out.Problem, "err", err)
	}
	if out.Problem == "" && s.access.ownerChanged() {
		out.Problem = newOwnerText
	}
	if err := s.isReady(); err != nil {
		out.Problem = err.Error()
	} else {
		out.Ready = true
	}
	for e, n := range stats.Ended {
		if e.Outcome == convert.Answered.String() {
			out.Answered += n
		} else {
			out.Ended += n
		}
	}
	open, _ := s.board.Waiting(math.MaxInt)
	out.Open = len(open)
	for _, q := range open {
		if q.Gone {
			out.Gone++
		}
		if out.Oldest.IsZero() || q.Asked.Before(out.Oldest) {
			out.Oldest = q.Asked
		}
		out.Groups = append(out.Groups, groupName(q.Group))
	}
	for _, d := range s.access.List() {
		out.Devices++
		out.Groups = append(out.Groups, d.Groups...)
	}
	slices.Sort(out.Groups)
	out.Groups = slices.Compact(out.Groups)
	s.mu.Lock()
	out.Streams = s.of[everybody.Name]
	s.mu.Unlock()
	return reply(w, out, nil)
}
