package client_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/internal/terminal/client"
)

func object(kv ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	return m
}

func update(s *client.Screen, kind string, kv ...any) {
	m := object(kv...)
	m["sessionUpdate"] = kind
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	s.Update("s", gjson.ParseBytes(b))
}

func message(s *client.Screen, pieces ...string) {
	for _, p := range pieces {
		update(s, "agent_message_chunk", "content", object("type", "text", "text", p))
	}
}

func thought(s *client.Screen, text string) {
	update(s, "agent_thought_chunk", "content", object("type", "text", "text", text))
}

func text(t string) any {
	return object("type", "content", "content", object("type", "text", "text", t))
}

func joined(lines []string) string { return strings.Join(lines, "\n") }

func TestScreenText(t *testing.T) {
	for name, tc := range map[string]struct {
		width        int
		play         func(s *client.Screen)
		lines, below string
	}{
		"a line is finished when it ends": {0,
			func(s *client.Screen) { message(s, "one\ntw", "o") }, "one", "two"},
		"full rows of a long line are finished": {11,
			func(s *client.Screen) { message(s, "alpha bet", "a gamma ", "del") }, "alpha beta", "gamma del"},
		"spaces between pieces stay": {40,
			func(s *client.Screen) { message(s, "a ", "b", " c") }, "", "a b c"},
		"wide characters count twice": {6,
			func(s *client.Screen) { message(s, "データベース") }, "データ", "ベース"},
		"thoughts are marked": {0,
			func(s *client.Screen) { thought(s, "hm\nyes"); message(s, "Yes.\n") }, "· hm\n· yes\n\nYes.", ""},
		"blank lines around a block are one": {0,
			func(s *client.Screen) { thought(s, "hm\n\n"); message(s, "\n\nYes.\n\n\n"); thought(s, "so\n") }, "· hm\n\nYes.\n\n· so", ""},
		"what is no text is named": {0,
			func(s *client.Screen) {
				update(s, "agent_message_chunk", "content", object("type", "image", "mimeType", "image/png", "data", "x"))
			}, "", "[image image/png]"},
		"an escape sequence in pieces": {20,
			func(s *client.Screen) {
				message(s, "a\x1b", "[31mred\x1b[", "0m", " \x1b]0;ti", "tle\x07", "b\r\x08\n")
			}, "ared b", ""},
		"bidi overrides": {0, func(s *client.Screen) { message(s, "abc\u202etxt.exe\n") }, "abctxt.exe", ""},
		"usage, commands and what is unknown": {0,
			func(s *client.Screen) {
				update(s, "usage_update", "used", 1, "size", 2)
				update(s, "available_commands_update", "availableCommands", []any{})
				update(s, "user_message_chunk", "content", object("type", "text", "text", "hi\n"))
				update(s, "something_new")
				s.Update("s", gjson.Parse(`[]`))
			}, "", ""},
		"a mode":                 {0, func(s *client.Screen) { update(s, "current_mode_update", "currentModeId", "pl\x1ban") }, "Mode: pln", ""},
		"the mode that is usual": {0, func(s *client.Screen) { update(s, "current_mode_update", "currentModeId", "default") }, "", ""},
		"back from a mode": {0, func(s *client.Screen) {
			update(s, "current_mode_update", "currentModeId", "plan")
			update(s, "current_mode_update", "currentModeId", "plan")
			update(s, "current_mode_update", "currentModeId", "default")
		}, "Mode: plan\nMode: default", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &client.Screen{Width: tc.width, Live: true}
			tc.play(s)
			require.Equal(t, tc.lines, joined(s.Lines()))
			require.Equal(t, tc.below, joined(s.View()))
		})
	}
}

func TestScreenTools(t *testing.T) {
	s := &client.Screen{Width: 40, Live: true}
	message(s, "I will look.")
	update(s, "tool_call", "toolCallId", "1", "title", "Read \x1b[1ma.go", "status", "pending")
	update(s, "tool_call", "toolCallId", "2", "title", "make", "status", "in_progress")
	require.Equal(t, "I will look.", joined(s.Lines()))
	require.Equal(t, "\n… Read a.go\n… make", joined(s.View()))

	update(s, "tool_call_update", "toolCallId", "2", "status", "in_progress", "content", []any{text("```console\none\ntwo\nthr\x1b[2Jee\n\nfour, and this line is much too long for it\n```")})
	require.Equal(t, "\n… Read a.go\n… make\n  two\n  three\n  four, and this line is much too long …", joined(s.View()))
	update(s, "tool_call_update", "toolCallId", "2", "title", "make", "content", []any{text("what it will do")})
	update(s, "tool_call_update", "toolCallId", "1", "title", "Read b.go")
	require.Equal(t, "\n… Read b.go\n… make", joined(s.View()))
	update(s, "tool_call_update", "toolCallId", "1", "status", "completed", "content", []any{text("```go\none\ntwo\nthree\nfour\nfive\n```")})
	update(s, "tool_call_update", "toolCallId", "2", "status", "failed", "content", []any{text("no rule to make target, and this line is long")})
	require.Equal(t, "\n✓ Read b.go\n  one\n  two\n  three\n  … 2 more lines\n✗ make\n  no rule to make target, and this line…", joined(s.Lines()))
	require.Empty(t, s.View())
	update(s, "tool_call_update", "toolCallId", "1", "status", "failed")
	require.Empty(t, s.Lines(), "a tool call ends once")

	update(s, "tool_call", "toolCallId", "3", "title", "Question")
	s.Hide("s", "3")
	update(s, "tool_call_update", "toolCallId", "3", "status", "completed")
	require.Empty(t, s.Lines())
	update(s, "tool_call", "toolCallId", "4", "title", "sleep")
	s.EndTurn("")
	require.Equal(t, "· sleep (no result)", joined(s.Lines()))
}

func TestScreenDiff(t *testing.T) {
	diff := func(old any, text string) string {
		s := &client.Screen{Live: true}
		update(s, "tool_call", "toolCallId", "1", "title", "Edit", "status", "completed",
			"content", []any{object("type", "diff", "path", "/a.go", "oldText", old, "newText", text)})
		return joined(s.Lines())
	}
	require.Equal(t, "✓ Edit\n  /a.go +1 −1\n  - two\n  + 2␛", diff("one\ntwo\nthree\n", "one\n2\x1b\nthree"))
	require.Equal(t, "✓ Edit\n  /a.go 1 line\n  + x", diff(nil, "x"))
	require.Equal(t, "✓ Edit\n  /a.go +0 −0", diff("x\n", "x"))
	require.Equal(t, "✓ Edit\n  /a.go +9 −0\n  + 1\n  + 2\n  + 3\n  + 4\n  + 5\n  + 6\n  … 3 more lines", diff("", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"))
}

func plan(s *client.Screen, statuses ...string) {
	var entries []any
	for i, st := range statuses {
		entries = append(entries, object("content", "step "+string(rune('a'+i)), "priority", "medium", "status", st))
	}
	update(s, "plan", "entries", entries)
}

func TestScreenPlan(t *testing.T) {
	s := &client.Screen{Live: true}
	plan(s, "completed", "in_progress", "pending")
	require.Empty(t, s.Lines())
	require.Equal(t, "Plan\n  ✓ step a\n  ▸ step b\n  ☐ step c", joined(s.View()))
	plan(s, "completed", "completed", "completed")
	s.EndTurn("")
	require.Equal(t, "Plan\n  ✓ step a\n  ✓ step b\n  ✓ step c", joined(s.Lines()))
	require.Empty(t, s.View())

	long := make([]string, 20)
	for i := range long {
		long[i] = "pending"
		if i < 10 {
			long[i] = "completed"
		}
	}
	plan(s, long...)
	view := s.View()
	require.Len(t, view, 11)
	require.Equal(t, []string{"  … 6 before", "  … 6 more"}, []string{view[1], view[10]})
}

// Without a view what changes is written each time it does.
func TestScreenInLines(t *testing.T) {
	s := &client.Screen{}
	plan(s, "pending", "pending")
	update(s, "tool_call", "toolCallId", "1", "title", "Read a.go", "status", "pending")
	update(s, "tool_call_update", "toolCallId", "1", "status", "in_progress", "content", []any{text("so far")})
	update(s, "tool_call_update", "toolCallId", "1", "status", "completed", "content", []any{})
	plan(s, "completed", "pending")
	plan(s, "completed", "pending")
	s.EndTurn("")
	require.Equal(t, "Plan\n  ☐ step a\n  ☐ step b\n\n… Read a.go\n✓ Read a.go\n\nPlan\n  ✓ step a", joined(s.Lines()))
}

// Whatever comes in whatever pieces, no control character comes out, and no
// line of characters on whose width everybody agrees is wider than the screen.
func TestScreenProperties(t *testing.T) {
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b", "[31m", "\x1b]0;", "\x07", "\u009b", "\n", " ", "word", "データ", "\u202e", "\r", "\t"}))
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(piece).Draw(t, "pieces")
		s := &client.Screen{Width: rapid.IntRange(4, 30).Draw(t, "width"), Live: rapid.Bool().Draw(t, "live")}
		var out []string
		for i, p := range pieces {
			switch i % 5 {
			case 3:
				thought(s, p)
			case 4:
				update(s, "tool_call", "toolCallId", p+"r", "title", p, "status", "in_progress", "content", []any{text(p)})
				update(s, "tool_call", "toolCallId", p, "title", p, "status", "completed", "content", []any{text(p),
					object("type", "diff", "path", p, "oldText", nil, "newText", p)})
			default:
				message(s, p)
			}
			out = append(append(out, s.Lines()...), s.View()...)
		}
		s.Note(joined(pieces))
		s.Say(joined(pieces))
		s.EndTurn("")
		out = append(out, s.Lines()...)
		for _, l := range out {
			plain := true
			for _, r := range l {
				plain = plain && (r < 0x7f || strings.ContainsRune("データ…·✓✗", r))
				if r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u2028' {
					t.Fatalf("%q holds %U", l, r)
				}
			}
			if w := client.Columns(l); plain && w > s.Width {
				t.Fatalf("%q has %d columns of %d", l, w, s.Width)
			}
		}
	})
}

func TestScreenLosesNoWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.StringMatching(`([a-zé語]{1,12}[ \n]{1,2}){0,20}`).Draw(t, "words")
		s := &client.Screen{Width: rapid.IntRange(4, 30).Draw(t, "width"), Live: true}
		var out []string
		for rest := []rune(words); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			message(s, string(rest[:n]))
			rest = rest[n:]
			out = append(out, s.Lines()...)
		}
		s.EndTurn("")
		out = append(out, s.Lines()...)
		squash := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := squash(joined(out)); got != squash(words) {
			t.Fatalf("%q became %q", words, out)
		}
	})
}

// A question that waits for the next prompt stays open until it is answered.
func TestWaitingQuestionStaysOpen(t *testing.T) {
	s := &client.Screen{Width: 60}
	update(s, "tool_call", "toolCallId", "1", "title", "Database", "status", "pending")
	s.EndTurn("1")
	require.NotContains(t, strings.Join(s.Lines(), "\n"), "no result")
	update(s, "tool_call_update", "toolCallId", "1", "status", "completed", "content", []any{text("Which database? → SQLite")})
	require.Contains(t, strings.Join(s.Lines(), "\n"), "Which database? → SQLite")
}

// Each session has its own tool calls, and an id is free again when its tool call has
// ended; unless something else shows it.
func TestScreenToolsWithOneID(t *testing.T) {
	s := &client.Screen{Live: true}
	show := func(session, u string) { s.Update(session, gjson.Parse(u)) }
	show("a", `{"sessionUpdate":"tool_call","toolCallId":"t","title":"ls"}`)
	show("b", `{"sessionUpdate":"tool_call","toolCallId":"t","title":"make"}`)
	require.Equal(t, "… ls\n… make", joined(s.View()))
	show("a", `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`)
	show("a", `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`)
	require.Equal(t, "✓ ls", joined(s.Lines()))
	show("a", `{"sessionUpdate":"tool_call","toolCallId":"t","title":"ls again"}`)
	require.Equal(t, "… make\n… ls again", joined(s.View()))
	s.Hide("a", "t")
	show("a", `{"sessionUpdate":"tool_call","toolCallId":"t","title":"a question"}`)
	require.Equal(t, "… make", joined(s.View()))
	show("a", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"one"}}`)
	show("b", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"two"}}`)
	require.Equal(t, "\none", joined(s.Lines()))
}
