package main

import (
	"context"
	_ "embed" // for operate and load
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// operate is for whoever runs a hub for others.
//
//go:embed operate.txt
var operate string

// program is the hub.
func program() *cli.Program {
	return &cli.Program{
		Name:  "acp-bridge-hub",
		Title: "keep agents' questions until somebody answers them",
		Description: "Agents ask their questions at the hub, and people answer them in a browser, on a phone, or with a script; the first answer counts. " +
			"Without a command, it starts the hub.",
		Lead: `acp-bridge-hub keeps agents' questions until somebody answers them, in a
browser, on a phone, or with a script.
Usage: acp-bridge-hub [FLAGS]                   start the hub
       acp-bridge-hub COMMAND [FLAGS]
`,
		Default: "serve", DefaultFlags: "Flags of the hub",
		Commands: commands(), Topics: func() []cli.Topic { return []cli.Topic{{Name: "operate", Text: operate}, apiTopic()} },
		Variables: []cli.Example{{Line: "XDG_STATE_HOME", What: "where the hub keeps its data if --data is not given (default: ~/.local/state)"}},
		Exits:     "0 done, 1 failed, 2 bad input or bad usage.",
		Version:   cli.Version, Data: hublink.DataDir,
	}
}

func commands() []cli.Command {
	return []cli.Command{{
		Name: "status", Summary: "show the state of this machine's hub",
		About:    "Show the state of this machine's hub: where it listens, whether it is ready, what is open. Exit code: 0 if it is ready, 1 if it is not, or not running.",
		Examples: []cli.Example{{Line: "acp-bridge-hub status"}, {Line: "acp-bridge-hub status --json", What: "for a script"}},
		Make: define(func(o *options, fs *cli.Flags) {
			fs.BoolVar(&o.json, "json", false, "as JSON")
			o.storeFlags(fs)
		}, 0, func(ctx context.Context, o options, s cli.Streams) error { return runStatus(ctx, o, s.Out) }),
	}, {
		Name: "login", Summary: "print a link that logs a browser in",
		About:    "Print a link that logs a browser on this machine in, and, where other machines reach the hub, one for them. It works once, within 15 minutes, and the hub must be running.",
		Examples: []cli.Example{{Line: "acp-bridge-hub login"}, {Line: "acp-bridge-hub login --device anna-phone", What: "for the browser of a device"}},
		Make: define(func(o *options, fs *cli.Flags) {
			fs.StringVar(&o.device, "device", "owner", "`name` of the device that logs in")
			o.storeFlags(fs)
		}, 0, func(ctx context.Context, o options, s cli.Streams) error { return runLogin(ctx, o, s.Out, s.Err) }),
	}, {
		Name: "lan", Args: "on", Other: []string{"off"}, Summary: "let phones on this network in, or keep them out",
		About: "Open a running hub to this machine's own networks, as --lan does, and show a code that adds a phone; or close it to them again, which ends their connections. " +
			"It holds until the hub ends. Nothing that is open is lost.",
		Examples: []cli.Example{{Line: "acp-bridge-hub lan on"}, {Line: "acp-bridge-hub lan off"}},
		Words:    []string{"on", "off"},
		Make:     define((*options).storeFlags, 1, func(ctx context.Context, o options, s cli.Streams) error { return runLAN(ctx, o, s.Out) }),
	}, {
		Name: "device", Args: "add NAME", Other: []string{"list", "remove NAME"}, Summary: "let others use the hub",
		About: "Create a credential for a phone, a script or another machine and print its token; list them; or remove one, which ends its streams and logins at once.",
		Examples: []cli.Example{
			{Line: "acp-bridge-hub device add phone", What: "a token that can only answer"},
			{Line: "acp-bridge-hub device add bot --can ask --group web", What: "one that asks, for a group of people"},
			{Line: "acp-bridge-hub device list"},
		},
		Words: []string{"add", "list", "remove"},
		Make: define(func(o *options, fs *cli.Flags) {
			fs.StringVar(&o.can, "can", "answer", "with add: `what` it may do: answer, ask, hook, measure or admin")
			fs.Values("can", "answer", "ask", "hook", "measure", "admin")
			fs.Func("group", "with add: `name` of a group whose questions it asks, sees and answers (default: owner); may be repeated", func(v string) error {
				o.groups = append(o.groups, v)
				return nil
			})
			o.storeFlags(fs)
		}, 2, func(ctx context.Context, o options, s cli.Streams) error { return runDevice(ctx, o, s.Out, s.Err) }),
	}, {
		Name: "owner", Summary: "change the owner's token at all hubs",
		About:    "Make the token in a file the owner's at all hubs that share a NATS. For a single hub, change its token file and restart it.",
		Examples: []cli.Example{{Line: "acp-bridge-hub owner --token-file owner.token --nats nats://a:4222"}},
		Make: define((*options).storeFlags, 0, func(ctx context.Context, o options, s cli.Streams) error {
			return runOwner(ctx, o, s.Out)
		}),
	}, {
		Name: "serve", Summary: "start the hub; the default without a command",
		About: "Start the hub. It prints where it listens, and a link that logs a browser in. " +
			"To run it for others, see acp-bridge-hub help operate.",
		Examples: []cli.Example{
			{Line: "acp-bridge-hub"},
			{Line: "acp-bridge-hub --lan", What: "with a code that adds a phone"},
			{Line: "acp-bridge-hub --public-url https://hub.example", What: "behind a proxy"},
		},
		Make: define((*options).serverFlags, 0, func(ctx context.Context, o options, s cli.Streams) error { return serve(ctx, o, s.Err) }),
	}}
}

// define makes a command of its flags and of what runs with them; it takes at
// most so many words.
func define(flags func(*options, *cli.Flags), words int, run func(context.Context, options, cli.Streams) error) func(*cli.Flags) cli.Runner {
	return func(fs *cli.Flags) cli.Runner {
		var o options
		flags(&o, fs)
		return func(ctx context.Context, args []string, s cli.Streams) (err error) {
			if o.args, err = fs.ParseWords(args); err != nil {
				return err
			}
			if len(o.args) > words {
				return cli.Misused("unexpected argument %q", o.args[words])
			}
			if err := o.check(); err != nil {
				return err
			}
			return run(ctx, o, s)
		}
	}
}

// options are the flags of the hub.
type options struct {
	listen, data, tokenFile string
	nats, natsCreds, bucket string
	replicas                int
	hosts                   []string
	tlsCert, tlsKey         string
	lan, tls                bool
	publicURL               string
	notify                  []notice
	notifyText              bool
	keep                    time.Duration
	block                   time.Duration // see [web.Options]
	verbose, noLink         bool
	// Of the other commands.
	device, can string
	json        bool
	groups      []string
	args        []string
}

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	return program().Run(ctx, args, cli.Streams{Out: out, Err: errOut})
}

// storeFlags say where a hub keeps what it has.
func (o *options) storeFlags(fs *cli.Flags) {
	fs.StringVar(&o.data, "data", "", "`folder` for questions and credentials (default: the user's state folder)")
	fs.StringVar(&o.tokenFile, "token-file", "", "`file` with the owner's token (default: token in the data folder, made on first start)")
	fs.StringVar(&o.nats, "nats", "", "`URL[,URL…]` of NATS servers with JetStream, which several hubs can share (default: an embedded one)")
	fs.StringVar(&o.natsCreds, "nats-creds", "", "`file` with credentials for it: a NATS credentials file, or one line USER:PASSWORD")
	fs.StringVar(&o.bucket, "bucket", "questions", "`name` of the bucket for questions there; NAME-access holds devices and logins")
	fs.IntVar(&o.replicas, "replicas", 1, "minimum `number` of servers in a NATS cluster that keep each question")
}

func (o *options) serverFlags(fs *cli.Flags) {
	o.storeFlags(fs)
	fs.StringVar(&o.listen, "listen", "127.0.0.1:7717", "`address` to listen on")
	fs.BoolVar(&o.lan, "lan", false, "listen for the phones of this machine's own networks, too, and show a code that adds one")
	fs.BoolVar(&o.tls, "tls", false, "serve https with a certificate of the hub's own, and show its fingerprint")
	fs.Func("allow-host", "`name` by which browsers may call the hub; may be repeated", func(v string) error {
		o.hosts = append(o.hosts, v)
		return nil
	})
	fs.StringVar(&o.tlsCert, "tls-cert", "", "`file` with a certificate: serve https")
	fs.StringVar(&o.tlsKey, "tls-key", "", "`file` with its key")
	fs.StringVar(&o.publicURL, "public-url", "", "`URL` by which browsers reach the hub through a proxy; with https, cookies are sent over https only")
	fs.Func("notify", "`[GROUP=]URL` that gets a POST for each new question of the group (default: owner), such as an ntfy topic; may be repeated", func(v string) error {
		n, err := parseNotice(v)
		o.notify = append(o.notify, n)
		return err
	})
	fs.BoolVar(&o.notifyText, "notify-text", false, "put the question's text into notifications")
	fs.DurationVar(&o.keep, "keep", 30*24*time.Hour, "how long to keep settled questions, a `time` such as 720h; unfetched answers stay at least a day")
	fs.DurationVar(&o.block, "hold", web.BlockTime, "how long a hook may keep a terminal waiting unless you are away, a `time` such as 5s")
	fs.BoolVar(&o.verbose, "verbose", false, "log every question that is settled")
	fs.BoolVar(&o.noLink, "no-link", false, "do not print a login link: for when others can read the log")
}

// check reads what flags say together.
func (o *options) check() (err error) {
	if host, port, err := net.SplitHostPort(o.listen); o.lan && err == nil && (host == "" || host == "0.0.0.0" || host == "::") {
		o.listen = net.JoinHostPort("127.0.0.1", port) // and at the addresses of its networks
	}
	switch {
	case (o.tlsCert == "") != (o.tlsKey == ""):
		return cli.Misused("--tls-cert and --tls-key belong together")
	case o.tls && o.tlsCert != "":
		return cli.Misused("--tls makes a certificate: expected no --tls-cert beside it")
	case o.lan && !loopback(o.listen):
		return cli.Misused("--listen %s says at which address others reach the hub: leave --lan out, or say only the port, as in --lan --listen 0.0.0.0:PORT", o.listen)
	case o.keep < 0 || o.listen != "" && o.keep == 0:
		return cli.Misused("--keep must be a time such as 720h")
	}
	if o.publicURL != "" {
		if o.publicURL, err = parsePublicURL(o.publicURL); err != nil {
			return cli.Usage(err)
		}
	}
	if o.data == "" {
		if o.data, err = hublink.DataDir(); err != nil {
			return cli.Usagef("--data is needed: %w", err)
		}
	}
	return nil
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
