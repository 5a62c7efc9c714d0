//go:build unix

// Package pictures draws the pictures of the README.
package pictures_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/drawing"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
)

const pictures = "../../../.github/pictures/"

var update = flag.Bool("update", false, "draw the pictures anew")

func TestMain(m *testing.M) { terminals.Main(m) }

// The README's picture of the picker is the first screen of the demo.
func TestPicker(t *testing.T) {
	terminal := terminals.NewTmux(t)
	program, err := terminals.Program()
	require.NoError(t, err)
	env := []string{"TERM=xterm-256color", "LANG=C.UTF-8", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	terminal.Open(t.TempDir(), env, "sh", "-c", `stty cols 80 rows 24 && exec "$0" demo`, program)
	drawn := drawing.SVG(strings.TrimRight(terminal.See("? all keys"), "\n"))
	if *update {
		require.NoError(t, os.WriteFile(pictures+"picker.svg", []byte(drawn), 0o644))
	}
	data, err := os.ReadFile(pictures + "picker.svg")
	require.NoError(t, err)
	require.Equal(t, drawn, string(data), "go -C cmd/tools test ./pictures -run TestPicker -update draws it anew")
}
