package hubstore

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/nats-io/nats.go"
)

// credentials reads the file that says who a store is at its servers.
func credentials(name string) (nats.Option, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(data, []byte("-----BEGIN ")) {
		return nats.UserCredentials(name), nil
	}
	user, password, ok := strings.Cut(strings.TrimSpace(string(data)), ":")
	if !ok || user == "" || password == "" || strings.ContainsAny(user+password, "\r\n") {
		return nil, fmt.Errorf("%s: expected what NATS makes for a user, or one line USER:PASSWORD", name)
	}
	return nats.UserInfo(user, password), nil
}
