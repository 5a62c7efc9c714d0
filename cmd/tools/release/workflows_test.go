package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert/yaml"
	"github.com/stretchr/testify/require"
)

type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Needs string
		Steps []struct {
			Uses, Run string
			With      map[string]any
		}
	}
}

// The workflows call what there is: .ci/run for a change, the release program with
// flags that it has for a tag. What they use of others has a version, and nothing
// may write but the jobs that say so.
func TestWorkflows(t *testing.T) {
	said := map[string]string{}
	for _, name := range []string{"ci", "release"} {
		data, err := os.ReadFile("../../../.github/workflows/" + name + ".yml")
		require.NoError(t, err)
		var w workflow
		require.NoError(t, yaml.Unmarshal(data, &w))
		require.Equal(t, map[string]string{"contents": "read"}, w.Permissions)
		for _, job := range w.Jobs {
			if job.Needs != "" {
				require.Contains(t, w.Jobs, job.Needs)
			}
			for _, step := range job.Steps {
				said[name] += step.Run + "\n"
				if step.Uses != "" {
					require.Regexp(t, `^actions/[a-z-]+@v\d+$`, step.Uses)
				}
				if file, ok := step.With["go-version-file"]; ok {
					require.FileExists(t, filepath.Join("../../..", file.(string)))
				}
			}
		}
	}
	require.Contains(t, said["ci"], ".ci/run\n")
	_, call, found := strings.Cut(said["release"], "go -C cmd/tools run ./release ")
	require.True(t, found)
	call, _, _ = strings.Cut(call, "\n")
	err := run(t.Context(), source(t), append(strings.Fields(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(call, "x")), "--help"))
	require.EqualError(t, err, "flag: help requested")
	r := makeRelease(t, targets)
	for _, glob := range regexp.MustCompile(`dist/[a-zA-Z0-9_./*-]*`).FindAllString(said["release"], -1) {
		files, err := filepath.Glob(filepath.Join(r.Out, strings.TrimPrefix(glob, "dist/")))
		require.NoError(t, err)
		require.NotEmpty(t, files, glob)
	}
	require.Contains(t, said["release"], `git tag "`+beside+`/`)
}
