package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/proc"
	"github.com/acp-bridge/acp-bridge/internal/watch"
)

// Known are the versions of Codex whose socket was seen to work so, without their last
// number.
var Known = []string{"0.166"}

// Socket is where Codex listens.
var Socket = watch.HomeFile("CODEX_HOME", ".codex", "app-server-control", "app-server-control.sock")

const (
	// maxMessage is the most that Codex says at once.
	maxMessage = 64 << 20
	// replyTime is how long Codex may take to reply.
	replyTime = 30 * time.Second
)

// client is a connection to Codex.
type client struct {
	socket *websocket.Conn

	proc.Shared // has what follows
	serial      int
	pending     map[int]func(reply gjson.Result, ok bool) // called by the reader: it must not block
}

// dial connects, and says who we are. The version is Codex's.
func dial(ctx context.Context, path string) (*client, error) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	wait, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	socket, _, err := websocket.Dial(wait, "ws://localhost/", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		return nil, err
	}
	socket.SetReadLimit(maxMessage)
	return &client{socket: socket, pending: map[int]func(gjson.Result, bool){}}, nil
}

var versionIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/([0-9]+\.[0-9]+)(\.[0-9][^ ]*)?`) })

// knows reports whether we know the protocol of who calls itself so.
func knows(userAgent string) error {
	found := versionIn().FindStringSubmatch(userAgent)
	if found == nil {
		found = []string{"", clean.Truncate(clean.Line(userAgent), 80), ""}
	} else if slices.Contains(Known, found[1]) {
		return nil
	}
	return watch.Problem(fmt.Sprintf("version %s is not known here (known: %s)", found[1]+found[2], Known[0]))
}

// read calls f for each message that is no reply, until the connection ends.
func (c *client) read(ctx context.Context, f func(gjson.Result)) error {
	defer c.abandon()
	for {
		_, data, err := c.socket.Read(ctx)
		if err != nil {
			return err
		}
		if !clean.ValidJSON(data) {
			continue
		}
		message := gjson.ParseBytes(data)
		if message.Get("method").Exists() {
			f(message)
			continue
		}
		id := int(message.Get("id").Int())
		var then func(gjson.Result, bool)
		c.Step(func() {
			then = c.pending[id]
			delete(c.pending, id)
		})
		if then != nil {
			then(message, true)
		}
	}
}

// abandon ends all calls: there will be no reply.
func (c *client) abandon() {
	var list map[int]func(gjson.Result, bool)
	c.Step(func() { list, c.pending = c.pending, nil })
	for _, then := range list {
		then(gjson.Result{}, false)
	}
}

var errEnded = errors.New("Codex has closed its socket")

// ask makes a request. What then does comes in its order among Codex's messages; it is
// called with ok false if there will be no reply.
func (c *client) ask(ctx context.Context, method string, params any, then func(reply gjson.Result, ok bool)) {
	id, ended := 0, false
	c.Step(func() {
		c.serial++
		id = c.serial
		if ended = c.pending == nil; !ended {
			c.pending[id] = then
		}
	})
	if ended {
		then(gjson.Result{}, false)
		return
	}
	_ = c.send(ctx, map[string]any{"id": id, "method": method, "params": params}) // a connection that is broken has no replies
}

// call makes a request, and waits for its result.
func (c *client) call(ctx context.Context, method string, params any) (result gjson.Result, err error) {
	to := make(chan gjson.Result, 1)
	c.ask(ctx, method, params, func(reply gjson.Result, ok bool) {
		if ok {
			to <- reply
		}
		close(to)
	})
	ctx, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	select {
	case reply, ok := <-to:
		switch e := reply.Get("error"); {
		case !ok:
			return reply, errEnded
		case e.Exists():
			return reply, fmt.Errorf("%s: %s", method, clean.Line(e.Get("message").String()))
		}
		return reply.Get("result"), nil
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

func (c *client) send(ctx context.Context, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return c.socket.Write(ctx, websocket.MessageText, data)
}
