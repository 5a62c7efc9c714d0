package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/hub"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// notifier tells a URL of new questions, and takes that back when they are
// settled. The body is text, and the headers are those of ntfy, which others
// ignore.
type notifier struct {
	url, click string
	text       bool
	log        *slog.Logger
}

// notifyTime bounds a request: the next question has something to say, too.
const notifyTime = 10 * time.Second

func (n *notifier) run(ctx context.Context, board *hub.Board) {
	reader := board.Read(0)
	told := map[string]bool{}
	for first := true; ; first = false {
		changes, more := reader.Next()
		for _, r := range changes {
			id := n.id(r)
			switch {
			case first:
				told[id] = r.Open() // was told before the hub was started again
			case r.Open() && !told[id]:
				told[id] = true
				n.send(ctx, id, n.message(r))
			case !r.Open() && told[id]:
				delete(told, id)
				n.takeBack(ctx, id, r.End.Outcome)
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		case <-board.Done():
			return
		}
	}
}

func (n *notifier) id(r *hub.Record) string {
	sum := sha256.Sum256([]byte(r.Conversation + "\x00" + r.ID))
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
	if status, err := n.request(ctx, http.MethodPost, n.url, id, message); err != nil {
		n.log.Warn("a notification was not sent", "err", err)
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
