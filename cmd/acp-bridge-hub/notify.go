package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// notice is an address that is told of the questions of one group, and of no
// other.
type notice struct{ group, url string }

// parseNotice reads GROUP=URL, or a URL alone, which is for the owner's group.
func parseNotice(v string) (notice, error) {
	n := notice{url: v}
	if group, rest, ok := strings.Cut(v, "="); ok && web.IsName(group) {
		n = notice{group, rest}
	}
	if n.group == web.Owner {
		n.group = ""
	}
	u, err := url.Parse(n.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return n, fmt.Errorf("expected a URL or GROUP=URL with http or https, got %q", clean.Truncate(clean.Line(v), 100))
	}
	return n, nil
}

// notifier tells a URL of new questions, and takes that back when they are
// settled. The body is text, and the headers are those of ntfy, which others
// ignore.
type notifier struct {
	notice
	click string
	text  bool
	log   *slog.Logger
}

// notifyTime bounds a request: the next question has something to say, too.
const notifyTime = 10 * time.Second

func (n *notifier) name() string             { return n.url }
func (n *notifier) wants(r *hub.Record) bool { return r.Group == n.group }

func (n *notifier) tell(ctx context.Context, r *hub.Record, id string) {
	n.send(ctx, id, messageOf(r, n.text))
}

// send says that there is something new.
func (n *notifier) send(ctx context.Context, id, message string) {
	// The address may have a secret in it, and stays out of the log.
	if status, err := n.request(ctx, http.MethodPost, n.url, id, message); err != nil {
		n.log.Warn("a notification was not sent", "err", hublink.Reason(err))
	} else if status >= 300 {
		n.log.Warn("a notification was not taken", "status", status)
	}
}

// takeBack deletes what was said about a question, as ntfy can. Whoever cannot is
// told what became of it.
func (n *notifier) takeBack(ctx context.Context, r *hub.Record, id string) {
	status, err := n.request(ctx, http.MethodDelete, n.below(id), id, "")
	if err == nil && status < 300 {
		return
	}
	n.send(ctx, id, endingOf(r))
}

// below is the address of one message. A query stays a query: to delete the address
// itself could end it.
func (n *notifier) below(id string) string {
	u, err := url.Parse(n.url)
	if err != nil {
		panic(err) // parseNotice has read it
	}
	return u.JoinPath(id).String()
}

// notifyClient goes where the operator says, and nowhere else.
var notifyClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (n *notifier) request(ctx context.Context, method, address, id, message string) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, notifyTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(message))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	req.Header.Set("X-Title", "acp-bridge")
	req.Header.Set("X-Click", n.click)
	req.Header.Set("X-Sequence-ID", id)
	reply, err := notifyClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(reply.Body, 64<<10))
	return reply.StatusCode, err
}
