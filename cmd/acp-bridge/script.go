package main

import (
	"context"
	"encoding/json"
	"strconv"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// scriptedClient is a client whose replies are known beforehand, one for each
// request in order.
type scriptedClient struct {
	replies  []json.RawMessage
	used     int
	form     bool
	question int // from 1
	round    int
	missing  error
}

// follow counts questions and rounds, to name them when replies do not fit.
func (c *scriptedClient) follow(e desk.Entry) {
	if e.State == desk.Asking {
		c.form, c.question, c.round = e.Rung == adapter.Form.String(), e.Question+1, 0
	}
}

func (c *scriptedClient) next() (json.RawMessage, error) {
	c.round++
	if c.used == len(c.replies) {
		c.missing = usagef("replies: none left for %s", c.where())
		return nil, c.missing
	}
	reply := c.replies[c.used]
	c.used++
	var scripted struct {
		Error *acp.RequestError `json:"error"`
	}
	if json.Unmarshal(reply, &scripted) == nil && scripted.Error != nil {
		return nil, scripted.Error
	}
	return reply, nil
}

func (c *scriptedClient) where() string {
	if c.form {
		return "the form"
	}
	return "question " + strconv.Itoa(c.question) + ", round " + strconv.Itoa(c.round)
}

// check reports replies that were missing or left over.
func (c *scriptedClient) check() error {
	if c.missing != nil {
		return c.missing
	}
	if left := len(c.replies) - c.used; left > 0 {
		if c.question == 0 {
			return usagef("replies: %d left over: nothing was asked", left)
		}
		return usagef("replies: %d left over after %s", left, c.where())
	}
	return nil
}

func (c *scriptedClient) RequestPermission(_ context.Context, _ acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	reply, err := c.next()
	if err != nil {
		return acp.RequestPermissionResponse{}, err
	}
	return conn.DecodePermission(reply)
}

func (c *scriptedClient) CreateElicitation(_ context.Context, _ any) (json.RawMessage, error) {
	return c.next()
}
