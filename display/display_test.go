package display_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func ExampleTool_Info() {
	info := display.Tool{
		Name:  "Read",
		Input: json.RawMessage(`{"file_path":"/src/app/main.go","offset":10,"limit":20}`),
	}.Info("/src/app")
	fmt.Println(info.Title)
	fmt.Println(info.Kind)
	fmt.Println(info.Locations[0].Path, *info.Locations[0].Line)
	// Output:
	// Read main.go (10 - 29)
	// read
	// /src/app/main.go 10
}

func ExampleTool_Ended() {
	tool := display.Tool{Name: "Bash", Input: json.RawMessage(`{"command":"false"}`)}
	u := tool.Ended(display.Result{Content: json.RawMessage(`"Exit code 1"`), IsError: true}, "/src/app")
	fmt.Println(u.Status)
	fmt.Println(u.Content[0].Content.Content.Text.Text)
	// Output:
	// failed
	// ```console
	// Exit code 1
	// ```
}

// The limits of a title, in graphemes, and of a text, in bytes.
const maxTitle, maxText = 120, 20_000

// allTools are the names of the table, and some that are not in it.
var allTools = []string{
	"Agent", "Task", "Bash", "PowerShell", "BashOutput", "KillShell", "KillBash", "TaskOutput", "TaskStop",
	"Read", "NotebookRead", "Write", "Edit", "MultiEdit", "NotebookEdit", "Glob", "Grep", "LS",
	"WebFetch", "WebSearch", "TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet",
	"EnterPlanMode", "ExitPlanMode", "Skill", "SlashCommand", "AskUserQuestion",
	"mcp__server__tool", "mcp__", "Unknown", "", "\x1b[31m",
}

// allKeys are the fields that some tool reads, in its input or its result.
var allKeys = []string{
	"description", "prompt", "command", "file_path", "path", "offset", "limit", "pages", "content", "file_text",
	"old_string", "new_string", "edits", "notebook_path", "cell_id", "edit_mode", "new_source", "cell_type",
	"pattern", "-i", "-A", "glob", "type", "output_mode", "head_limit", "url", "query", "allowed_domains",
	"todos", "status", "activeForm", "subject", "taskId", "plan", "skill", "questions", "question", "header",
	"options", "label", "stdout", "stderr", "interrupted", "backgroundTaskId", "persistedOutputPath", "file",
	"numLines", "totalLines", "truncatedByTokenCap", "filePath", "originalFile", "structuredPatch", "newStart",
	"lines", "oldString", "newString", "results", "title", "task", "tasks", "id", "text", "source", "data",
	"media_type", "resource", "uri", "error", "message", "success",
}

func TestMissingFieldsGiveNeutralTitles(t *testing.T) {
	want := map[string]string{
		"Agent": "Task", "Task": "Task", "Bash": "Terminal", "PowerShell": "Terminal", "Read": "Read",
		"NotebookRead": "Read notebook", "Write": "Write", "Edit": "Edit", "MultiEdit": "Edit",
		"NotebookEdit": "Edit notebook", "Glob": "Find", "Grep": "grep", "LS": "List", "WebFetch": "Fetch",
		"WebSearch": "Web search", "Skill": "Load skill", "SlashCommand": "Slash command",
		"AskUserQuestion": "Question", "ExitPlanMode": "Ready to code?", "TaskCreate": "Create task", "": "Tool",
	}
	for _, raw := range []string{"", "null", "{}", "[]", `"x"`, "{", `{"command":`, "3",
		`{"command":"x","file_path":"x","path":"x","description":"x","url":"x","query":"x","skill":"x","subject":"x"`} {
		for name, title := range want {
			info := display.Tool{Name: name, Input: json.RawMessage(raw)}.Info("/src/app")
			assert.Equal(t, title, info.Title, "%s %s", name, raw)
			b := acptest.Must(json.Marshal(info))
			assert.Equal(t, fmt.Sprintf(`{"title":%q,"kind":%q,"content":[],"locations":[]}`, title, info.Kind), string(b))
		}
	}
}

func TestPathsInTitles(t *testing.T) {
	for _, tc := range []struct{ file, cwd, title, location string }{
		{"/src/app/a.go", "/src/app", "a.go", "/src/app/a.go"},
		{"/src/app/a.go", "/src/app/", "a.go", "/src/app/a.go"},
		{"/src/apple/a.go", "/src/app", "/src/apple/a.go", "/src/apple/a.go"},
		{"/src/app", "/src/app", ".", "/src/app"},
		{"/etc/hosts", "/", "/etc/hosts", "/etc/hosts"},
		{"/etc/hosts", "", "/etc/hosts", "/etc/hosts"},
		{"a.go", "", "a.go", "a.go"},
		{"a.go", "relative", "a.go", "a.go"},
		{"../b/a.go", "/src/app", "/src/b/a.go", "/src/b/a.go"},
		{"~/.bashrc", "/src/app", "~/.bashrc", "~/.bashrc"},
		{"file:///a", "/src/app", "file:///a", "file:///a"},
		{`C:\app\a.go`, "/src/app", `C:\app\a.go`, `C:\app\a.go`},
		{`C:\app\a.go`, `C:\app`, "a.go", `C:\app\a.go`},
		{`c:/app/a.go`, `C:\App\`, "a.go", `c:/app/a.go`},
		{`C:\apple\a.go`, `C:\app`, `C:\apple\a.go`, `C:\apple\a.go`},
		{`C:\app\..\x`, `C:\app`, `C:\app\..\x`, `C:\app\..\x`},
		{`C:\app`, `C:\app`, ".", `C:\app`},
		{`src\a.go`, `C:\app`, `src\a.go`, `C:\app\src\a.go`},
		{`\\host\share\a`, `C:\app`, `\\host\share\a`, `\\host\share\a`},
		{"/src/app/a\u202eog.txt", "/src/app", "a<U+202E>og.txt", "/src/app/a\u202eog.txt"},
		{"/src/app/a\nb", "/src/app", "a b", "/src/app/a\nb"},
		{"/x/" + strings.Repeat("é", 200), "/src/app", "/" + strings.Repeat("é", 88) + "…", "/x/" + strings.Repeat("é", 200)},
	} {
		raw := acptest.Must(json.Marshal(map[string]string{"path": tc.file}))
		info := display.Tool{Name: "LS", Input: raw}.Info(tc.cwd)
		assert.Equal(t, "List "+tc.title, info.Title)
		require.Len(t, info.Locations, 1)
		assert.Equal(t, tc.location, info.Locations[0].Path)
	}
}

func TestLongPatternKeepsItsCodeSpan(t *testing.T) {
	raw := fmt.Sprintf(`{"path":"/src/app/%s","pattern":"%s"}`, strings.Repeat("dir/", 50), strings.Repeat("**/é", 50))
	title := display.Tool{Name: "Glob", Input: json.RawMessage(raw)}.Info("/src/app").Title
	assert.Equal(t, maxTitle, characters(title))
	assert.Equal(t, 4, strings.Count(title, "`"))
	assert.True(t, strings.HasSuffix(title, "…`"), title)
}

func TestLongTextIsCut(t *testing.T) {
	for name, text := range map[string]string{
		"lines":        strings.Repeat("a line of output\n", 10_000),
		"one line":     strings.Repeat("x", 200_000),
		"flags":        strings.Repeat("🇩🇪", 20_000),
		"accents":      strings.Repeat("e\u0301", 50_000),
		"just so long": "e" + strings.Repeat("\u0301", maxText/2),
		"one grapheme": "e" + strings.Repeat("\u0301", 100_000),
		"backticks":    strings.Repeat("`", 50_000),
	} {
		t.Run(name, func(t *testing.T) {
			raw := acptest.Must(json.Marshal(text))
			u := display.Tool{Name: "Grep"}.Ended(display.Result{Content: raw}, "")
			require.Len(t, u.Content, 1)
			shown := u.Content[0].Content.Content.Text.Text
			fence := len(shown) - len(strings.TrimLeft(shown, "`"))
			require.True(t, utf8.ValidString(shown))
			require.Contains(t, shown, "left out …")
			head, tail, _ := strings.Cut(shown, "\n… ")
			_, tail, _ = strings.Cut(tail, " …\n")
			require.LessOrEqual(t, len(head), maxText/2+fence+len("\n"))
			require.Less(t, len(head)+len(tail)-2*fence, maxText+2_000)
			if name == "flags" {
				require.Zero(t, strings.Count(head, "🇩")-strings.Count(head, "🇪"), "a flag was cut in two")
			}
			if name == "accents" {
				require.True(t, strings.HasPrefix(tail, "e"), "an accent was cut off its letter")
			}
		})
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tool := display.Tool{Name: rapid.SampledFrom(allTools).Draw(t, "name"), Input: object(t, "input")}
		result := display.Result{
			Content:    content(t),
			IsError:    rapid.Bool().Draw(t, "error"),
			Structured: object(t, "structured"),
		}
		cwd := rapid.SampledFrom([]string{"", "/", "/src/app", `C:\app`}).Draw(t, "cwd")
		checkInfo(t, tool.Info(cwd))
		checkUpdate(t, tool, result, cwd)
	})
}

func FuzzInfo(f *testing.F) {
	for _, name := range allTools {
		f.Add(name, []byte(`{"file_path":"a","command":"b","questions":[{"question":"?","options":["x"]}]}`), "/src/app")
	}
	f.Fuzz(func(t *testing.T, name string, raw []byte, cwd string) {
		tool := display.Tool{Name: name, Input: raw}
		checkInfo(t, tool.Info(cwd))
		tool.Plan()
	})
}

func FuzzEnded(f *testing.F) {
	for _, name := range allTools {
		f.Add(name, []byte(`{"file_path":"a.go","command":"b"}`), []byte(`[{"type":"text","text":"1\tx"}]`),
			[]byte(`{"stdout":"x","stderr":"","structuredPatch":[{"newStart":1,"lines":[" a"]}]}`), false)
	}
	f.Fuzz(func(t *testing.T, name string, in, content, structured []byte, isError bool) {
		tool := display.Tool{Name: name, Input: in}
		result := display.Result{Content: content, IsError: isError, Structured: structured}
		checkUpdate(t, tool, result, "/src/app")
		var tasks display.Tasks
		tasks.Apply(tool, result)
		require.NotNil(t, tasks.Plan())
	})
}

// checkInfo states what holds for every call.
func checkInfo(t require.TestingT, info display.Info) {
	require.NotEmpty(t, info.Title)
	require.LessOrEqual(t, characters(info.Title), maxTitle)
	require.Equal(t, strings.TrimSpace(info.Title), info.Title)
	require.NotContains(t, info.Title, "\n")
	checkText(t, info.Title)
	require.NotEmpty(t, info.Kind)
	require.NotNil(t, info.Content)
	require.NotNil(t, info.Locations)
	checkContent(t, info.Content)
	acptest.Must(json.Marshal(info))
}

func checkUpdate(t require.TestingT, tool display.Tool, r display.Result, cwd string) {
	u := tool.Ended(r, cwd)
	if r.IsError {
		require.Equal(t, acp.ToolCallStatusFailed, u.Status)
	}
	require.Contains(t, []acp.ToolCallStatus{acp.ToolCallStatusCompleted, acp.ToolCallStatusFailed}, u.Status)
	require.True(t, u.Content == nil || len(u.Content) > 0, "no content is nil content")
	checkContent(t, u.Content)
	for _, l := range u.Locations {
		require.NotEmpty(t, l.Path)
		require.Positive(t, *l.Line)
	}
	acptest.Must(json.Marshal(u))
}

func checkContent(t require.TestingT, content []acp.ToolCallContent) {
	for _, c := range content {
		require.NoError(t, c.Validate())
		if c.Content != nil && c.Content.Content.Text != nil {
			text := c.Content.Content.Text.Text
			require.NotEmpty(t, strings.TrimSpace(text))
			checkText(t, text)
		}
	}
}

// checkText holds for whatever people read. A diff is not read but applied.
func checkText(t require.TestingT, text string) {
	require.True(t, utf8.ValidString(text))
	require.False(t, strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	}), "%q", text)
}

// object draws an object with fields that tools know and values that they may
// not expect.
func object(t *rapid.T, label string) json.RawMessage {
	return acptest.Must(json.Marshal(rapid.MapOfN(rapid.SampledFrom(allKeys), value(2), 0, 8).Draw(t, label)))
}

func content(t *rapid.T) json.RawMessage {
	var v any = trouble().Draw(t, "content")
	if rapid.Bool().Draw(t, "blocks") {
		kinds := rapid.SampledFrom([]string{"text", "image", "document", "resource", "tool_reference", "new"})
		block := rapid.MapOfN(rapid.SampledFrom(allKeys), value(1), 0, 5)
		var blocks []any
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			b := block.Draw(t, "block")
			b["type"] = kinds.Draw(t, "type")
			blocks = append(blocks, b)
		}
		v = blocks
	}
	return acptest.Must(json.Marshal(v))
}

func value(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		trouble().AsAny(), rapid.IntRange(-3, 50).AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil), rapid.Float64Range(-2, 9).AsAny(),
	}
	if depth > 0 {
		kinds = append(kinds,
			rapid.SliceOfN(value(depth-1), 0, 3).AsAny(),
			rapid.MapOfN(rapid.SampledFrom(allKeys), value(depth-1), 0, 4).AsAny())
	}
	return rapid.OneOf(kinds...)
}

func trouble() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", " ", "\n", "a.go", "/src/app/a.go", "../x", "text", "update", "completed", "async_launched", "true", "12",
		"```", "# x", "\x1b[31mred", "\x1b]0;x\a", "\u202ex", "\u200b", "a\r\nb", "<system-reminder>x</system-reminder>",
		"1\tx\n2\ty", `{"a":1}`, `[{"question":"?"}]`, "<tool_use_error>x</tool_use_error>", "image/png", "#1 [pending] x",
	}))
}

// A result of nothing but brackets must not take the program's stack.
func TestDeepResult(t *testing.T) {
	deep := strings.Repeat("[", 10<<20)
	content := acptest.Must(json.Marshal(deep))
	require.NotEmpty(t, display.Tool{Name: "mcp__x__y"}.Ended(display.Result{Content: content}, "/").Content)
	display.Tool{Name: "Bash"}.Ended(display.Result{Content: json.RawMessage(deep)}, "/")
	display.Tool{Name: "Edit", Input: json.RawMessage(deep)}.Info("/")
}

// characters counts as a person does.
func characters(s string) (n int) {
	for it := graphemes.FromString(s); it.Next(); {
		n++
	}
	return n
}

// A search without a limit is not shown with one.
func TestGrepWithoutALimit(t *testing.T) {
	for limit, want := range map[string]string{"0": `grep "x"`, "-1": `grep "x"`, "1": `grep "x" | head -1`} {
		info := display.Tool{Name: "Grep", Input: json.RawMessage(`{"pattern":"x","head_limit":` + limit + `}`)}.Info("")
		require.Equal(t, want, info.Title)
	}
}
