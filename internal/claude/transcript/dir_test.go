package transcript_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

func TestConfigDir(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	require.Equal(t, "/c", transcript.ConfigDir(env(map[string]string{"CLAUDE_CONFIG_DIR": "/c", "HOME": "/h"})))
	require.Equal(t, filepath.Join("/h", ".claude"), transcript.ConfigDir(env(map[string]string{"HOME": "/h", "USERPROFILE": "/h"})))
	require.Empty(t, transcript.ConfigDir(env(nil)))
}

// TestDir has the folders that the real CLI made.
func TestDir(t *testing.T) {
	for cwd, want := range map[string]string{
		"/nowhere/a.b_c d":    "-nowhere-a-b-c-d",
		"/nowhere/日本語😀":       "-nowhere------",
		"/nowhere/e\u0301nfd": "-nowhere-e-nfd",
		"/":                   "-",
	} {
		require.Equal(t, filepath.Join("/c/projects", want), transcript.Dir("/c", cwd))
	}
}

func TestDirOfLink(t *testing.T) {
	dir := t.TempDir()
	dir = acptest.Must(filepath.EvalSymlinks(dir))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(dir, "real"), filepath.Join(dir, "link")))
	require.Equal(t, transcript.Dir("/c", filepath.Join(dir, "real")), transcript.Dir("/c", filepath.Join(dir, "link")))
}

// store is a configuration directory with sessions.
type store struct {
	t      testing.TB
	config string
}

func newStore(t testing.TB) store { return store{t, t.TempDir()} }

// put writes a session file for cwd and returns its path.
func (s store) put(cwd, id string, lines ...string) string {
	s.t.Helper()
	return s.putIn(filepath.Base(transcript.Dir(s.config, cwd)), id, lines...)
}

func (s store) putIn(folder, id string, lines ...string) string {
	s.t.Helper()
	path := filepath.Join(s.config, "projects", folder, id+".jsonl")
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(s.t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

// prompt is a line of a prompt in cwd.
func prompt(cwd, text string) string {
	return `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"` + text + `"},"uuid":"u1","timestamp":"2026-11-15T02:27:16.447Z","cwd":"` + cwd + `"}`
}

func TestFind(t *testing.T) {
	s := newStore(t)
	one := s.put("/one", id(1), prompt("/one", "hi"))
	two := s.put("/two", id(2), prompt("/two", "hi"))
	s.put("/two", id(1), prompt("/two", "hi"))
	for _, c := range []struct{ id, cwd, want string }{
		{id(1), "/one", one}, {id(1), "", one}, {id(2), "/two", two}, {id(2), "/one", two}, {id(2), "/three", two},
	} {
		require.Equal(t, c.want, acptest.Must(transcript.Find(s.config, c.id, c.cwd)))
	}
	require.ErrorIs(t, acptest.Err(transcript.Find(s.config, id(3), "/one")), os.ErrNotExist)
	require.ErrorIs(t, acptest.Err(transcript.Find(t.TempDir(), id(3), "/one")), os.ErrNotExist)
	require.Error(t, acptest.Err(transcript.Find("", id(1), "/one")))
	require.ErrorIs(t, acptest.Err(transcript.Find(s.config, id(3), "")), os.ErrNotExist)
}

// TestLongPath finds sessions of a long path whose folder another version of
// the CLI named with another hash, but not those of a path that begins alike.
func TestLongPath(t *testing.T) {
	s := newStore(t)
	long := "/" + strings.Repeat("abcdefghi/", 30)
	folder := strings.ReplaceAll(long, "/", "-")[:200]
	path := s.putIn(folder+"-other", id(1), prompt(long, "mine"))
	s.putIn(folder+"-other", id(2), prompt(long+"/x", "not mine"))
	require.Equal(t, path, acptest.Must(transcript.Find(s.config, id(1), long)))
	page, _ := acptest.Must2(transcript.List(t.Context(), transcript.Options{ConfigDir: s.config, Cwd: long}))
	require.Len(t, page, 1)
	require.Equal(t, "mine", page[0].Title)
}

var badIDs = []string{
	"", ".", "..", "../../etc/passwd", "x", id(1) + "/", "/" + id(1), id(1)[:35] + "/", id(1)[:34] + "..",
	id(1) + "\x00", strings.ReplaceAll(id(1), "-", "/"), strings.ReplaceAll(id(1), "0", "g"), id(1) + id(1),
	strings.ReplaceAll(id(1), "-", "\\"), " " + id(1)[1:],
}

func TestBadIDs(t *testing.T) {
	s := newStore(t)
	for _, bad := range badIDs {
		require.False(t, transcript.ValidID(bad), "%q", bad)
		require.ErrorIs(t, acptest.Err(transcript.Find(s.config, bad, "/one")), transcript.ErrID, "%q", bad)
	}
	require.True(t, transcript.ValidID("0E57FC27-1e3c-47b2-9107-eb956e9b8274"))
}

func TestDelete(t *testing.T) {
	s := newStore(t)
	path := s.put("/one", id(1), prompt("/one", "hi"))
	kept := s.put("/one", id(2), prompt("/one", "hi"))
	gone := []string{path}
	for _, name := range []string{"projects/-one/" + id(1) + "/subagents/agent-a.jsonl", "tasks/" + id(1) + "/1.json", "session-env/" + id(1) + "/x", "file-history/" + id(1) + "/x"} {
		name = filepath.Join(s.config, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte("x"), 0o600))
		gone = append(gone, name, filepath.Dir(name))
	}
	other := filepath.Join(s.config, "tasks", id(2), "1.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(other), 0o700))
	require.NoError(t, os.WriteFile(other, []byte("x"), 0o600))

	require.NoError(t, transcript.Delete(s.config, path))
	for _, name := range gone {
		require.NoFileExists(t, name)
		require.NoDirExists(t, name)
	}
	require.FileExists(t, kept)
	require.FileExists(t, other)
	require.ErrorIs(t, transcript.Delete(s.config, path), os.ErrNotExist)
}

func TestDeleteStaysInside(t *testing.T) {
	s := newStore(t)
	outside := filepath.Join(t.TempDir(), id(1)+".jsonl")
	require.NoError(t, os.WriteFile(outside, []byte("precious"), 0o600))
	mine := s.put("/one", id(2), prompt("/one", "hi"))
	projects := filepath.Join(s.config, "projects")
	// A session file and a folder that lead out of the projects folder.
	link := filepath.Join(projects, "-one", id(3)+".jsonl")
	require.NoError(t, os.Symlink(outside, link))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(projects, "-out")))
	// A side folder that does.
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(projects, "-one", id(2))))

	for _, path := range []string{
		outside, link, filepath.Join(projects, "-out", id(1)+".jsonl"),
		filepath.Join(projects, "-one", "..", "..", id(2)+".jsonl"), filepath.Join(projects, "-one"), projects, s.config, "", "/",
		filepath.Join(projects, id(2)+".jsonl"), filepath.Join(projects, "-one", "memory", id(2)+".jsonl"),
		projects + "/../projects/../" + id(2) + ".jsonl",
	} {
		require.Error(t, transcript.Delete(s.config, path), path)
	}
	require.Error(t, transcript.Delete("", mine))
	require.FileExists(t, outside)
	require.FileExists(t, mine)

	require.NoError(t, transcript.Delete(s.config, mine))
	require.NoFileExists(t, mine)
	require.FileExists(t, outside)
}

// A folder is the same, however it is named.
func TestDirOfARelativePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.Mkdir("here", 0o700))
	require.Equal(t, transcript.Dir("/c", filepath.Join(dir, "here")), transcript.Dir("/c", "here"))
}
