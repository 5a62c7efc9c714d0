package claude

import (
	"os"
	"os/exec"
)

func setGroup(*exec.Cmd) {}

func termGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func exitSignal(*os.ProcessState) string { return "" }
