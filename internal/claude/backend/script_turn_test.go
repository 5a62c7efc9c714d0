package backend_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

var known = map[string]map[string]any{"which": which, "many": many, "licence": ct.Q("Which licence?", "Licence", false, "MIT", "Apache"), "port": ct.Q("Which port?", "Port", false, "80", "8080"), "tests": runTests, "delete": deleteDB, "empty": ct.Q("", "H", false, "a", "b"), "yours": question("Which database?", "DB", false, "PostgreSQL", "SQLite")}

// turn reads "[match=X] STEP ; STEP", where a STEP is BLOCK | BLOCK, or something else that
// the CLI does; "= KIND..." is the turn's result, and behind "after" comes a turn of the
// CLI's own. "( STEP ; STEP )" behind "agent ID TASK" is what a sub-agent does.
func (p *player) turn(a []string) (t ct.Turn) {
	if len(a) > 0 && strings.HasPrefix(a[0], "match=") {
		t.Match, a = a[0][len("match="):], a[1:]
	}
	to := &t.Steps
	for _, step := range split(a, ";") {
		switch {
		case len(step) == 0:
		case step[0] == "=":
			t.Result = p.result(step[1:])
		case step[0] == "after":
			to = &t.After
		default:
			*to = append(*to, p.step(step))
		}
	}
	return t
}

// split cuts words at a separator, but not within ( ).
func split(a []string, at string) (list [][]string) {
	from, deep := 0, 0
	for i, w := range a {
		switch {
		case w == "(":
			deep++
		case w == ")":
			deep--
		case w == at && deep == 0:
			list, from = append(list, a[from:i]), i+1
		}
	}
	return append(list, a[from:])
}

func (p *player) result(a []string) *ct.Result {
	switch a[0] {
	case "api":
		return apiError(acptest.Must(strconv.Atoi(a[1])), a[2], a[3])
	case "auth":
		return apiError(0, "authentication_failed", "Not logged in · Please run /login")
	case "max-turns":
		return &ct.Result{Subtype: "error_max_turns", IsError: true, StopReason: "tool_use", TerminalReason: "max_turns", Errors: []string{"Reached maximum number of turns (1)"}}
	case "stop":
		return &ct.Result{Subtype: "success", StopReason: a[1], TerminalReason: "completed"}
	case "refusal":
		return &ct.Result{Subtype: "success", IsError: true, StopReason: "refusal"}
	case "failed":
		return &ct.Result{Subtype: "error_during_execution", IsError: true, Errors: a[1:]}
	}
	require.Fail(p, "no such result", p.line)
	return nil
}

// apiError is the result of a turn that the API refused.
func apiError(status int, kind, text string) *ct.Result {
	return &ct.Result{Subtype: "success", IsError: true, StopReason: "stop_sequence", TerminalReason: "api_error", Text: text, APIErrorStatus: status, Error: kind}
}

func (p *player) step(a []string) ct.Step {
	switch a[0] {
	case "hang":
		return ct.Hang()
	case "wait":
		return ct.Wait(a[1])
	case "die":
		return ct.Die(acptest.Must(strconv.Atoi(a[1])), a[2:]...)
	case "killed":
		return ct.Step{Do: "die", Signal: 9, Lines: a[1:]}
	case "close-stdout":
		return ct.CloseStdout()
	case "raw":
		return ct.Raw(a[1:]...)
	case "mode":
		return ct.Step{Do: "mode", Name: a[1]}
	case "big":
		return ct.BigLine(10 << 20)
	case "sleep":
		return ct.Step{Do: "sleep", For: acptest.Must(time.ParseDuration(a[1]))}
	case "form":
		return formOf(a[1], a[2])
	case "later": // ID TOOL INPUT, or ID QUESTION: is not waited for; -sub is a sub-agent's
		a, sub := named(a[1:])
		if len(a) == 2 {
			return asksLater(a[0], "AskUserQuestion", object{"questions": []object{known[a[1]]}}, sub != "")
		}
		return asksLater(a[0], a[1], gjson.Parse(a[2]).Value().(object), sub != "")
	}
	var blocks []ct.Block
	for _, b := range split(a, "|") {
		blocks = append(blocks, p.block(b))
	}
	return ct.Message(blocks...)
}

func (p *player) block(a []string) ct.Block {
	switch a[0] {
	case "text":
		return ct.TextBlock(a[1:]...)
	case "think":
		return ct.ThinkingBlock(a[1:]...)
	case "ask": // ID QUESTION...
		var list []map[string]any
		for _, name := range a[2:] {
			require.Contains(p, known, name)
			list = append(list, known[name])
		}
		return ct.Question(a[1], list...)
	case "tool": // ID NAME INPUT OUTPUT
		return ct.Tool(a[1], a[2], json.RawMessage(a[3]), a[4])
	case "needs": // ID NAME INPUT [SUGGESTIONS]: a permission
		var suggestions any
		if len(a) > 4 && a[4] != "" {
			suggestions = json.RawMessage(a[4])
		}
		return ct.AskTool(a[1], a[2], json.RawMessage(a[3]), "", suggestions)
	case "flood":
		return ct.Block{Type: "text", Repeat: floodSize}
	case "failed": // BLOCK: it fails
		b := p.block(a[1:])
		b.Failed, b.Detail = true, nil
		return b
	case "detail": // JSON BLOCK
		b := p.block(a[2:])
		b.Detail = json.RawMessage(a[1])
		return b
	case "command": // ID TASK OUTPUT ( STEP ; STEP )
		return command(a[1], a[2], a[3], p.turn(a[5:len(a)-1]).Steps...)
	case "background":
		return inBackground()
	case "todo":
		return todoWrite(a[1], a[2:]...)
	case "agent": // ID TASK ( STEP ; STEP )
		require.True(p, a[3] == "(" && a[len(a)-1] == ")", p.line)
		return ct.Agent(a[1], a[2], p.turn(slices.Clone(a[4:len(a)-1])).Steps...)
	}
	require.Fail(p, "no such step", p.line)
	return ct.Block{}
}
