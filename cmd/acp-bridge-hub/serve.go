package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Files of the data folder.
const (
	accessName = "access.json"
	turnsName  = "turns.json"
	storeName  = "jetstream"
)

// serve runs the hub until ctx ends.
func serve(ctx context.Context, o options, errOut io.Writer) error {
	level := slog.LevelWarn
	if o.verbose {
		level = slog.LevelInfo
	}
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: level}))
	if err := os.MkdirAll(o.data, 0o700); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(o.data, hublink.LockName))
	if errors.Is(err, errLocked) {
		return sayFirst(ctx, o, err, errOut)
	}
	if err != nil {
		return err
	}
	defer unlock()
	token, err := ownerToken(o)
	if err != nil {
		return err
	}
	if o.tls {
		if o.tlsCert, o.tlsKey, err = ownCertificate(o.data, time.Now()); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	store, err := openStore(ctx, o, log)
	if err != nil {
		return err
	}
	defer store.Close()
	access, err := openAccess(ctx, o, store, token, log)
	if err != nil {
		return err
	}
	defer access.Close()
	board, err := hub.Open(ctx, store, hub.Options{Keep: o.keep, Logger: log})
	if err != nil {
		return err
	}
	defer board.Close()
	here := siteOf(o, listener.Addr(), log)
	if o.lan {
		if err := here.lan.Switch(true); err != nil {
			return err
		}
	}
	certificate, err := fingerprint(o)
	if err != nil {
		return err
	}
	settings := web.Options{Hosts: here.hosts, Names: machineNames(), Addresses: here.outside, Block: o.block, Version: cli.Version(), Logger: log}
	if u := here.shown(); strings.HasPrefix(u, "https:") {
		settings.Secure, settings.URL = true, u
	}
	if o.tls {
		settings.Fingerprint = colons(certificate)
	}
	if here.lan != nil {
		settings.LAN = here.lan
	}
	server := web.New(board, access, settings)
	if err := server.Abandon(ctx); err != nil {
		return err
	}
	finish, err := startTelling(ctx, o, store, board, server, here.shown(), log)
	if err != nil {
		return err
	}
	defer finish()
	if err := announce(o, here, certificate, access, errOut); err != nil {
		return err
	}
	defer watchTerminals(ctx, o, listener.Addr(), log, errOut)()
	return serveHTTP(ctx, o, listener, here.lan, server, board, log)
}

func openStore(ctx context.Context, o options, log *slog.Logger) (*hubstore.Store, error) {
	return hubstore.Open(ctx, hubstore.Options{
		Dir: filepath.Join(o.data, storeName), URL: o.nats, Creds: o.natsCreds, Replicas: o.replicas, Bucket: o.bucket,
		Report: func(problem string) { log.Warn(problem) },
	})
}

// openAccess opens who may use the hub: in its folder, or where hubs share what
// they have.
func openAccess(ctx context.Context, o options, store *hubstore.Store, token string, log *slog.Logger) (*web.Access, error) {
	if o.nats == "" {
		access, err := web.OpenAccess(filepath.Join(o.data, accessName), token)
		if err == nil && access.Before() != "" {
			log.Warn("the owner's token is another one than before: the owner's logins, login links and notifications have ended. If nobody has changed the token, its file is damaged", "token", tokenPath(o), "before", access.Before())
		}
		return access, err
	}
	shared, err := accessStore(ctx, store)
	if err != nil {
		return nil, err
	}
	access, err := web.OpenShared(ctx, shared, token, log)
	if errors.Is(err, web.ErrOtherOwner) {
		err = fmt.Errorf("%w: copy their token file to %s, or make this one the owner's at all of them with acp-bridge-hub owner", err, tokenPath(o))
	}
	return access, err
}

// accessStore is where hubs share who may use them.
func accessStore(ctx context.Context, store *hubstore.Store) (*hubstore.Store, error) {
	return store.Beside(ctx, "-access", "who may use acp-bridge hubs", 0)
}

// startTelling tells browsers and the addresses of --notify of questions, each at
// its own pace. finish waits for what is on its way.
func startTelling(ctx context.Context, o options, store *hubstore.Store, board *hub.Board, server *web.Server, click string, log *slog.Logger) (finish func(), err error) {
	t, err := openTurn(ctx, store, log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := make(chan struct{})
	var telling sync.WaitGroup
	pushes := browsers{server, o.notifyText, longTime}
	telling.Go(follow(ctx, stop, board, t, pushes))
	telling.Go(pushes.tellLong(ctx, stop, board, t))
	telling.Go(server.KeepTurns(filepath.Join(o.data, turnsName), stop)) // first: nobody is told of them again
	telling.Go(server.PushTurns(ctx, stop, o.notifyText))
	for _, n := range o.notify {
		telling.Go(follow(ctx, stop, board, t, &notifier{notice: n, click: click, text: o.notifyText, log: log}))
	}
	return func() {
		close(stop)
		late := time.AfterFunc(notifyTime, cancel)
		telling.Wait()
		late.Stop()
		cancel()
	}, nil
}

// sayFirst says where the hub is that has the folder already, with a link to it: whoever
// starts a second one wants the first.
func sayFirst(ctx context.Context, o options, locked error, errOut io.Writer) error {
	c, err := newCaller(o)
	if err == nil {
		err = c.call(ctx, http.MethodGet, "/lan", nil, nil)
	}
	if err != nil { // it is just being started, or was started otherwise
		return locked
	}
	fmt.Fprintf(errOut, "The hub is running already, at %s\n", c.address)
	if !o.noLink {
		o.device = web.Owner
		if err := runLogin(ctx, o, errOut, errOut); err != nil {
			return err
		}
	}
	return locked
}

// announce says where the hub is, to people and to the other commands.
func announce(o options, here site, certificate string, access *web.Access, errOut io.Writer) error {
	token, err := filepath.Abs(tokenPath(o))
	if err != nil {
		return err
	}
	at := here.shown()
	if here.lan != nil && here.public == "" { // whoever sits here need not send it over the network
		at = here.address
	}
	said := strings.Join([]string{here.address, certificate, at, token, ""}, "\n")
	if err := web.WriteFile(filepath.Join(o.data, hublink.AddressName), []byte(said)); err != nil {
		return err
	}
	link, phone := "", ""
	if !o.noLink { // it is kept before anything is said: then the hub serves at once
		code, err := access.Code(web.Owner)
		if err != nil {
			return err
		}
		if o.lan {
			if phone, err = access.PhoneCode(); err != nil {
				return err
			}
		}
		link = fmt.Sprintf("To see open questions, open this link (it works once, within 15 minutes):\n  %s\n", loginLink(at, code))
	}
	fmt.Fprintf(errOut, "The hub listens on %s\nacp-bridge-hub %s, commit %s, data in %s\n%s", here.address, cli.Version(), cli.Commit(), o.data, link)
	switch {
	case o.lan:
		own := ""
		if o.tls {
			own = colons(certificate)
		}
		sayPhone(here.outside(), phone, own, errOut)
	case o.tls:
		fmt.Fprintf(errOut, "Its certificate is its own. Its fingerprint (SHA-256):\n%s\n", colons(certificate))
	case o.tlsCert == "" && !loopback(o.listen):
		fmt.Fprintln(errOut, "Others on the network can read what is sent: use --tls, or a tunnel.")
	}
	return nil
}

func loginLink(address, code string) string { return address + "/login?code=" + code }

// tokenPath is the file with the owner's token.
func tokenPath(o options) string {
	return cmp.Or(o.tokenFile, filepath.Join(o.data, hublink.TokenName))
}

// readToken reads the owner's token.
func readToken(o options) (string, error) {
	data, err := os.ReadFile(tokenPath(o))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	return token, hublink.CheckToken(tokenPath(o), token)
}

// ownerToken reads the owner's token, and makes one on first start. A file without
// one is from a start on a full disk.
func ownerToken(o options) (string, error) {
	name := tokenPath(o)
	token, err := readToken(o)
	switch {
	case token != "", err != nil && !errors.Is(err, os.ErrNotExist):
		return token, err
	case err == nil && o.tokenFile != "":
		return "", fmt.Errorf("the owner's token: %s is empty", name)
	}
	token = web.NewToken()
	return token, web.WriteFile(name, []byte(token+"\n"))
}

// lock keeps a second hub from the folder.
func lock(name string) (unlock func(), err error) {
	unlock, err = proc.LockFile(name)
	if errors.Is(err, proc.ErrLocked) {
		err = fmt.Errorf("%w: %s", errLocked, filepath.Dir(name))
	}
	return unlock, err
}

var errLocked = errors.New("a hub with this folder is running")
