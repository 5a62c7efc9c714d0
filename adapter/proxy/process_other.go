//go:build !unix

package proxy

import "os/exec"

func tie(*exec.Cmd) {}

func termGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
