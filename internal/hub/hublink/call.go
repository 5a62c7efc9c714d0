package hublink

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Caller makes single requests of hubs that have the same questions.
type Caller struct {
	// Base is the address of the first one.
	Base string
	// Token is asked for at each request.
	Token  func() (string, error)
	Client *http.Client
	// Header is what a request has beside the token.
	Header http.Header
}

// NewCaller calls hubs that prove that they know the token, and nobody else, see [Client].
func NewCaller(urls []*url.URL, token func() (string, error), dial time.Duration) *Caller {
	return &Caller{Base: urls[0].String(), Token: token, Client: Client(urls, token, dial)}
}

// ReplyError is what a hub replied in place of what it was asked for.
type ReplyError struct {
	Status int
	Text   string // the hub's own words, if it has any
}

func (e ReplyError) Error() string {
	return cmp.Or(e.Text, "the hub replied with "+strconv.Itoa(e.Status)+" "+http.StatusText(e.Status))
}

// Replied reports whether an error is a reply with that status.
func Replied(err error, status int) bool {
	var said ReplyError
	return errors.As(err, &said) && said.Status == status
}

// Reason is why a request failed, without the request.
func Reason(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// maxReply is more than any list of questions has.
const maxReply = 256 << 20

// Send makes a request, and returns the reply whatever it is.
func (c *Caller) Send(ctx context.Context, method, path string, body []byte) (status int, data []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	token, err := c.Token()
	if err != nil {
		return 0, nil, err
	}
	maps.Copy(req.Header, c.Header)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	reply, err := c.Client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer reply.Body.Close()
	data, err = io.ReadAll(io.LimitReader(reply.Body, maxReply))
	return reply.StatusCode, data, err
}

// Fetch makes a request. Any reply but 200 is a [ReplyError].
func (c *Caller) Fetch(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	status, data, err := c.Send(ctx, method, path, body)
	if err == nil && status != http.StatusOK {
		var said struct{ Error string }
		_ = json.Unmarshal(data, &said)
		err = ReplyError{status, clean.Line(said.Error)}
	}
	return data, err
}

// Call makes a request with a body of JSON, and reads that of the reply. Without them
// there is none, and it is not read.
func (c *Caller) Call(ctx context.Context, method, path string, body, into any) error {
	var data []byte
	var err error
	if body != nil {
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	if data, err = c.Fetch(ctx, method, path, data); err != nil || into == nil {
		return err
	}
	return json.Unmarshal(data, into)
}
