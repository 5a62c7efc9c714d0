package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/hub"
	"github.com/acp-bridge/acp-bridge/adapter/web"
	"github.com/acp-bridge/acp-bridge/display/clean"
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
	turn  turn
	log   *slog.Logger
}

// notifyTime bounds a request: the next question has something to say, too.
const notifyTime = 10 * time.Second

// start returns what tells until stop is closed, and then what is left to be told.
// What waits already was told before the hub was started again.
func (n *notifier) start(ctx context.Context, stop <-chan struct{}, board *hub.Board) (run func()) {
	reader := board.Read(0)
	told := map[string]bool{}
	changes, more := reader.Next()
	for _, r := range changes {
		told[noticeID(r)] = r.Open()
	}
	return func() { n.run(ctx, stop, board, reader, told, more) }
}

func (n *notifier) run(ctx context.Context, stop <-chan struct{}, board *hub.Board, reader *hub.Reader, told map[string]bool, more <-chan struct{}) {
	for last := false; !last; {
		select {
		case <-more:
		case <-stop:
			last = true
		case <-board.Done():
			last = true
		}
		var changes []*hub.Record
		changes, more = reader.Next()
		for _, r := range changes {
			if r.Group != n.group {
				continue
			}
			id := noticeID(r)
			switch {
			case r.Open() && !told[id]:
				if told[id] = true; n.turn.begin(ctx, n.url, id) {
					n.send(ctx, id, n.message(r))
				}
			case !r.Open() && told[id]:
				if delete(told, id); n.turn.end(ctx, n.url, id) {
					n.takeBack(ctx, id, r.End.Outcome)
				}
			}
		}
	}
}

// noticeID names a question in what is told, and says nothing about it. What is
// asked once more has another one.
func noticeID(r *hub.Record) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d", r.Group, r.Conversation, r.ID, r.Asked.UnixNano()))
	return hex.EncodeToString(sum[:8])
}

func (n *notifier) message(r *hub.Record) string {
	if !n.text {
		return "A question waits for you."
	}
	return clean.Truncate(clean.Line(r.Call.Questions[0].Text), 300)
}

// send says that there is something new.
func (n *notifier) send(ctx context.Context, id, message string) {
	// The address may have a secret in it, and stays out of the log.
	if status, err := n.request(ctx, http.MethodPost, n.url, id, message); err != nil {
		n.log.Warn("a notification was not sent", "err", reason(err))
	} else if status >= 300 {
		n.log.Warn("a notification was not taken", "status", status)
	}
}

// takeBack deletes what was said about a question, as ntfy can. Whoever cannot is
// told what became of it.
func (n *notifier) takeBack(ctx context.Context, id, outcome string) {
	status, err := n.request(ctx, http.MethodDelete, strings.TrimSuffix(n.url, "/")+"/"+id, id, "")
	if err == nil && status < 300 {
		return
	}
	n.send(ctx, id, "It was "+outcome+".")
}

func (n *notifier) request(ctx context.Context, method, url, id, message string) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, notifyTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(message))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	req.Header.Set("X-Title", "acp-bridge")
	req.Header.Set("X-Click", n.click)
	req.Header.Set("X-Sequence-ID", id)
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(reply.Body, 64<<10))
	return reply.StatusCode, err
}
