package watch

import (
	"context"
	"net/http"

	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// State is where what agents ask in their terminals goes. It is in a file of its own, so that
// no token is in the settings of an agent, or on a command line.
type State struct {
	Hub    string `json:"hub"`
	Token  string `json:"token"`
	Device string `json:"device,omitempty"` // that was made for it
	// Own says that it is the user's own hub on this machine, whose token was found.
	Own bool `json:"own,omitempty"`
	// Settings is the file that has Claude Code's hooks; empty if they are a plugin.
	Settings string `json:"settings,omitempty"`
	// Agents are the other agents for which something is installed.
	Agents []string `json:"agents,omitempty"`

	door door
}

// door is a way into a hub: the file in which it is kept, the device that is made for it, and
// what that may do.
type door struct{ file, device, can string }

var (
	claudeDoor = door{"hook.json", "claude", "hook"}
	agentsDoor = door{"watch.json", "terminals", "ask"}
)

// ReadClaude reads where the hooks of Claude Code go.
func ReadClaude() (State, error) { return claudeDoor.read() }

func (d door) read() (State, error) {
	s := State{door: d}
	err := hublink.ReadState(d.file, &s)
	return s, err
}

func (st State) write() error { return hublink.WriteState(st.door.file, st) }

// caller talks to the hub alone.
func (st State) caller() (*hublink.Caller, error) {
	urls, err := hublink.ParseURLs(st.Hub)
	if err != nil {
		return nil, err
	}
	return hublink.NewCaller(urls, st.token, HubTime), nil
}

// call asks the hub for something, within a moment.
func (st State) call(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, HubTime)
	defer cancel()
	c, err := st.caller()
	if err != nil {
		return err
	}
	return c.Call(ctx, method, path, body, into)
}

// watch begins to put what an agent asks to that hub.
func (st State) watch() (*Watch, error) {
	urls, err := hublink.ParseURLs(st.Hub)
	if err != nil {
		return nil, err
	}
	return Start(hublink.Options{URL: urls[0], Others: urls[1:], Token: st.token}), nil
}

func (st State) token() (string, error) { return st.Token, nil }

// works asks the hub whether it takes what goes that way.
func (d door) works(ctx context.Context, call func(ctx context.Context, method, path string, body, into any) error) error {
	if d == claudeDoor {
		return call(ctx, http.MethodPost, "/hooks/claude", map[string]string{"hook_event_name": "AcpBridgeProbe", "session_id": "00000000-0000"}, nil)
	}
	return hublink.Probe(ctx, call)
}

// away reports whether the hub says that nobody is at the terminal. One that does not
// answer within a moment says nothing.
func (st State) away(ctx context.Context) (bool, error) {
	var said struct{ Away bool }
	err := st.call(ctx, http.MethodGet, "/away", nil, &said)
	return err == nil && said.Away, err
}
