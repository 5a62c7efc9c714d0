package hublink

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// DataDir is the folder in which a hub of this user keeps its data by default.
func DataDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "acp-bridge", "hub"), nil
	}
	switch runtime.GOOS {
	case "windows", "darwin":
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "acp-bridge", "hub"), err
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state", "acp-bridge", "hub"), err
}

// StateFile is a file, or a folder, of what acp-bridge keeps.
func StateFile(name string) (string, error) {
	dir, err := DataDir()
	return filepath.Join(filepath.Dir(dir), name), err
}

// ReadState reads what WriteState keeps in the file of that name.
func ReadState(name string, v any) error {
	file, err := StateFile(name)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// WriteState keeps something for this user alone.
func WriteState(name string, v any) error {
	file, err := StateFile(name)
	if err != nil {
		return err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return proc.WritePrivate(file, data)
}

// RemoveState ends that.
func RemoveState(name string) error {
	file, err := StateFile(name)
	if err != nil {
		return err // the name is not that of our file
	}
	return os.Remove(file)
}

// Files in a hub's folder: its owner's token, what it says of itself when it is started,
// and what it locks while it runs.
const (
	TokenName   = "token"
	AddressName = "address"
	LockName    = "lock"
)

// LocalAddress is where the hub of this user on this machine was last started, or where
// one listens unless it is told otherwise.
func LocalAddress() string {
	if dir, err := DataDir(); err == nil {
		data, _ := os.ReadFile(filepath.Join(dir, AddressName))
		if first, _, ok := strings.Cut(string(data), "\n"); ok {
			return first
		}
	}
	return "http://127.0.0.1:7717"
}

// TokenVariable is the variable with the token for a hub.
const TokenVariable = "ACP_BRIDGE_HUB_TOKEN"

// Token finds the token for a hub: in a file if one is named, in
// ACP_BRIDGE_HUB_TOKEN, or in the folder of a hub of this user, if the address
// is one of this machine. That one goes to no other machine.
func Token(hub *url.URL, file string) (string, error) {
	local := file == ""
	if local {
		if token := strings.TrimSpace(os.Getenv(TokenVariable)); token != "" {
			return token, nil
		}
		if !loopback(hub.Hostname()) {
			return "", fmt.Errorf("no token for the hub at %s: set ACP_BRIDGE_HUB_TOKEN or --hub-token-file", hub.Host)
		}
		dir, err := DataDir()
		if err != nil {
			return "", err
		}
		file = filepath.Join(dir, TokenName)
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && local {
		return "", fmt.Errorf("no token for the hub at %s: there is none in %s; start a hub with acp-bridge-hub, or set ACP_BRIDGE_HUB_TOKEN or --hub-token-file", hub.Host, file)
	}
	if err != nil {
		return "", fmt.Errorf("the hub's token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", fmt.Errorf("the hub's token: %s is empty", file)
	}
	return token, CheckToken(file, token)
}

// CheckToken reports a token that nobody can have written: its file is damaged.
func CheckToken(file, token string) error {
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("%s is damaged: expected a token of letters, digits and signs. Nothing was changed: put a copy of it back", file)
	}
	return nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// ParseURL reads a hub's address.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the hub's address: %w", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("the hub's address: expected http://HOST:PORT or https://…, got %q", s)
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("the hub's address: expected no password, query or fragment in it")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("the hub's address: expected https for another machine, got %q: the token could be read on the way", s)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}
