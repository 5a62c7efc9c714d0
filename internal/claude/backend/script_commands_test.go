package backend_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// commands are those of a script. In brackets is what may be left out; OP is a check.
var commands map[string]func(p *player, a []string)

func init() { // they play commands themselves
	commands = map[string]func(p *player, a []string){
		// Before the agent is started: how, what the CLI does, what a transcript holds.
		"opts": func(p *player, a []string) {
			for _, o := range a {
				name, value, _ := strings.Cut(o, "=")
				p.option(name, value)
			}
		},
		"cli":         func(p *player, a []string) { require.NoError(p, json.Unmarshal([]byte(a[0]), &p.script)) },
		"starts-with": func(p *player, a []string) { p.script.Start = p.turn(a).Steps },
		"opened-with": func(p *player, a []string) { p.script.Opened = p.turn(a).Steps },
		"turn":        func(p *player, a []string) { p.script.Turns = append(p.script.Turns, p.turn(a)) },
		"turn-of":     func(p *player, a []string) { p.script.Turns = append(p.script.Turns, p.turn(acptest.Words(p.T, a[0]))) },
		"saved": func(p *player, a []string) {
			for _, line := range slices.DeleteFunc(a, func(s string) bool { return s == "" }) {
				known := map[string]string{"prompt": promptLine, "ask": askLine, "second": secondLine, "rejected": rejectedLine, "lost": lostLine}[line]
				p.saved = append(p.saved, map[bool]string{true: line, false: known}[known == ""])
			}
		},
		"long": func(p *player, a []string) {
			p.vars["long"] = strings.Repeat("x", acptest.Must(strconv.Atoi(a[0])))
		},
		"later": func(p *player, a []string) { p.clock.advance(acptest.Must(time.ParseDuration(a[0]))) },
		"do-for": func(p *player, a []string) { // VALUE OF COMMANDS
			if a[0] == a[1] {
				p.play(strings.Split(a[2], " ;; "))
			}
		},
		"known-session":   func(p *player, a []string) { p.known = true },
		"remember-pid":    func(p *player, a []string) { p.vars["pid"] = strconv.Itoa(p.started("last").Pid) },
		"remembered-gone": func(p *player, a []string) { requireGone(p, acptest.Must(strconv.Atoi(p.vars["pid"]))) },
		"states":          func(p *player, a []string) { require.Equal(p, a, append([]string{}, p.wire.states()...), p.line) },
		"completed": func(p *player, a []string) {
			if len(a) == 0 {
				require.Empty(p, p.e.Completed)
				return
			}
			require.Equal(p, a[0], acptest.Next(p, p.e.Completed).Get("elicitationId").Str)
		},
		"let":   func(p *player, a []string) { p.vars[a[0]] = a[1] },
		"write": func(p *player, a []string) { p.write(a[0], a[1]) },

		// The editor: "init CAPS [NAME]", "open [META]", "reopen METHOD [CAPS [NAME]]" in a new
		// agent, "call METHOD PARAMS", "refused METHOD PARAMS TEXT [CODE]".
		"init": func(p *player, a []string) { p.initialize(strings.Join(a[1:], ""), a[0]) },
		"open": func(p *player, a []string) { p.new(strings.Join(append(a, "{}")[:1], "")) },
		"reopen": func(p *player, a []string) {
			p.start()
			a = append(a, "{}")
			p.initialize(strings.Join(a[min(2, len(a)-1):len(a)-1], ""), a[1])
			p.vars["s"] = reopened
			commands["load"](p, a)
		},
		"load": func(p *player, a []string) {
			p.reply = p.e.Call("session/"+a[0], fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, p.vars["s"], p.vars["dir"]))
		},
		"call": func(p *player, a []string) {
			if p.start(); !p.shaken {
				p.initialize("", `{}`)
			}
			p.reply = p.e.Call(a[0], a[1])
		},
		"refused": func(p *player, a []string) {
			if p.start(); !p.shaken {
				p.initialize("", `{}`)
			}
			_, err := p.e.Try(a[0], a[1])
			require.ErrorContains(p, err, a[2], p.line)
			p.vars["error"] = err.Error()
			if len(a) > 3 {
				var re *acp.RequestError
				require.ErrorAs(p, err, &re)
				require.Equal(p, a[3], strconv.Itoa(re.Code))
			}
		},
		"mode": func(p *player, a []string) {
			p.e.Call("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":%q}`, p.open(), a[0]))
		},
		"set": func(p *player, a []string) {
			p.reply = p.e.Call("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%q}`, p.open(), a[0], a[1]))
		},
		"cancel": func(p *player, a []string) { p.e.Cancel(append(a, p.open())[0]) },
		"close":  func(p *player, a []string) { p.e.Call("session/close", fmt.Sprintf(`{"sessionId":%q}`, p.open())) },
		"leave":  func(p *player, a []string) { p.e.Leave(); p.e, p.vars["s"] = nil, "" },
		"kept":   func(p *player, a []string) { p.vars[a[0]] = p.vars["s"] },
		"use":    func(p *player, a []string) { p.vars["s"] = p.vars[a[0]] },

		// Prompts: "prompt [-NAME] TEXT" runs until "ends [-NAME] REASON" or "fails [-NAME]
		// TEXT [CODE]"; "says TEXT [REASON]" waits. "parked ID" is of the one that ended last.
		"prompt": func(p *player, a []string) { a, name := named(a); p.turns[name] = p.e4().Prompt(p.open(), a[0]) },
		"blocks": func(p *player, a []string) { a, name := named(a); p.turns[name] = p.e4().PromptBlocks(p.open(), a[0]) },
		"ends":   func(p *player, a []string) { a, name := named(a); p.ended(name).Ends(acp.StopReason(a[0])) },
		"fails": func(p *player, a []string) {
			a, name := named(a)
			if err := p.ended(name).Fails(a[0]); len(a) > 1 {
				require.Equal(p, a[1], strconv.Itoa(err.Code), p.line)
			}
		},
		"fails-without": func(p *player, a []string) { require.NotContains(p, p.last.Err.Error(), a[0]) },
		"done":          func(p *player, a []string) { _, name := named(a); <-p.ended(name).Done },
		"runs":          func(p *player, a []string) { _, name := named(a); p.turns[name].Runs() },
		"says": func(p *player, a []string) {
			p.turns[""] = p.e4().Prompt(p.open(), a[0])
			p.ended("").Ends(acp.StopReason(append(a, "end_turn")[1]))
		},
		"parked": func(p *player, a []string) {
			p.check(p.last.Resp.Get("_meta.acp-bridge.waitingFor"), []string{"=", a[0]})
		},
		"response": func(p *player, a []string) { p.check(p.last.Resp.Get(a[0]), a[1:]) },
		"waits":    func(p *player, a []string) { require.Equal(p, a[0], p.e.waits()) },

		// Requests of the agent, and what the user does with the last.
		"asked": func(p *player, a []string) {
			p.r = p.e.Next()
			for _, v := range a {
				require.Contains(p, p.r.Raw, v, p.line)
			}
		},
		// "either TEXT COMMANDS COMMANDS" is for a request that holds a text, or does not.
		"either": func(p *player, a []string) {
			p.r = p.e.Next()
			p.play(strings.Split(a[map[bool]int{true: 1, false: 2}[strings.Contains(p.r.Raw, a[0])]], " ;; "))
		},
		// Who watches the desk: "receipt OP V" is the next answer that was used, or not;
		// "turn-ended NAME OP V" the next turn, and turn-same the same one.
		"receipt":  func(p *player, a []string) { p.check(acptest.Whole(acptest.Next(p, p.receipts)), a) },
		"receipts": func(p *player, a []string) { require.Equal(p, a[0], strconv.Itoa(len(p.receipts))) },
		"turn-ended": func(p *player, a []string) {
			p.over = acptest.Next(p, p.overs)
			commands["turn-same"](p, a)
		},
		"turn-same": func(p *player, a []string) {
			o := p.over
			values := map[string]string{"session": o.Session, "dir": o.Dir, "agent": o.Agent, "working": strconv.FormatBool(o.Working), "said": o.About.Told().Said}
			if o.Err != nil {
				values["error"] = o.Err.Error()
			}
			p.check(acptest.Whole(values[a[0]]), a[1:])
		},
		"turns-ended": func(p *player, a []string) { require.Equal(p, a[0], strconv.Itoa(len(p.overs))) },
		"open-at-desk": func(p *player, a []string) {
			require.Eventually(p, func() bool { return strconv.Itoa(len(p.opts.Desk.List())) == a[0] }, acptest.Patience, time.Millisecond)
		},
		"desk": func(p *player, a []string) {
			list := p.opts.Desk.List()
			require.Len(p, list, 1)
			require.Equal(p, a[0], list[0].Call.ID)
			values := map[string]string{"agent": list[0].Agent, "dir": list[0].Dir, "session": list[0].Call.Session, "task": list[0].Call.SubAgent.Task, "again": fmt.Sprint(list[0].Again)}
			p.check(acptest.Whole(values[a[1]]), a[2:])
		},
		"method":  func(p *player, a []string) { require.Equal(p, a[0], p.r.Method) },
		"options": func(p *player, a []string) { p.check(acptest.Whole(p.r.Options()), a) },
		"r":       func(p *player, a []string) { p.check(p.r.Get(a[0]), a[1:]) },
		"picks":   func(p *player, a []string) { p.r.Selects(a[0]) },
		"types":   func(p *player, a []string) { p.r.Types(a[0]) },
		"cancels": func(p *player, a []string) { p.r.Cancels() },
		"answers": func(p *player, a []string) { p.r.Answer <- gjson.Parse(a[0]).Value() },
		"errs": func(p *player, a []string) {
			code := acptest.Must(strconv.Atoi(append(a, "-1")[1]))
			p.r.Answer <- &acp.RequestError{Code: code, Message: a[0]}
		},
		"withdrawn": func(p *player, a []string) { <-p.r.Withdrawn },
		"quiet":     func(p *player, a []string) { require.Empty(p, p.e.Requests, "one request at a time") },
		// "settle ID LABEL [TEXT]" answers from elsewhere: a pick, and words for the next one.
		"settle": func(p *player, a []string) {
			list := []convert.Answer{{Selected: a[1:2]}}
			for _, words := range a[2:] {
				list = append(list, convert.Answer{Text: words})
			}
			open := p.opts.Desk.List()
			i := slices.IndexFunc(open, func(e desk.Entry) bool { return e.Call.ID == a[0] })
			require.NoError(p, p.opts.Desk.Answer(open[i].Name, list, "phone"))
		},

		// What the editor got.
		"error": func(p *player, a []string) { p.check(acptest.Whole(p.vars["error"]), a) },
		"reply": func(p *player, a []string) { p.check(p.reply.Get(a[0]), a[1:]) },
		"said":  func(p *player, a []string) { p.check(acptest.Whole(p.e.Said(p.vars["s"])), a) },
		// "mark" where the conversation is; "new" is what was said from there on.
		"mark": func(p *player, a []string) { p.vars["mark"] = p.e.Said(p.open()) },
		"new": func(p *player, a []string) {
			p.check(acptest.Whole(strings.TrimPrefix(p.e.Said(p.vars["s"]), p.vars["mark"])), a)
		},
		// "in-order A B": B is said behind A; "not-thrice A": A is not said three times.
		"in-order": func(p *player, a []string) {
			_, rest, ok := strings.Cut(p.e.Said(p.vars["s"]), a[0])
			require.True(p, ok && strings.Contains(rest, a[1]), "%s: %s", p.line, p.e.Said(p.vars["s"]))
		},
		"not-thrice": func(p *player, a []string) { require.Less(p, strings.Count(p.e.Said(p.vars["s"]), a[0]), 3) },
		"length":     func(p *player, a []string) { require.Equal(p, a[1], strconv.Itoa(len([]rune(p.reply.Get(a[0]).Str)))) },
		"one-of":     func(p *player, a []string) { require.Contains(p, a[1:], p.reply.Get(a[0]).Str) },
		"thought":    func(p *player, a []string) { p.check(acptest.Whole(p.e.Text(p.vars["s"], "agent_thought_chunk")), a) },
		"echoed":     func(p *player, a []string) { p.check(acptest.Whole(p.e.Text(p.vars["s"], "user_message_chunk")), a) },
		"tool":       func(p *player, a []string) { p.check(acptest.Whole(p.e.Tool(p.vars["s"], a[0])[a[1]]), a[2:]) },
		"sees":       func(p *player, a []string) { p.e.saying(p.open(), a[0]) },
		"await": func(p *player, a []string) {
			p.e.Await(p.open(), p.line, func(u gjson.Result) bool { return is(u, a) })
		},
		"never": func(p *player, a []string) {
			for _, u := range p.e.Updates(p.vars["s"]) {
				require.False(p, is(u, a), "%s: %s", p.line, u.Raw)
			}
		},
		// "list PATH V..." are all values there, "parts V..." what sub-agents told, "told V..."
		// the states of the login.
		"list": func(p *player, a []string) {
			var got []string
			for _, u := range p.e.Updates(p.vars["s"]) {
				if v := u.Get(a[0]); v.Exists() {
					got = append(got, v.String())
				}
			}
			require.Equal(p, a[1:], append([]string{}, got...), p.line)
		},
		"steps": func(p *player, a []string) { // ID PATH V...: what each update of a tool call has there
			var got []string
			for _, u := range p.e.Updates(p.vars["s"]) {
				if u.Get("toolCallId").Str == a[0] {
					got = append(got, u.Get(a[1]).String())
				}
			}
			require.Equal(p, a[2:], got, p.line)
		},
		"of": func(p *player, a []string) { // ID N PATH V: N updates of a tool call or more, all with that
			n := 0
			for _, u := range p.e.Updates(p.vars["s"]) {
				if u.Get("toolCallId").Str == a[0] {
					n++
					require.Equal(p, a[3], u.Get(a[2]).String(), u.Raw)
				}
			}
			require.GreaterOrEqual(p, n, acptest.Must(strconv.Atoi(a[1])))
		},
		"parts": func(p *player, a []string) { require.Equal(p, a, partLines(p.e, p.vars["s"])) },
		"part": func(p *player, a []string) {
			p.check(acptest.Whole(strings.Join(partLines(p.e, p.vars["s"]), "\n")), a)
		},
		"part-count": func(p *player, a []string) {
			n := strings.Count(strings.Join(partLines(p.e, p.vars["s"]), "\n"), a[0])
			require.Equal(p, a[1], strconv.Itoa(n), p.line)
		},
		"part-states": func(p *player, a []string) { // of the child
			var states []string
			for _, line := range partLines(p.e, p.vars["s"]) {
				if _, state, ok := strings.Cut(line, child+" is "); ok {
					states = append(states, state)
				}
			}
			require.Equal(p, a, states)
		},

		// What the CLI got, and what becomes of it.
		"answer": func(p *player, a []string) { require.JSONEq(p, a[1], answers(p.cli, a[0]), p.line) },
		"got":    func(p *player, a []string) { p.check(gjson.ParseBytes(p.cli.AwaitReply(a[0])).Get(a[1]), a[2:]) },
		"hook": func(p *player, a []string) { // the reply to the callback r1
			var reply gjson.Result
			p.cli.Await("the hook's reply", func(lines []ct.Line) bool {
				return slices.ContainsFunc(lines, func(l ct.Line) bool {
					reply = gjson.GetBytes(l.Raw, "response")
					return reply.Get("request_id").Str == "r1"
				})
			})
			p.check(reply.Get("response").Get(a[0]), a[1:])
		},
		"has": func(p *player, a []string) { p.check(gjson.ParseBytes(p.cli.Reply(a[0])).Get(a[1]), a[2:]) },
		"if-got": func(p *player, a []string) { // it may not have heard it any more
			if reply := p.cli.Reply(a[0]); reply != nil {
				p.check(gjson.ParseBytes(reply).Get(a[1]), a[2:])
			}
		},
		"never-got": func(p *player, a []string) { require.Nil(p, p.cli.Reply(a[0]), p.line) },
		// "before TEXT LAST": the CLI got the one before the last of the other.
		"before": func(p *player, a []string) {
			first := strings.Index(record(p.cli), a[0])
			require.GreaterOrEqual(p, first, 0)
			require.Less(p, first, strings.LastIndex(record(p.cli), a[1]))
		},
		"prompts": func(p *player, a []string) { require.Equal(p, a, append([]string{}, p.cli.Prompts()...), p.line) },
		"asked-the-cli": func(p *player, a []string) {
			p.cli.Await(p.line, func([]ct.Line) bool { return strconv.Itoa(len(p.cli.Prompts())) == a[0] })
		},
		"was-told": func(p *player, a []string) { p.check(acptest.Whole(strings.Join(p.cli.Prompts(), "\n")), a) },
		"control":  func(p *player, a []string) { p.check(gjson.ParseBytes(p.cli.Controls(a[0])[0]).Get(a[1]), a[2:]) },
		"controls": func(p *player, a []string) {
			n, _ := strconv.Atoi(a[1])
			p.cli.Await(p.line, func([]ct.Line) bool { return len(p.cli.Controls(a[0])) >= n })
			require.Len(p, p.cli.Controls(a[0]), n)
		},
		"starts":    func(p *player, a []string) { require.Equal(p, a[0], strconv.Itoa(len(p.cli.Starts())), p.line) },
		"args":      func(p *player, a []string) { p.check(acptest.Whole(strings.Join(p.started(a[0]).Args, " ")), a[1:]) },
		"env":       func(p *player, a []string) { p.check(acptest.Whole(strings.Join(p.started(a[0]).Env, "\n")), a[1:]) },
		"release":   func(p *player, a []string) { p.cli.Release(a[0]) },
		"kill":      func(p *player, a []string) { kill(p, p.started("last").Pid) },
		"interrupt": func(p *player, a []string) { interrupt(p, p.started("last").Pid) },
		"gone":      func(p *player, a []string) { requireGone(p, p.started("last").Pid) },
		"reached":   func(p *player, a []string) { reached(p.e, p.vars["s"], p.cli, p.script.Old, a...) },
		// "becomes" takes the script in the place of the one that runs.
		"becomes":     func(p *player, a []string) { acptest.Must(ct.Install(filepath.Dir(p.cli.Path), p.script)) },
		"kept-script": func(p *player, a []string) { p.first = p.script },
		"old-script":  func(p *player, a []string) { p.script = p.first },
		"anew":        func(p *player, a []string) { p.script = ct.Script{} },
		"logs":        func(p *player, a []string) { p.check(acptest.Whole(p.log.String()), a) },
		"note":        func(p *player, a []string) { require.NoError(p, os.WriteFile(a[0], []byte(a[1]), 0o600)) },
	}
	maps.Copy(commands, liveCommands)
	maps.Copy(commands, meanwhileCommands)
}

// e4 is the editor, with a session.
func (p *player) e4() *editor { p.open(); return p.e }

func named(a []string) (rest []string, name string) {
	if len(a) > 0 && len(a[0]) > 1 && a[0][0] == '-' {
		return a[1:], a[0]
	}
	return a, ""
}

func (p *player) ended(name string) *acptest.Turn {
	require.NotNil(p, p.turns[name], p.line)
	p.last = p.turns[name]
	return p.last
}

// started is how the CLI was started: the first time is 0.
func (p *player) started(which string) ct.Start {
	starts := p.cli.Starts()
	if which == "last" {
		return starts[len(starts)-1]
	}
	n := acptest.Must(strconv.Atoi(which))
	require.Greater(p, len(starts), n)
	return starts[n]
}
