package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// runDevice changes who may use the hub: through the hub if it runs, otherwise
// in its folder.
func runDevice(ctx context.Context, o options, out, errOut io.Writer) error {
	name := ""
	switch n := len(o.args); {
	case n == 1 && o.args[0] == "list":
	case n == 2 && (o.args[0] == "add" || o.args[0] == "remove"):
		name = o.args[1]
	default:
		return cli.Misused("expected device add NAME, device list or device remove NAME")
	}
	a, done, err := openAdmin(ctx, o)
	if err != nil {
		return err
	}
	defer done()
	switch o.args[0] {
	case "add":
		token, err := a.add(ctx, web.Device{Name: name, Can: web.Can(o.can), Groups: o.groups})
		if err != nil {
			return err
		}
		// The token alone is on stdout: > FILE keeps it.
		fmt.Fprintf(errOut, "Device %s can %s. Its token is not shown again:\n", name, o.can)
		_, err = fmt.Fprintln(out, token)
		return err
	case "remove":
		if err := a.remove(ctx, name); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "Removed: %s\n", name)
		return err
	}
	list, err := a.list(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, d := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.Name, d.Can, d.Added.Format(time.DateOnly), groupsOf(d))
	}
	return w.Flush()
}

// groupsOf names the groups of a device.
func groupsOf(d web.Device) string {
	switch {
	case d.Can == web.CanAdmin:
		return "all groups"
	case len(d.Groups) == 0:
		return web.Owner
	}
	return strings.Join(d.Groups, ", ")
}

// runLogin prints a link that logs a browser in: out gets the one for this machine.
func runLogin(ctx context.Context, o options, out, errOut io.Writer) error {
	c, err := callRunning(o)
	if err != nil {
		return err
	}
	var made struct{ Code string }
	if err := c.call(ctx, http.MethodPost, "/codes", map[string]string{"name": o.device}, &made); err != nil {
		return err
	}
	var lan web.LANState
	if err := c.call(ctx, http.MethodGet, "/lan", nil, &lan); err != nil {
		return err
	}
	link := loginLink(c.shown, made.Code)
	if len(lan.Addresses) > 0 && lan.Addresses[0] != c.shown {
		other := loginLink(lan.Addresses[0], made.Code)
		drawQR(errOut, other)
		fmt.Fprintf(errOut, "On another device: %s\nOn this machine:\n", other)
	} else {
		drawQR(out, link)
	}
	_, err = fmt.Fprintln(out, link)
	return err
}

// runLAN lets the machine's own networks in, or keeps them out.
func runLAN(ctx context.Context, o options, out io.Writer) error {
	if len(o.args) != 1 || o.args[0] != "on" && o.args[0] != "off" {
		return cli.Misused("expected lan on or lan off")
	}
	c, err := callRunning(o)
	if err != nil {
		return err
	}
	on := o.args[0] == "on"
	var lan web.LANState
	if err := c.call(ctx, http.MethodPost, "/lan", map[string]bool{"on": on}, &lan); err != nil {
		return err
	}
	if !on {
		_, err = fmt.Fprintln(out, "Only this machine reaches the hub now.")
		return err
	}
	var phone web.PhoneLink
	if err := c.call(ctx, http.MethodPost, "/phones", nil, &phone); err != nil {
		return err
	}
	_, code, _ := strings.Cut(phone.Link, "/login?code=")
	sayPhone(lan.Addresses, code, phone.Fingerprint, out)
	return nil
}

// callRunning returns the hub of the folder if it runs. If it does not, whatever
// is at its address now is something else, and gets no token.
func callRunning(o options) (*caller, error) {
	unlock, err := lock(filepath.Join(o.data, hublink.LockName))
	switch {
	case err == nil:
		unlock()
	case errors.Is(err, errLocked):
		return newCaller(o)
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	return nil, fmt.Errorf("no hub is running with the folder %s: start it with acp-bridge-hub", o.data)
}

// admin is what a device command needs.
type admin interface {
	add(ctx context.Context, d web.Device) (token string, err error)
	remove(ctx context.Context, name string) error
	list(ctx context.Context) ([]web.Device, error)
}

func openAdmin(ctx context.Context, o options) (a admin, done func(), err error) {
	if err := os.MkdirAll(o.data, 0o700); err != nil {
		return nil, nil, err
	}
	name := filepath.Join(o.data, hublink.LockName)
	foreign := checkOwner(o.data)
	if _, err := os.Stat(name); foreign != nil && errors.Is(err, os.ErrNotExist) {
		return nil, nil, foreign
	}
	unlock, err := lock(name)
	if err != nil { // a hub has it
		c, err := newCaller(o)
		return c, func() {}, err
	}
	if foreign != nil {
		unlock()
		return nil, nil, foreign
	}
	var access *web.Access
	closing := func() {}
	if o.nats != "" {
		access, closing, err = openStored(ctx, o)
	} else {
		access, err = openFolder(o)
	}
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return folder{access}, func() { closing(); unlock() }, nil
}

// openFolder opens who may use a hub alone.
func openFolder(o options) (*web.Access, error) {
	token, err := ownerToken(o)
	if err != nil {
		return nil, err
	}
	return web.OpenAccess(filepath.Join(o.data, accessName), token)
}

// openStored opens who may use the hubs of a NATS.
func openStored(ctx context.Context, o options) (access *web.Access, closing func(), err error) {
	store, err := openStore(ctx, o, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	shared, err := accessStore(ctx, store)
	if err == nil {
		access, err = web.OpenStored(ctx, shared)
	}
	if err != nil {
		store.Close()
		return nil, nil, err
	}
	return access, store.Close, nil
}

// runOwner makes the token of a file the owner's, at all hubs of a NATS.
func runOwner(ctx context.Context, o options, out io.Writer) error {
	if o.nats == "" {
		return cli.Misused("owner is for hubs that share a NATS: expected --nats. For a single hub, change its token file and restart it")
	}
	if o.tokenFile == "" {
		return cli.Misused("expected --token-file with the owner's new token")
	}
	token, err := ownerToken(o)
	if err != nil {
		return err
	}
	access, done, err := openStored(ctx, o)
	if err != nil {
		return err
	}
	defer done()
	if err := access.SetOwner(token); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "All hubs now take the token in %s as the owner's; the owner's browsers have to log in again.\nEach hub needs this file before it is restarted.\n", o.tokenFile)
	return err
}

// folder is a hub that does not run: its folder, or what it shares with others.
type folder struct{ access *web.Access }

func (f folder) add(_ context.Context, d web.Device) (string, error) {
	return f.access.Add(d.Name, d.Can, d.Groups...)
}
func (f folder) remove(_ context.Context, name string) error { return f.access.Remove(name) }
func (f folder) list(context.Context) ([]web.Device, error)  { return f.access.List(), nil }

// caller is a hub that runs. It is known by its certificate, whose names are those
// by which others call it, or by its token.
type caller struct {
	address, shown string
	hub            *hublink.Caller
}

// newCaller reads what the hub has said about itself when it was started.
func newCaller(o options) (*caller, error) {
	data, err := os.ReadFile(filepath.Join(o.data, hublink.AddressName))
	if err != nil {
		return nil, fmt.Errorf("the hub has not been started yet: %w", err)
	}
	// Its address, its certificate, what people call it, and where its owner's token is.
	said := append(strings.Split(string(data), "\n"), "", "", "")
	if u, err := url.Parse(said[0]); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" {
		return nil, fmt.Errorf("%s is damaged: expected the hub's address, got %q. The hub writes it anew when it is started again", filepath.Join(o.data, hublink.AddressName), said[0])
	}
	o.tokenFile = cmp.Or(o.tokenFile, said[3])
	token, err := readToken(o)
	if err != nil {
		return nil, err
	}
	known := func() (string, error) { return token, nil }
	return &caller{said[0], cmp.Or(said[2], said[0]), &hublink.Caller{Base: said[0], Token: known, Client: clientFor(said[1], known)}}, nil
}

func (c *caller) add(ctx context.Context, d web.Device) (string, error) {
	var reply struct{ Token string }
	err := c.call(ctx, http.MethodPost, "/devices", map[string]any{"name": d.Name, "can": d.Can, "groups": d.Groups}, &reply)
	return reply.Token, err
}

func (c *caller) remove(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/devices/"+url.PathEscape(name), nil, nil)
}

func (c *caller) list(ctx context.Context) ([]web.Device, error) {
	var reply struct{ Devices []web.Device }
	err := c.call(ctx, http.MethodGet, "/devices", nil, &reply)
	return reply.Devices, err
}

// callTime bounds a request to the hub of this machine.
const callTime = 10 * time.Second

func (c *caller) call(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	defer c.hub.Client.CloseIdleConnections()
	err := c.hub.Call(ctx, method, path, body, into)
	var said hublink.ReplyError
	switch {
	case hublink.Replied(err, http.StatusUnauthorized):
		return fmt.Errorf("the hub at %s does not know this token: it was started with another --token-file, the owner has a new one, or something else listens there", c.address)
	case errors.As(err, &said):
		return fmt.Errorf("the hub says: %w (%d)", said, said.Status)
	case errors.As(err, new(*url.Error)):
		return fmt.Errorf("the hub at %s cannot be reached: %w", c.address, hublink.Reason(err))
	}
	return err
}
