package main

import (
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// npm installs what people install, with the one carrier that fits, and both
// programs start.
func TestNPMInstalls(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil || runtime.GOOS == "windows" {
		t.Skip("npm is not here")
	}
	r := makeRelease(t, targets)
	home, npm := npmAt(t, registry(t, r))
	npm("npm", "install", "--global", "acp-bridge")
	prefix := filepath.Join(home, "prefix")
	for _, name := range programs {
		out, _ := exec.Command(filepath.Join(prefix, "bin", name), "version").CombinedOutput()
		require.Equal(t, name+" version\n", string(out))
	}
	readme := string(read(t, r, "npm/acp-bridge/README.md"))
	require.Contains(t, readme, "npm install -g acp-bridge")
	require.Contains(t, readme, r.Repository)
	require.NotContains(t, readme, "go install")
	carriers, err := filepath.Glob(filepath.Join(prefix, "lib/node_modules/acp-bridge/node_modules/acp-bridge-*"))
	require.NoError(t, err)
	require.Len(t, carriers, 1, "nothing for other systems")
}

// npmAt runs npm, or npx, with a home of its own and a registry.
func npmAt(t *testing.T, registry string) (home string, run func(name string, args ...string) string) {
	home = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, ".npmrc"), []byte("registry="+registry+"\n//"+strings.TrimPrefix(registry, "http://")+"/:_authToken=stand-in\n"), 0o600))
	return home, func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = home
		for _, v := range os.Environ() {
			if !strings.HasPrefix(strings.ToLower(v), "npm_config_") {
				cmd.Env = append(cmd.Env, v)
			}
		}
		cmd.Env = append(cmd.Env, "HOME="+home, "npm_config_userconfig="+filepath.Join(home, ".npmrc"), "npm_config_registry="+registry,
			"npm_config_cache="+filepath.Join(home, "cache"), "npm_config_prefix="+filepath.Join(home, "prefix"),
			"npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false", "npm_config_loglevel=error")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %v: %s", name, args, out)
		return string(out)
	}
}

// registry serves a release's packages as npm asks for them.
func registry(t *testing.T, r *release) string {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	packages, err := os.ReadDir(filepath.Join(r.Out, "npm"))
	require.NoError(t, err)
	for _, p := range packages {
		var about map[string]any
		require.NoError(t, json.Unmarshal(read(t, r, "npm/"+p.Name()+"/package.json"), &about))
		ball := tarball(t, filepath.Join(r.Out, "npm", p.Name()))
		sum := sha512.Sum512(ball)
		address := "/" + p.Name() + "/-/ball.tgz"
		about["dist"] = map[string]any{"tarball": server.URL + address, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		version := about["version"].(string)
		packument, err := json.Marshal(map[string]any{"name": p.Name(), "dist-tags": map[string]any{"latest": version}, "versions": map[string]any{version: about}})
		require.NoError(t, err)
		mux.HandleFunc("GET /"+p.Name(), func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packument) })
		mux.HandleFunc("GET "+address, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(ball) })
	}
	return server.URL
}

// tarball is a package as npm packs it.
func tarball(t *testing.T, dir string) []byte {
	var files []file
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		rel, err := filepath.Rel(dir, path)
		info, _ := d.Info()
		files = append(files, file{"package/" + filepath.ToSlash(rel), int64(info.Mode().Perm()), data})
		return err
	}))
	var b bytes.Buffer
	require.NoError(t, packTar(&b, files))
	return b.Bytes()
}
