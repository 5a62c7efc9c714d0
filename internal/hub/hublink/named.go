package hublink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"
)

// Named is a hub that a person has named, or several that share their questions.
type Named struct {
	// Address is that of the hub, or those of several with commas between them.
	Address string
	// TokenFile is the file with the token; empty is one that is found, see [Token].
	TokenFile string
	// Group is that of [Options].
	Group string
	// URLs are the address once it was read; none without a hub.
	URLs []*url.URL
}

// Read reads the address, if there is one.
func (n *Named) Read() (err error) {
	if n.Address != "" {
		n.URLs, err = ParseURLs(n.Address)
	}
	return err
}

// Token finds the token.
func (n *Named) Token() (string, error) { return TokenOf(n.URLs, n.TokenFile) }

// IsFound reports whether the token is one that is found, and that nobody has named.
func (n *Named) IsFound() bool { return n.TokenFile == "" && os.Getenv(TokenVariable) == "" }

// Options are those of a link to it, nil if there is none.
func (n *Named) Options(log *slog.Logger) *Options {
	if len(n.URLs) == 0 {
		return nil
	}
	return &Options{URL: n.URLs[0], Others: n.URLs[1:], Group: n.Group, Token: n.Token, Logger: log}
}

// callTime bounds a request to a hub.
const callTime = 20 * time.Second

// Call makes one request to the hub. Its error is what the hub said.
func (n *Named) Call(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c := NewCaller(n.URLs, n.Token, callTime)
	defer c.Client.CloseIdleConnections()
	err := c.Call(ctx, method, path, body, into)
	if errors.As(err, new(*url.Error)) {
		return fmt.Errorf("the hub cannot be reached: %w", err)
	}
	return err
}

// Probe asks a hub whether it takes the token. It is asked for a conversation that is not there:
// to say so is a reply of a hub that does.
func Probe(ctx context.Context, call func(ctx context.Context, method, path string, body, into any) error) error {
	err := call(ctx, http.MethodGet, "/conversations/acp-bridge-doctor", nil, nil)
	if Replied(err, http.StatusNotFound) {
		return nil
	}
	return err
}
