package askuserquestion

import (
	"archive/zip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Somebody who gets this module alone, from a proxy, gets the main one with it. A
// replacement in go.mod counts for nobody else.
func TestModuleResolvesAlone(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	wants := regexp.MustCompile(`(?m)^\s*github\.com/acp-bridge/acp-bridge (v\S+)`).FindSubmatch(mod)
	require.NotNil(t, wants)
	require.NotEqual(t, "v0.0.0", string(wants[1]), "a version that nobody can get")
	version, own, main := string(wants[1]), "github.com/acp-bridge/acp-bridge/adapter/fantasy/askuserquestion", "github.com/acp-bridge/acp-bridge"
	proxy := t.TempDir()
	publish(t, proxy, own, version, ".")
	publish(t, proxy, main, version, "../../..")

	dir := t.TempDir()
	env := append(os.Environ(), "GOMODCACHE="+filepath.Join(dir, "cache"), "GOFLAGS=-modcacherw", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off",
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(env(t, "GOMODCACHE"), "cache/download")+","+env(t, "GOPROXY"))
	consumer := filepath.Join(dir, "consumer")
	require.NoError(t, os.Mkdir(consumer, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(consumer, "main.go"), []byte("package main\n\nimport _ \""+own+"\"\n\nfunc main() {}\n"), 0o600))
	for _, line := range []string{"mod init example.org/consumer", "get " + own + "@" + version, "list -deps -f {{with.DepsErrors}}{{.}}{{end}} ."} {
		cmd := exec.Command("go", strings.Fields(line)...)
		cmd.Dir, cmd.Env = consumer, env
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %s: %s", line, out)
	}
}

func env(t *testing.T, name string) string {
	out, err := exec.Command("go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// publish puts a module into a folder as a proxy serves it: without what is
// another module's.
func publish(t *testing.T, proxy, path, version, dir string) {
	to := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	require.NoError(t, os.MkdirAll(to, 0o700))
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(to, version+".mod"), mod, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(to, version+".info"), []byte(`{"Version":"`+version+`"}`), 0o600))
	f, err := os.Create(filepath.Join(to, version+".zip"))
	require.NoError(t, err)
	defer f.Close()
	z := zip.NewWriter(f)
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		if d.IsDir() {
			_, err := os.Stat(filepath.Join(name, "go.mod"))
			if rel != "." && (err == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		w, err := z.Create(path + "@" + version + "/" + filepath.ToSlash(rel))
		require.NoError(t, err)
		_, err = w.Write(data)
		return err
	}))
	require.NoError(t, z.Close())
}
