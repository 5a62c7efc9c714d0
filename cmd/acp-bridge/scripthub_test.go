package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// scriptToken is that of the owner of a script's hub.
const scriptToken = "owners-token-of-the-scripts"

// openedHub is a hub in this process.
type openedHub struct {
	url    string
	board  *hub.Board
	access *web.Access
	stop   func() // takes it off the network
	close  func()
}

// openHub opens a hub on a folder, of an owner with this token.
func openHub(dir, token string) (h openedHub, err error) {
	store, err := hubstore.Open(context.Background(), hubstore.Options{Dir: dir})
	if err != nil {
		return h, err
	}
	if h.board, err = hub.Open(context.Background(), store, hub.Options{}); err != nil {
		store.Close()
		return h, err
	}
	if h.access, err = web.OpenAccess(filepath.Join(dir, "access.json"), token); err != nil {
		return h, err
	}
	server := web.New(h.board, h.access, web.Options{})
	s := httptest.NewServer(server)
	h.url = s.URL
	h.stop = sync.OnceFunc(func() { server.Close(); s.CloseClientConnections(); s.Close() })
	h.close = sync.OnceFunc(func() { h.stop(); h.board.Close(); store.Close() })
	return h, nil
}

// find waits for a record.
func (h openedHub) find(ok func(*hub.Record) bool) (*hub.Record, error) {
	reader := h.board.Read(1)
	for end := time.After(patience); ; {
		changes, more := reader.Next()
		open, _ := h.board.Waiting(100)
		for _, r := range append(append(changes, open...), h.board.Settled("", 100)...) {
			if ok(r) {
				return r, nil
			}
		}
		select {
		case <-more:
		case <-end:
			return nil, errors.New("it did not come")
		}
	}
}

// scriptHub is the hub of a script, on one folder however often it is started.
type scriptHub struct{ openedHub }

type scriptHubKey struct{}

// hubInScript is a script's command:
//
//	hub start                       $HUB is its address, and the token is set
//	hub stop
//	hub device NAME                 $NAME is the token of a device that can answer
//	hub answered BY QUESTION ANSWER consumed by its agent
//	hub accepted BY QUESTION ANSWER not fetched by its agent
//	hub ask CONVERSATION ID QUESTION   as a script asks over HTTP
//	hub answer QUESTION ANSWER      once it is asked
//	hub cancel QUESTION             once it is asked
//	hub asked QUESTION              waits for that
//	hub withdrawn QUESTION          waits for that
//	hub consumed QUESTION           waits until its agent has used the answer
func hubInScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: hub start|stop|device|answered|accepted")
	}
	h := ts.Value(scriptHubKey{}).(*scriptHub)
	switch {
	case args[0] == "start":
		ts.Check(h.start(ts))
	case args[0] == "stop":
		h.close()
	case args[0] == "device" && len(args) == 2:
		token, err := h.access.Add(args[1], web.CanAnswer)
		ts.Check(err)
		ts.Setenv(args[1], token)
	case len(args) == 3 && args[0] == "answer":
		ts.Check(h.once(args[1], (*hub.Record).Open, func(r *hub.Record) error {
			_, err := h.board.Answer(context.Background(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{{Text: args[2]}}, nil }, "phone")
			return err
		}))
	case len(args) == 2 && args[0] == "cancel":
		ts.Check(h.once(args[1], (*hub.Record).Open, func(r *hub.Record) error {
			_, err := h.board.Cancel(context.Background(), r.Ref(), "phone")
			return err
		}))
	case len(args) == 2 && args[0] == "asked":
		ts.Check(h.once(args[1], (*hub.Record).Open, func(*hub.Record) error { return nil }))
	case len(args) == 2 && args[0] == "withdrawn":
		ts.Check(h.once(args[1], func(r *hub.Record) bool { return !r.Open() && r.End.By == "" }, func(*hub.Record) error { return nil }))
	case len(args) == 2 && args[0] == "consumed":
		ts.Check(h.once(args[1], isConsumed, func(*hub.Record) error { return nil }))
	case len(args) == 4 && args[0] == "ask":
		body := strings.Replace(hubCall, "Which database?", args[3], 1)
		req, err := http.NewRequest(http.MethodPost, h.url+"/conversations/"+args[1]+"/ask", strings.NewReader(`{"id":"`+args[2]+`",`+body[1:]))
		ts.Check(err)
		req.Header.Set("Authorization", "Bearer "+scriptToken)
		req.Header.Set("Content-Type", "application/json")
		reply, err := http.DefaultClient.Do(req)
		ts.Check(err)
		reply.Body.Close()
		if reply.StatusCode != http.StatusAccepted {
			ts.Fatalf("%s", reply.Status)
		}
	case len(args) == 4:
		ts.Check(h.settle(args[0] == "answered", args[1], args[2], args[3]))
	default:
		ts.Fatalf("unknown: hub %q", args)
	}
}

func (h *scriptHub) start(ts *testscript.TestScript) (err error) {
	if h.openedHub, err = openHub(ts.MkAbs("hub"), scriptToken); err != nil {
		return err
	}
	ts.Defer(h.close)
	ts.Setenv("HUB", h.url)
	ts.Setenv("ACP_BRIDGE_HUB_TOKEN", scriptToken)
	return os.Chmod(ts.MkAbs("hub"), 0o700)
}

func (h *scriptHub) settle(consumed bool, by, question, answer string) error {
	ctx := context.Background()
	r, err := h.board.Ask(ctx, hub.Asking{Conversation: "c-" + question, Agent: "a", Call: convert.Call{Questions: []convert.Question{{Text: question}}}})
	if err == nil {
		r, err = h.board.Answer(ctx, r.Ref(), func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{{Text: answer}}, nil }, by)
	}
	if err == nil && consumed {
		_, err = h.board.Consumed(ctx, r.Ref())
	}
	return err
}

// once does something to the record of a question, when it is as it should be.
func (h *scriptHub) once(question string, ok func(*hub.Record) bool, do func(*hub.Record) error) error {
	r, err := h.find(func(r *hub.Record) bool { return r.Call.Questions[0].Text == question && ok(r) })
	if err != nil {
		return fmt.Errorf("%q: %w", question, err)
	}
	return do(r)
}
