package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// table is what the run found.
type table struct {
	Date    string   `json:"date"`
	Machine string   `json:"machine"`
	Columns []string `json:"columns"`
	Rows    []*row   `json:"rows"`

	failures map[string]error // of the step that runs
}

// row is one measure.
type row struct {
	Name   string           `json:"name"`
	Unit   string           `json:"unit"`
	Values map[string]value `json:"values"`
	// Ratio is acp-bridge's median to Base's.
	Ratio   float64  `json:"ratio,omitempty"`
	Base    string   `json:"base,omitempty"`
	Targets []target `json:"targets,omitempty"`
}

type value struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	N   int     `json:"n"`
}

type target struct {
	Text string `json:"text"`
	Met  bool   `json:"met"`
}

func newTable(subjects []subject) *table {
	t := &table{
		Date:     time.Now().UTC().Format(time.RFC3339),
		Machine:  fmt.Sprintf("%s, %d CPUs, %s/%s, %s, load %s", cpuModel(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), load()),
		Columns:  []string{direct, sdk},
		failures: map[string]error{},
	}
	for _, s := range subjects {
		t.Columns = append(t.Columns, s.name)
	}
	return t
}

func cpuModel() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if key, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return "unknown CPU"
}

// load is what else the machine does: above its number of CPUs the times are
// those of a crowd.
func load() string {
	data, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(data), " ")
	return first
}

func (t *table) fail(name string, err error) { t.failures[name] = err }
func (t *table) failed(name string) bool     { return t.failures[name] != nil }
func (t *table) endStep()                    { clear(t.failures) }

// samples are measurements by column.
type samples map[string][]float64

func (s samples) add(column string, v ...float64) { s[column] = append(s[column], v...) }

// rule is a target that a row has to meet.
type rule func(r *row) target

// atMost bounds acp-bridge's median.
func atMost(limit float64) rule {
	return func(r *row) target {
		return target{fmt.Sprintf("≤ %g %s", limit, r.Unit), r.Values[product].P50 <= limit}
	}
}

// timesAtMost bounds acp-bridge's median by that of another column.
func timesAtMost(factor float64, base string) rule {
	return func(r *row) target {
		return target{fmt.Sprintf("≤ %g× %s", factor, base), r.Values[product].P50 <= factor*r.Values[base].P50}
	}
}

// timesAtLeast is the other way round, where more is better.
func timesAtLeast(factor float64, base string) rule {
	return func(r *row) target {
		return target{fmt.Sprintf("≥ %.2g× %s", factor, base), r.Values[product].P50 >= factor*r.Values[base].P50}
	}
}

// add appends a row. base is the column that acp-bridge is compared with.
func (t *table) add(name, unit, base string, s samples, rules ...rule) {
	r := &row{Name: name, Unit: unit, Values: map[string]value{}}
	for column, v := range s {
		if !t.failed(column) && len(v) > 0 {
			r.Values[column] = value{percentile(v, 50), percentile(v, 99), len(v)}
		}
	}
	if b, ok := r.Values[base]; ok && b.P50 > 0 {
		r.Base, r.Ratio = base, r.Values[product].P50/b.P50
	}
	for _, rule := range rules {
		r.Targets = append(r.Targets, rule(r))
	}
	t.Rows = append(t.Rows, r)
}

// percentile is by nearest rank.
func percentile(v []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(v))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

func (t *table) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(t)
}

func (t *table) print(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s\nMedian / p99 (the worst, of fewer than 100); × is acp-bridge to the minimal adapter or what is named; ! is a target missed.\n\n", t.Date, t.Machine)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "measure\t%s\t×\ttarget\n", strings.Join(t.Columns, "\t"))
	missed := 0
	for _, r := range t.Rows {
		cells := []string{r.Name + ", " + r.Unit}
		for _, c := range t.Columns {
			cells = append(cells, r.cell(c))
		}
		ratio := ""
		if r.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", r.Ratio)
			if r.Base != minimal {
				ratio += " " + r.Base
			}
		}
		cells = append(cells, ratio)
		var targets []string
		for _, g := range r.Targets {
			if !g.Met {
				missed++
				g.Text = "! " + g.Text
			}
			targets = append(targets, g.Text)
		}
		fmt.Fprintln(tw, strings.Join(append(cells, strings.Join(targets, ", ")), "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d targets, %d missed\n", t.targets(), missed)
	return err
}

func (t *table) targets() (n int) {
	for _, r := range t.Rows {
		n += len(r.Targets)
	}
	return n
}

func (r *row) cell(column string) string {
	v, ok := r.Values[column]
	switch {
	case !ok:
		return "–"
	case v.N == 1:
		return number(v.P50)
	}
	return number(v.P50) + " / " + number(v.P99)
}

// number shows three digits that count.
func number(f float64) string {
	switch {
	case f >= 100 || f <= -100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10 || f <= -10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}
