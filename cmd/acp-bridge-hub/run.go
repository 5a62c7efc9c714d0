package main

import (
	"context"
	_ "embed" // for operate
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/cmd/internal/helptext"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// Exit codes, as those of acp-bridge.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

const usage = `acp-bridge-hub keeps the questions of agents until somebody answers them, in a
browser, on a phone, or with a script.

Usage: acp-bridge-hub [FLAGS]                   start the hub
       acp-bridge-hub status [--json]           say how this machine's hub is
       acp-bridge-hub login [--device NAME]     print a link to log in with
       acp-bridge-hub device add NAME [--can WHAT] [--group NAME]…
       acp-bridge-hub device list
       acp-bridge-hub device remove NAME
       acp-bridge-hub owner --token-file FILE   change the owner's token
       acp-bridge-hub help operate              run it for others

Flags:
`

// operate is for whoever runs a hub for others.
//
//go:embed operate.txt
var operate string

// options are the flags of the hub.
type options struct {
	listen, data, tokenFile string
	nats, natsCreds, bucket string
	replicas                int
	hosts                   []string
	tlsCert, tlsKey         string
	publicURL               string
	notify                  []notice
	notifyText              bool
	keep                    time.Duration
	verbose, noLink         bool
	// Of the other commands.
	device, can string
	json        bool
	groups      []string
	args        []string
}

// oneDash is how the standard library writes our flags.
var oneDash = regexp.MustCompile(`(^| )-([a-z][a-z-]+)`)

// usageError is a bad command line: nothing was done.
type usageError struct{ error }

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	o, err := parse(args, out)
	if err == nil {
		switch {
		case len(o.args) == 0:
			err = serve(ctx, o, errOut)
		case strings.Join(o.args, " ") == "help operate":
			_, err = io.WriteString(out, operate)
		case o.args[0] == "status" && len(o.args) == 1:
			err = runStatus(ctx, o, out)
		case o.args[0] == "login" && len(o.args) == 1:
			err = runLogin(ctx, o, out)
		case o.args[0] == "owner" && len(o.args) == 1:
			err = runOwner(ctx, o, out)
		case o.args[0] == "device" && len(o.args) > 1:
			err = runDevice(ctx, o, out)
		default:
			err = usageError{fmt.Errorf("unknown command %q; acp-bridge-hub --help lists them", strings.Join(o.args, " "))}
		}
	}
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	}
	fmt.Fprintf(errOut, "acp-bridge-hub: %s\n", strings.ReplaceAll(err.Error(), "\n", " "))
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

// parse reads flags and words in any order.
func parse(args []string, out io.Writer) (o options, err error) {
	fs := flag.NewFlagSet("acp-bridge-hub", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.listen, "listen", "127.0.0.1:7717", "`address` to listen on")
	fs.StringVar(&o.data, "data", "", "`folder` for questions and credentials (default: the user's state folder)")
	fs.StringVar(&o.tokenFile, "token-file", "", "`file` with the owner's token (default: token in the data folder, made on first start)")
	fs.StringVar(&o.nats, "nats", "", "`URL[,URL…]` of NATS servers with JetStream, which several hubs may share (default: one inside)")
	fs.StringVar(&o.natsCreds, "nats-creds", "", "`file` with credentials for it, as NATS makes them, or one line USER:PASSWORD")
	fs.StringVar(&o.bucket, "bucket", "questions", "`name` of the bucket for questions there; NAME-access has devices and logins")
	fs.IntVar(&o.replicas, "replicas", 1, "how many servers of a NATS cluster keep each question at least, a `number`")
	fs.Func("allow-host", "`name` by which browsers may call the hub; may be repeated", func(v string) error {
		o.hosts = append(o.hosts, v)
		return nil
	})
	fs.StringVar(&o.tlsCert, "tls-cert", "", "`file` with a certificate: serve https")
	fs.StringVar(&o.tlsKey, "tls-key", "", "`file` with its key")
	fs.StringVar(&o.publicURL, "public-url", "", "`URL` by which browsers reach the hub through a proxy; with https, cookies are for https alone")
	fs.Func("notify", "`[GROUP=]URL` that gets a POST for each new question of the group (default: owner), such as an ntfy topic; may be repeated", func(v string) error {
		n, err := parseNotice(v)
		o.notify = append(o.notify, n)
		return err
	})
	fs.BoolVar(&o.notifyText, "notify-text", false, "put the question's text into it")
	fs.DurationVar(&o.keep, "keep", 30*24*time.Hour, "how long settled questions are kept, a `time` such as 720h")
	fs.BoolVar(&o.verbose, "verbose", false, "log every question that is settled")
	fs.BoolVar(&o.noLink, "no-link", false, "print no link that logs a browser in: others may read the log")
	fs.BoolVar(&o.json, "json", false, "with status: as JSON")
	fs.StringVar(&o.device, "device", "owner", "with login: the `name` of the device that logs in")
	fs.StringVar(&o.can, "can", "answer", "with device add: `what` it may do, answer, ask, measure or admin")
	fs.Func("group", "with device add: `name` of a group whose questions it asks, sees and answers (default: owner); may be repeated", func(v string) error {
		o.groups = append(o.groups, v)
		return nil
	})
	for rest := args; ; rest = fs.Args()[1:] {
		if err := fs.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				fmt.Fprint(out, usage)
				for _, f := range helptext.Flags(fs) {
					fmt.Fprintf(out, "  %s\n%s", f.Line, helptext.Indent(helptext.Wrap(f.What, helptext.Width-6), "      "))
				}
				return o, err
			}
			return o, usageError{errors.New(oneDash.ReplaceAllString(err.Error(), "$1--$2"))}
		}
		if fs.NArg() == 0 {
			break
		}
		o.args = append(o.args, fs.Arg(0))
	}
	switch {
	case (o.tlsCert == "") != (o.tlsKey == ""):
		return o, usageError{errors.New("--tls-cert and --tls-key belong together")}
	case o.keep <= 0:
		return o, usageError{errors.New("--keep must be a time such as 720h")}
	}
	if o.publicURL != "" {
		if o.publicURL, err = parsePublicURL(o.publicURL); err != nil {
			return o, usageError{err}
		}
	}
	if o.data == "" {
		if o.data, err = hublink.DataDir(); err != nil {
			return o, usageError{fmt.Errorf("--data is needed: %w", err)}
		}
	}
	return o, nil
}

// parsePublicURL reads the address of a hub behind a proxy. The hub is all of it:
// its page has no other path.
func parsePublicURL(v string) (string, error) {
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return "", fmt.Errorf("--public-url: expected an address such as https://hub.example, got %q", v)
	}
	return u.Scheme + "://" + u.Host, nil
}
