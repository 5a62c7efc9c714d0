package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

type convertOptions struct {
	session, toolCall, dialect, to, reply string
	file                                  string
}

// Ids that stand in a request when the call has none of its own.
const (
	defaultSession  = "s1"
	defaultToolCall = "toolu_1"
)

func convertCommand(fs *flagSet) runner {
	o := new(convertOptions)
	fs.StringVar(&o.session, "session", "", "session `id` in the requests")
	fs.StringVar(&o.toolCall, "tool-call", "", "tool call `id` in the requests")
	dialectFlag(fs, &o.dialect, "dialect")
	dialectFlag(fs, &o.dialect, "from")
	fs.StringVar(&o.to, "to", "permission", "`target`: permission and form are ACP requests, claude is Claude Code's call")
	fs.StringVar(&o.reply, "reply", "", "`file` with the client's replies")
	fs.Values("to", "permission", "form", "claude")
	return func(ctx context.Context, args []string, s streams) (err error) {
		if o.file, err = fs.ParseFile(args); err != nil {
			return err
		}
		if fs.Given("from") && fs.Given("dialect") {
			return misused("--from and --dialect mean the same: give only one of them")
		}
		return o.run(ctx, s)
	}
}

// dialectFlag is the flag for the dialect of a call, under the names it has.
func dialectFlag(fs *flagSet, p *string, name string) {
	usage := "`dialect` of the call: " + strings.Join(dialect.IDs(), ", ") + " (default: recognised)"
	if name != "dialect" {
		usage = "`dialect` of the call; the same as --dialect"
	}
	fs.StringVar(p, name, "", usage)
	fs.Values(name, dialect.IDs()...)
}

func (o convertOptions) run(ctx context.Context, s streams) error {
	if o.to == "claude" && o.reply != "" {
		return misused("--reply takes what an ACP client replies, and needs --to permission or --to form")
	}
	if o.reply == "-" && (o.file == "" || o.file == "-") {
		return misused("stdin cannot hold both the call and the replies")
	}
	req, err := readCall(o, s)
	switch {
	case err != nil:
		return err
	case o.to == "claude":
		return printClaudeCall(req.Call, s)
	case o.reply != "":
		return convertReplies(ctx, req, o, s)
	}
	return printRequests(req.Call, o.to, s)
}

func readCall(o convertOptions, s streams) (dialect.Request, error) {
	req, err := decodeFile(o.file, o.dialect, s)
	if err != nil {
		return req, err
	}
	req.Call.Session = cmp.Or(o.session, req.Call.Session, defaultSession)
	req.Call.ID = cmp.Or(o.toolCall, req.Call.ID, defaultToolCall)
	return req, nil
}

// decodeFile reads a question call from a file, or from stdin.
func decodeFile(file, name string, s streams) (dialect.Request, error) {
	data, err := readInput(file, "a question call", s)
	if err != nil {
		return dialect.Request{}, err
	}
	req, err := dialect.Decode(data, name)
	if err != nil {
		if result, ok := dialect.Refuse(data, name, err); ok { // the agent's own words for it
			fmt.Fprintf(s.Out, "%s\n", result.Body)
		}
		return req, cli.Usage(locate(file, data, err))
	}
	return req, nil
}

// printRequests prints what a client gets first: one form, or the first round
// of each question.
func printRequests(c convert.Call, to string, s streams) error {
	if to == "form" {
		return printJSON(s, ask.Form(c))
	}
	for q := range c.Questions {
		if err := printJSON(s, ask.New(c, q, ask.Options{}).Request()); err != nil {
			return err
		}
	}
	return nil
}

// printClaudeCall prints the call as Claude Code's, and says what gets lost.
func printClaudeCall(c convert.Call, s streams) error {
	document, lost, err := dialect.ClaudeCall(c)
	if err != nil {
		return err
	}
	for _, what := range lost {
		fmt.Fprintf(s.Err, "acp-bridge convert: %s\n", what)
	}
	_, err = fmt.Fprintf(s.Out, "%s\n", document)
	return err
}

// printJSON prints a line for programs, and indents it for people.
func printJSON(s streams, v any) error {
	text := string(clean.JSON(v))
	if isTerminal(s.Out) {
		text = clean.Indented(text)
	}
	_, err := io.WriteString(s.Out, text+"\n")
	return err
}

// convertReplies asks the call of a client that has its replies written down.
func convertReplies(ctx context.Context, req dialect.Request, o convertOptions, s streams) error {
	data, err := readInput(o.reply, "the replies", s)
	if err != nil {
		return err
	}
	replies, err := readReplies(o.reply, data, o.to == "form")
	if err != nil {
		return err
	}
	client := &scriptedClient{replies: replies}
	open := new(desk.Desk)
	open.Watch(client.follow)
	a := adapter.New(client, &adapter.Options{Forms: o.to == "form", Desk: open})
	outcome, _ := a.Ask(ctx, req.Call)
	if err := client.check(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s\n", dialect.Encode(req, dialect.Reply{Outcome: outcome}).Body)
	return err
}

// readReplies reads an array of replies; for a form the bare reply will do.
func readReplies(name string, data []byte, form bool) ([]json.RawMessage, error) {
	if !json.Valid(data) {
		return nil, usagef("%w: expected a JSON array with one reply per request", notJSON(name, data))
	}
	if form && bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		data = append(append([]byte("["), data...), ']')
	}
	var replies []json.RawMessage
	if json.Unmarshal(data, &replies) != nil || replies == nil {
		return nil, usagef("replies: expected a JSON array with one reply per request, got %s", cmp.Or(kinds[bytes.TrimSpace(data)[0]], "a number"))
	}
	return replies, nil
}

// kinds are what a JSON document is by how it begins, for an error.
var kinds = map[byte]string{'{': "an object", '[': "an array", '"': "a string", 't': "a boolean", 'f': "a boolean", 'n': "null"}
