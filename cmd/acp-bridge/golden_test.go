package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

var update = flag.Bool("update", false, "rewrite the expected sections of testdata/golden")

const corpus = "../../testdata/golden"

// golden is one case of the corpus. See testdata/golden/README.md.
type golden struct {
	path    string
	archive *txtar.Archive
	changed bool
}

func TestGolden(t *testing.T) {
	t.Parallel()
	n := 0
	require.NoError(t, filepath.WalkDir(corpus, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txtar" {
			return err
		}
		n++
		name, _ := filepath.Rel(corpus, path)
		t.Run(strings.TrimSuffix(filepath.ToSlash(name), ".txtar"), func(t *testing.T) {
			archive := acptest.Must(txtar.ParseFile(path))
			require.NotEmpty(t, bytes.TrimSpace(archive.Comment), "a case begins with prose that says what it shows")
			g := &golden{path: path, archive: archive}
			g.run(t)
			if *update && g.changed {
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
		})
		return nil
	}))
	require.GreaterOrEqual(t, n, 60, "cases in the corpus")
}

func (g *golden) run(t *testing.T) {
	switch {
	case g.has("tool.json"):
		g.render(t)
	case g.has("transcript.jsonl"):
		g.replay(t)
	case g.has("said.json"):
		g.message(t)
	case g.has("written.json"), g.has("cannot.txt"):
		g.translate(t)
	case g.has("error.txt"):
		g.refused(t)
	case g.has("elicitation.json"):
		g.elicit(t)
	case g.has("client.json"):
		g.ask(t)
	default:
		t.Fatal("no section says what to do: tool.json, said.json, error.txt or client.json")
	}
}

func (g *golden) has(name string) bool { return g.index(name) >= 0 }

func (g *golden) index(name string) int {
	for i, f := range g.archive.Files {
		if f.Name == name {
			return i
		}
	}
	return -1
}

func (g *golden) section(t *testing.T, name string) []byte {
	t.Helper()
	i := g.index(name)
	require.GreaterOrEqual(t, i, 0, "section %s is missing", name)
	return g.archive.Files[i].Data
}

// expect compares a section or rewrites it. JSON is indented first, which
// keeps its tokens and their order.
func (g *golden) expect(t *testing.T, name string, got []byte) {
	t.Helper()
	if filepath.Ext(name) == ".json" {
		var b bytes.Buffer
		require.NoError(t, json.Indent(&b, bytes.TrimSpace(got), "", "  "), "%s", got)
		got = b.Bytes()
	}
	got = append(bytes.TrimRight(got, "\n"), '\n')
	if *update {
		if i := g.index(name); i < 0 {
			g.archive.Files = append(g.archive.Files, txtar.File{Name: name, Data: got})
			g.changed = true
		} else if !bytes.Equal(g.archive.Files[i].Data, got) {
			g.archive.Files[i].Data = got
			g.changed = true
		}
		return
	}
	require.Equal(t, string(g.section(t, name)), string(got), name)
}

// flags are the command's flags, from the section of that name.
func (g *golden) flags() []string {
	if i := g.index("flags"); i >= 0 {
		return strings.Fields(string(g.archive.Files[i].Data))
	}
	return nil
}

func (g *golden) file(t *testing.T, section string) string {
	path := filepath.Join(t.TempDir(), section)
	require.NoError(t, os.WriteFile(path, g.section(t, section), 0o644))
	return path
}

// execute runs the command in this process.
func execute(t *testing.T, stdin []byte, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut output
	code = run(context.Background(), args, bytes.NewReader(stdin), &out, &errOut)
	return code, out.String(), errOut.String()
}

// refused is a call, or replies, that the command does not take.
func (g *golden) refused(t *testing.T) {
	args := append([]string{"convert"}, g.flags()...)
	if g.has("client.json") {
		args = append(args, "--reply", g.file(t, "client.json"))
	}
	code, stdout, stderr := execute(t, g.section(t, "call.json"), args...)
	require.Equal(t, exitUsage, code)
	require.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
	g.expect(t, "error.txt", []byte(stderr))
	if g.has("result.json") {
		g.expect(t, "result.json", []byte(stdout))
	} else {
		require.Empty(t, stdout)
	}
}

// translate is a call that is written as Claude Code's.
func (g *golden) translate(t *testing.T) {
	args := append([]string{"convert"}, g.flags()...)
	code, stdout, stderr := execute(t, g.section(t, "call.json"), args...)
	if g.has("cannot.txt") {
		require.Equal(t, exitFailed, code)
		require.Empty(t, stdout)
		g.expect(t, "cannot.txt", []byte(stderr))
		return
	}
	require.Equal(t, exitOK, code, stderr)
	g.expect(t, "written.json", []byte(stdout))
	if stderr != "" || g.has("lost.txt") {
		g.expect(t, "lost.txt", []byte(stderr))
	}
}

// ask runs a whole question call twice: over a real ACP connection, where all
// requests and updates are recorded, and through the command.
func (g *golden) ask(t *testing.T) {
	flags, call := g.flags(), g.section(t, "call.json")
	opts := parseGoldenFlags(t, flags)
	req := acptest.Must(readCall(opts, streams{In: bytes.NewReader(call)}))
	replies := acptest.Must(readReplies("", g.section(t, "client.json"), opts.to == "form"))

	var outcome convert.Outcome
	rec := overACP(t, opts.to == "form", replies, func(a *adapter.Adapter) { outcome, _ = a.Ask(t.Context(), req.Call) })
	g.expect(t, "requests.json", marshalAll(t, rec.requests))
	if g.has("updates.json") {
		g.expect(t, "updates.json", marshalAll(t, rec.updates))
	}
	result := dialect.Encode(req, dialect.Reply{Outcome: outcome}).Body
	name := "result.json"
	if !json.Valid(result) {
		name = "result.txt"
	}
	g.expect(t, name, result)

	args := append([]string{"convert", "--reply", g.file(t, "client.json")}, flags...)
	code, stdout, stderr := execute(t, call, args...)
	require.Equal(t, exitOK, code, stderr)
	require.Equal(t, string(result)+"\n", stdout)

	g.firstRounds(t, call, flags, rec.requests)
}

// elicit asks what an MCP server wants to know.
func (g *golden) elicit(t *testing.T) {
	var e struct {
		Server string
		Params struct {
			Mode, Message, URL, ElicitationID string
			RequestedSchema                   json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(g.section(t, "elicitation.json"), &e))
	p := e.Params
	form := acptest.Must(ask.ServerForm{Server: e.Server, Mode: p.Mode, Message: p.Message, Schema: p.RequestedSchema, URL: p.URL, ElicitationID: p.ElicitationID}.Call())
	form.Session, form.ID = defaultSession, "form-1"
	opts := parseGoldenFlags(t, g.flags())
	replies := acptest.Must(readReplies("", g.section(t, "client.json"), opts.to == "form"))
	var result json.RawMessage
	rec := overACP(t, opts.to == "form", replies, func(a *adapter.Adapter) { result, _ = a.AskForm(t.Context(), form) })
	g.expect(t, "requests.json", marshalAll(t, rec.requests))
	if g.has("updates.json") {
		g.expect(t, "updates.json", marshalAll(t, rec.updates))
	}
	g.expect(t, "result.json", result)
}

// firstRounds checks that convert without replies prints the first request of
// every question that was asked.
func (g *golden) firstRounds(t *testing.T, call []byte, flags []string, requests []json.RawMessage) {
	code, stdout, stderr := execute(t, call, append([]string{"convert"}, flags...)...)
	require.Equal(t, exitOK, code, stderr)
	for line := range strings.Lines(stdout) {
		same := slices.IndexFunc(requests, func(r json.RawMessage) bool {
			return isForm(r) == isForm([]byte(line)) && toolCallOf(t, r) == toolCallOf(t, []byte(line))
		})
		if same >= 0 {
			require.JSONEq(t, line, string(requests[same]))
		}
	}
}

func isForm(request []byte) bool { return bytes.Contains(request, []byte(`"requestedSchema"`)) }

func toolCallOf(t *testing.T, request []byte) string {
	var r struct {
		ToolCallID string `json:"toolCallId"`
		ToolCall   struct {
			ToolCallID string `json:"toolCallId"`
		} `json:"toolCall"`
	}
	require.NoError(t, json.Unmarshal(request, &r))
	return r.ToolCallID + r.ToolCall.ToolCallID
}

func parseGoldenFlags(t *testing.T, args []string) convertOptions {
	o := convertOptions{to: "permission"}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.StringVar(&o.session, "session", "", "")
	fs.StringVar(&o.toolCall, "tool-call", "", "")
	fs.StringVar(&o.dialect, "dialect", "", "")
	fs.StringVar(&o.dialect, "from", "", "")
	fs.StringVar(&o.to, "to", o.to, "")
	require.NoError(t, fs.Parse(args))
	return o
}

func marshalAll(t *testing.T, list []json.RawMessage) []byte {
	if list == nil {
		list = []json.RawMessage{}
	}
	return acptest.Must(json.Marshal(list))
}

// recording is what went over the wire.
type recording struct {
	requests, updates []json.RawMessage
}

// overACP joins the adapter to a scripted client by a real connection.
func overACP(t *testing.T, form bool, replies []json.RawMessage, ask func(*adapter.Adapter)) recording {
	agentIn, clientOut := io.Pipe()
	clientIn, agentOut := io.Pipe()
	client := &wireClient{script: scriptedClient{replies: replies}}
	agentSide := conn.New(agentIn, agentOut, nil, nil)
	clientSide := conn.New(clientIn, clientOut, client, nil)
	open := new(desk.Desk)
	open.Watch(client.script.follow)
	ask(adapter.New(agentSide, &adapter.Options{Forms: form, URLs: form, Desk: open}))
	require.NoError(t, agentSide.Close())
	agentOut.Close() // the client has read everything when it sees the end
	<-clientSide.Done()
	clientOut.Close()
	<-agentSide.Done()
	require.NoError(t, client.script.check())
	return recording{client.requests, client.updates}
}

// wireClient is the client's end: it records and replies by the script.
type wireClient struct {
	script            scriptedClient
	requests, updates []json.RawMessage
}

func (c *wireClient) Request(_ context.Context, _ string, params json.RawMessage) (any, error) {
	c.requests = append(c.requests, params)
	return c.script.next()
}

func (c *wireClient) Notify(_ context.Context, _ string, params json.RawMessage) {
	c.updates = append(c.updates, params)
}

// message is a question asked in the conversation: its text, and what replies
// mean.
func (g *golden) message(t *testing.T) {
	q := acptest.Must(dialect.Decode(g.section(t, "call.json"), "")).Call.Questions[0]
	var picked []int
	if g.has("picked") { // with buttons, before
		for _, number := range strings.Fields(string(g.section(t, "picked"))) {
			picked = append(picked, acptest.Must(strconv.Atoi(number))-1)
		}
	}
	g.expect(t, "message.txt", []byte(ask.Message(q, picked)))
	var cases []saidCase
	require.NoError(t, json.Unmarshal(g.section(t, "said.json"), &cases))
	for i := range cases {
		cases[i].Means = meaning(q, q.ReadReply(cases[i].Reply))
	}
	g.expect(t, "said.json", clean.JSON(cases))
}

type saidCase struct {
	Reply string         `json:"reply"`
	Means map[string]any `json:"means"`
}

func meaning(q convert.Question, s convert.Meaning) map[string]any {
	switch {
	case s.Cancel:
		return map[string]any{"cancel": true}
	case s.Unclear != "":
		return map[string]any{"askAgain": s.Unclear}
	case len(s.Picks) > 0:
		var labels []string
		for _, i := range s.Picks {
			labels = append(labels, q.Options[i].Label)
		}
		if s.Text != "" {
			return map[string]any{"picks": labels, "text": s.Text}
		}
		return map[string]any{"picks": labels}
	}
	return map[string]any{"text": s.Text}
}

// render is how a tool call is drawn. Results of tools, which the command does
// not read, are checked by the tests of display.
func (g *golden) render(t *testing.T) {
	cwd := "/src/app"
	if g.has("cwd") {
		cwd = strings.TrimSpace(string(g.section(t, "cwd")))
	}
	code, stdout, stderr := execute(t, g.section(t, "tool.json"), "render", "--cwd", cwd)
	require.Equal(t, exitOK, code, stderr)
	require.JSONEq(t, string(g.section(t, "display.json")), stdout)
}
