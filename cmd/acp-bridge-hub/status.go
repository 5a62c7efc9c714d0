package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// runStatus prints the hub's state. A hub that is not ready is an error, for scripts.
func runStatus(ctx context.Context, o options, out io.Writer) error {
	c, err := callRunning(o)
	if err != nil {
		return err
	}
	var st struct {
		Address string `json:"address"`
		web.Status
	}
	if err := c.call(ctx, http.MethodGet, "/status", nil, &st.Status); err != nil {
		return err
	}
	st.Address = c.address
	if o.json {
		err = json.NewEncoder(out).Encode(st)
	} else {
		_, err = io.WriteString(out, statusText(c.address, st.Status, time.Now()))
	}
	if err == nil && !st.Ready {
		err = errors.New("the hub is not ready: " + st.Problem)
	}
	return err
}

// statusWidth is that of a terminal.
const statusWidth = 80

func statusText(address string, st web.Status, now time.Time) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		text := fmt.Sprintf("%-10s", name) + clean.Line(fmt.Sprintf(format, args...))
		fmt.Fprintln(&b, clean.Truncate(text, statusWidth))
	}
	line("address", "%s", address)
	line("version", "%s, started %s ago", st.Version, ago(now, st.Since))
	switch {
	case !st.Ready:
		line("ready", "no: %s", st.Problem)
	case st.Problem != "":
		line("ready", "yes, but %s", st.Problem)
	default:
		line("ready", "yes")
	}
	engineText(line, st.Engine)
	if st.Open == 0 {
		line("open", "0")
	} else {
		line("open", "%d (the oldest for %s), %d without an asker", st.Open, ago(now, st.Oldest), st.Gone)
	}
	line("started", "%d asked, %d answered, %d ended otherwise, %d writes failed", st.Asked, st.Answered, st.Ended, st.Failed)
	line("streams", "%d", st.Streams)
	line("devices", "%d", st.Devices)
	line("groups", "%s", strings.Join(st.Groups, ", "))
	return b.String()
}

func engineText(line func(name, format string, args ...any), e hubstore.Engine) {
	switch {
	case e.Embedded:
		line("engine", "NATS inside, %d records, %s", e.Values, size(e.Bytes))
		return
	case e.Cluster == "":
		line("engine", "NATS server %s, %d records, %s", e.Server, e.Values, size(e.Bytes))
		return
	}
	line("engine", "NATS cluster %s by server %s, %d records, %s", e.Cluster, e.Server, e.Values, size(e.Bytes))
	line("", "%d of %d replicas in sync, leader %s", e.InSync(), e.Replicas, cmp.Or(e.Leader, "none now"))
	for _, p := range e.Peers {
		switch {
		case p.Offline:
			line("", "%s: offline", p.Name)
		case !p.InSync:
			line("", "%s: %d writes behind", p.Name, p.Lag)
		default:
			line("", "%s: in sync", p.Name)
		}
	}
}

// ago is the time since then, in its largest units.
func ago(now, then time.Time) string {
	d := max(0, now.Sub(then)).Truncate(time.Second)
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= time.Hour:
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
	}
	return d.String()
}

func size(n uint64) string {
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if n < 1024 {
			return fmt.Sprintf("%d %s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%d TiB", n)
}
