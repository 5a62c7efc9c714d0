package transcript_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// at sets when a session was last written, in minutes after noon.
func at(t testing.TB, path string, minutes int) {
	t.Helper()
	when := noon.Add(time.Duration(minutes) * time.Minute)
	require.NoError(t, os.Chtimes(path, when, when))
}

func list(t testing.TB, opts transcript.Options) []transcript.Info {
	t.Helper()
	page, next := acptest.Must2(transcript.List(t.Context(), opts))
	require.Empty(t, next)
	return page
}

func TestList(t *testing.T) {
	s := newStore(t)
	at(t, s.put("/one", id(1), prompt("/one", "older")), 1)
	at(t, s.put("/one", id(2), prompt("/one", "newer")), 3)
	path := s.put("/two", id(3), prompt("/two", "elsewhere"))
	at(t, path, 2)

	page := list(t, transcript.Options{ConfigDir: s.config})
	require.Equal(t, []string{"newer", "elsewhere", "older"}, titles(page))
	require.Equal(t, id(3), page[1].ID)
	require.Equal(t, "/two", page[1].Cwd)
	require.Equal(t, path, page[1].Path)
	require.True(t, noon.Add(2*time.Minute).Equal(page[1].Updated))

	require.Equal(t, []string{"newer", "older"}, titles(list(t, transcript.Options{ConfigDir: s.config, Cwd: "/one"})))
	require.Empty(t, list(t, transcript.Options{ConfigDir: s.config, Cwd: "/three"}))
	require.Empty(t, list(t, transcript.Options{ConfigDir: t.TempDir()}))

	info, ok := transcript.Stat(path)
	require.True(t, ok)
	require.Equal(t, page[1], info)
}

func titles(page []transcript.Info) []string {
	out := []string{}
	for _, i := range page {
		out = append(out, i.Title)
	}
	return out
}

// TestTitles has one session for each case; want "" means that it is not
// listed.
func TestTitles(t *testing.T) {
	user := func(content string) string {
		return `{"type":"user","uuid":"u","message":{"role":"user","content":` + content + `}}`
	}
	caveat := `{"type":"user","uuid":"c","isMeta":true,"message":{"role":"user","content":"<local-command-caveat>x</local-command-caveat>"}}`
	command := func(name string) string {
		return user(`"<command-name>/` + name + `</command-name>\n  <command-message>x</command-message>\n  <command-args></command-args>"`)
	}
	filler := `{"type":"api-request","x":"` + strings.Repeat("x", 100<<10) + `"}`
	for name, c := range map[string]struct {
		want  string
		lines []string
	}{
		"first prompt":           {"first", []string{user(`"first"`), user(`"second"`)}},
		"blocks":                 {"first", []string{user(`[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"first"}]`)}},
		"of avante":              {"hi", []string{user(`[{"type":"text","text":"@/src/file.txt"},{"type":"text","text":"<previous_user_message>hi</previous_user_message>"},{"type":"text","text":"<system_context>x</system_context>"}]`)}},
		"a link alone":           {"@/src/file.txt", []string{user(`[{"type":"text","text":"@/src/file.txt"}]`)}},
		"cleaned":                {"red two lines", []string{user(`"\u001b[31mred\u001b[0m\n two\tlines\u202e"`)}},
		"long":                   {strings.Repeat("a", 119) + "…", []string{user(`"` + strings.Repeat("a", 500) + `"`)}},
		"longer than the window": {strings.Repeat("a", 119) + "…", []string{user(`"` + strings.Repeat("a", 300<<10) + `"`)}},
		"a longer block":         {"b " + strings.Repeat("é", 117) + "…", []string{user(`[{"type":"text","text":"b\n` + strings.Repeat(`\u00e9`, 50<<10) + `"}]`)}},
		"custom title":           {"mine", []string{user(`"first"`), `{"type":"ai-title","aiTitle":"made up"}`, `{"type":"custom-title","customTitle":"old"}`, `{"type":"custom-title","customTitle":"mine"}`}},
		"made title":             {"made up", []string{user(`"first"`), `{"type":"ai-title","aiTitle":"made up"}`}},
		"made title at the end":  {"made up", []string{user(`"first"`), filler, `{"type":"ai-title","aiTitle":"made up"}`}},
		"old summary":            {"sum", []string{`{"type":"summary","summary":"sum","leafUuid":"x"}`, user(`"first"`)}},
		"a word about titles":    {"a title: custom-title", []string{user(`"a title: custom-title"`)}},
		"custom command":         {"/greet bob", []string{user(`"<command-message>greet</command-message>\n<command-name>/greet</command-name>\n<command-args>bob</command-args>"`)}},
		"after a local command":  {"first", []string{caveat, command("clear"), user(`"first"`)}},
		"only a local command":   {"", []string{caveat, command("context"), `{"type":"system","subtype":"local_command","uuid":"s","content":"<local-command-stdout>x</local-command-stdout>"}`, `{"type":"last-prompt","leafUuid":"s"}`}},
		"image":                  {"Image", []string{user(`[{"type":"image","source":{}}]`)}},
		"image and text":         {"what is it", []string{user(`[{"type":"image","source":{}},{"type":"text","text":"what is it"}]`)}},
		"behind a large image":   {"what is it", []string{user(`[{"type":"image","source":{"data":"` + strings.Repeat("A", 200<<10) + `"}},{"type":"text","text":"what is it"}]`), `{"type":"last-prompt","lastPrompt":"what is it"}`}},
		"prompt out of reach":    {"last one", []string{filler, user(`"first"`), filler, `{"type":"last-prompt","lastPrompt":"last one"}`}},
		"folded prompt":          {"hurry", []string{`{"type":"attachment","uuid":"q","attachment":{"type":"queued_command","commandMode":"prompt","prompt":[{"type":"text","text":"hurry"}]}}`}},
		"damaged beginning":      {"first", []string{`{"type":"user","uu`, "\x00\x01", user(`"first"`)}},
		"no prompt":              {"", []string{`{"type":"queue-operation"}`, `{"type":"mode","mode":"normal"}`}},
		"summary only":           {"", []string{`{"type":"summary","summary":"sum"}`}},
		"sub-agent":              {"", []string{`{"type":"user","uuid":"u","isSidechain":true,"message":{"content":"do"}}`}},
		"nothing but damage":     {"", []string{`{"type":"user"`, "x"}},
		"interrupted only":       {"", []string{user(`"[Request interrupted by user]"`)}},
		"invisible":              {"Untitled", []string{user(`"\u200b\u202e"`)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			s.put("/one", id(1), c.lines...)
			page := list(t, transcript.Options{ConfigDir: s.config})
			if c.want == "" {
				require.Empty(t, page)
				return
			}
			require.Equal(t, []string{c.want}, titles(page))
		})
	}
}

func TestTitleFile(t *testing.T) {
	s := newStore(t)
	path := s.put("/one", id(1), prompt("/one", "first"), `{"type":"ai-title","aiTitle":"made up"}`)
	side := strings.TrimSuffix(path, ".jsonl")
	require.NoError(t, os.Mkdir(side, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(side, "custom-title.json"), []byte(`{"customTitle":"mine"}`), 0o600))
	require.Equal(t, []string{"mine"}, titles(list(t, transcript.Options{ConfigDir: s.config})))
}

// TestSharedFolder lists sessions of directories whose folder is the same.
func TestSharedFolder(t *testing.T) {
	s := newStore(t)
	s.put("/a.b", id(1), prompt("/a.b", "dot"))
	s.put("/a-b", id(2), prompt("/a-b", "dash"))
	s.put("/a-b", id(3), prompt("/other", "moved in"), `{"type":"relocated","relocatedCwd":"/a-b"}`)
	s.put("/a-b", id(4), `{"type":"user","uuid":"u","message":{"content":"knows not where"}}`)
	for i, n := range []int{1, 2, 3, 4} {
		at(t, filepath.Join(s.config, "projects", "-a-b", id(n)+".jsonl"), i)
	}
	require.Equal(t, []string{"knows not where", "dot"}, titles(list(t, transcript.Options{ConfigDir: s.config, Cwd: "/a.b"})))
	require.Equal(t, []string{"knows not where", "moved in", "dash"}, titles(list(t, transcript.Options{ConfigDir: s.config, Cwd: "/a-b"})))
}

func TestListOfLinkedDirectory(t *testing.T) {
	s := newStore(t)
	dir := acptest.Must(filepath.EvalSymlinks(t.TempDir()))
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	require.NoError(t, os.Mkdir(real, 0o700))
	require.NoError(t, os.Symlink(real, link))
	s.put(link, id(1), prompt(real, "hi"))
	for _, cwd := range []string{real, link, real + "/"} {
		require.Len(t, list(t, transcript.Options{ConfigDir: s.config, Cwd: cwd}), 1)
	}
}

func TestListPassesOver(t *testing.T) {
	s := newStore(t)
	s.put("/one", id(1), prompt("/one", "good"))
	dir := filepath.Join(s.config, "projects", "-one")
	require.NoError(t, os.WriteFile(filepath.Join(dir, id(2)+".jsonl"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent-1.jsonl"), []byte(prompt("/one", "x")), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("x"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, id(3)+".jsonl"), 0o700))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, id(4)+".jsonl")))
	require.NoError(t, os.WriteFile(filepath.Join(s.config, "projects", "file"), []byte("x"), 0o600))
	require.NoError(t, os.Chmod(s.put("/one", id(5), prompt("/one", "secret")), 0))
	page := list(t, transcript.Options{ConfigDir: s.config})
	if os.Getuid() == 0 { // root reads everything
		require.Len(t, page, 2)
		return
	}
	require.Equal(t, []string{"good"}, titles(page))
}

func TestPages(t *testing.T) {
	s := newStore(t)
	for i := range 25 {
		at(t, s.put("/one", id(i), prompt("/one", fmt.Sprint(i))), i/3) // some at the same time
	}
	all := titles(list(t, transcript.Options{ConfigDir: s.config, Limit: 100}))
	require.Len(t, all, 25)

	var paged []string
	opts := transcript.Options{ConfigDir: s.config, Cwd: "/one", Limit: 4}
	for n := 0; ; n++ {
		page, next := acptest.Must2(transcript.List(t.Context(), opts))
		paged = append(paged, titles(page)...)
		if n == 2 { // what comes and goes meanwhile disturbs nothing
			at(t, s.put("/one", id(100), prompt("/one", "new")), 1000)
			require.NoError(t, os.Remove(page[3].Path))
		}
		if opts.Cursor = next; next == "" {
			break
		}
		require.Len(t, page, 4)
	}
	require.Equal(t, all, paged)

	page, next := acptest.Must2(transcript.List(t.Context(), transcript.Options{ConfigDir: s.config, Limit: 25}))
	require.Len(t, page, 25)
	require.Empty(t, next, "a full last page has no next one")
}

func TestListErrors(t *testing.T) {
	s := newStore(t)
	s.put("/one", id(1), prompt("/one", "x"))
	for _, bad := range []string{"x", "offset:50", "!!!", base64.RawURLEncoding.EncodeToString([]byte("5:../../x")), strings.Repeat("x", 10000)} {
		_, _, err := transcript.List(t.Context(), transcript.Options{ConfigDir: s.config, Cursor: bad})
		require.ErrorIs(t, err, transcript.ErrCursor, bad)
		require.Less(t, len(err.Error()), 200)
	}
	_, _, err := transcript.List(t.Context(), transcript.Options{})
	require.Error(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = transcript.List(ctx, transcript.Options{ConfigDir: s.config})
	require.ErrorIs(t, err, context.Canceled)
}

// What was said last is the user's last prompt and what the main thread has said since:
// no tool's output, no sub-agent's words, none of the CLI's own.
func TestLast(t *testing.T) {
	file := filepath.Join(t.TempDir(), "0199a1b2-0000-4000-8000-00000000abcd.jsonl")
	lines := []string{
		`{"type":"user","message":{"role":"user","content":"set it up"},"cwd":"/src","timestamp":"2026-11-16T10:00:00Z"}`,
		`{"type":"assistant","message":{"model":"claude-opus-5","content":[{"type":"text","text":"It is set up."}]}}`,
		`{"type":"user","isMeta":true,"message":{"role":"user","content":"Caveat: nothing"}}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"now run the **tests**"}]}}`,
		`{"type":"assistant","message":{"model":"claude-opus-5","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I run them."}]}}`,
		`{"type":"assistant","message":{"model":"claude-opus-5","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a.txt"}]}}`,
		`{"type":"assistant","isSidechain":true,"message":{"content":[{"type":"text","text":"a sub-agent's"}]}}`,
		`{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"And once more."}]}}`,
		`{"type":"ai-title","aiTitle":"Set the project up"}`,
	}
	write := func(before string) {
		require.NoError(t, os.WriteFile(file, []byte(before+strings.Join(lines, "\n")+"\n"), 0o600))
	}
	want := transcript.Said{Title: "Set the project up", Model: "claude-opus-5", Prompt: "now run the **tests**", Words: "I run them.\n\nAnd once more."}
	write("")
	got, ok := transcript.Last(file)
	require.True(t, ok)
	require.Equal(t, want, got)

	write(lines[0] + "\n" + strings.Repeat(`{"type":"assistant","message":{"content":[{"type":"text","text":"much before"}]}}`+"\n", 10_000))
	got, ok = transcript.Last(file)
	require.True(t, ok)
	require.Equal(t, want, got)

	_, ok = transcript.Last(file + "x")
	require.False(t, ok)
}
