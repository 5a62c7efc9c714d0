package web

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

var errClosing = errors.New("the hub is closing")

// ready says whether this hub can be used now: whoever spreads requests over
// several leaves one out that cannot.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) error {
	if err := s.isReady(); err != nil {
		return statusError{http.StatusServiceUnavailable, err.Error()}
	}
	fmt.Fprintln(w, "ready")
	return nil
}

// isReady says why the hub cannot be used now, or nil.
func (s *Server) isReady() error {
	if s.serving.Err() != nil {
		return errClosing
	}
	return s.board.Ready()
}

// metrics writes what is counted in the text format of Prometheus. There is no
// word of a question in it.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request, _ Device) error {
	var b bytes.Buffer
	stats := s.board.Stats()
	open, _ := s.board.Waiting(math.MaxInt)
	byGroup, gone := map[string]int{}, 0
	for _, r := range open {
		byGroup[groupName(r.Group)]++
		if r.Gone {
			gone++
		}
	}
	metric(&b, "build_info", "gauge", "The version of this hub.", fmt.Sprintf("{version=%s} 1", label(cmp.Or(s.opts.Version, "unknown"))))
	var values []string
	for _, group := range slices.Sorted(maps.Keys(byGroup)) {
		values = append(values, fmt.Sprintf("{group=%s} %d", label(group), byGroup[group]))
	}
	metric(&b, "open", "gauge", "Questions that wait now, at all hubs of the store.", values...)
	metric(&b, "open_without_asker", "gauge", "Questions that wait and whose asker is gone.", fmt.Sprintf(" %d", gone))
	metric(&b, "asked_total", "counter", "Questions that were asked at this hub.", fmt.Sprintf(" %d", stats.Asked))
	order := func(x, y hub.Ending) int {
		return cmp.Or(strings.Compare(x.Outcome, y.Outcome), strings.Compare(x.By, y.By), strings.Compare(from(x), from(y)))
	}
	values = nil
	for _, e := range slices.SortedFunc(maps.Keys(stats.Ended), order) {
		values = append(values, fmt.Sprintf("{outcome=%s,by=%s%s} %d", label(e.Outcome), label(e.By), from(e), stats.Ended[e]))
	}
	metric(&b, "ended_total", "counter", "Questions that ended at this hub, by outcome and by who ended them; elsewhere is the asker's word.", values...)
	values = nil
	all := uint64(0)
	for i, n := range stats.Waited {
		bound := "+Inf"
		if bounds := hub.WaitBounds(); i < len(bounds) {
			bound = strconv.FormatFloat(bounds[i], 'g', -1, 64)
		}
		values = append(values, fmt.Sprintf("_bucket{le=%q} %d", bound, n))
		all = n
	}
	values = append(values, fmt.Sprintf("_sum %g", stats.WaitedSeconds), fmt.Sprintf("_count %d", all))
	metric(&b, "answer_seconds", "histogram", "How long questions waited for their answers.", values...)
	s.mu.Lock()
	streams := s.of[everybody.Name]
	s.mu.Unlock()
	metric(&b, "streams", "gauge", "Event streams that are open at this hub.", fmt.Sprintf(" %d", streams))
	metric(&b, "store_errors_total", "counter", "Writes of this hub that the store did not take.", fmt.Sprintf(" %d", stats.Failed))
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = send(w, b.Bytes())
	return nil
}

// metric writes what a metric is, and its values, with their labels before them.
func metric(b *bytes.Buffer, name, kind, help string, values ...string) {
	fmt.Fprintf(b, "# HELP acp_bridge_hub_%s %s\n# TYPE acp_bridge_hub_%s %s\n", name, help, name, kind)
	for _, v := range values {
		fmt.Fprintf(b, "acp_bridge_hub_%s%s\n", name, v)
	}
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// label is a value of a label, whatever it holds.
func label(s string) string {
	return `"` + labelEscapes.Replace(strings.ToValidUTF8(s, "\uFFFD")) + `"`
}

// from is one more label of what was ended elsewhere, as its asker says.
func from(e hub.Ending) string {
	if e.Elsewhere {
		return `,elsewhere="true"`
	}
	return ""
}
