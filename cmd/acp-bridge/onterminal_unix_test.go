//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/creack/pty"
)

// onTerminal is a program of the scripts: on-terminal TYPED COMMAND [ARGS...]. It runs a
// command with a terminal beside its pipes, types what is in a file, and keeps what the
// terminal has shown in the file screen: all of it, which ttyin and ttyout of testscript do
// not promise. The exit code is the command's.
func onTerminal() {
	code, err := runOnTerminal(os.Args[1], os.Args[2:])
	if err != nil {
		panic(err)
	}
	os.Exit(code)
}

func runOnTerminal(typed string, command []string) (code int, err error) {
	keys, err := os.ReadFile(typed)
	if err != nil {
		return 0, err
	}
	ptmx, tty, err := pty.Open()
	if err != nil {
		return 0, err
	}
	defer ptmx.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{tty}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	err = cmd.Start()
	tty.Close() // the command has it: what it shows ends with it
	if err != nil {
		return 0, err
	}
	const endOfInput = 4
	if _, err := ptmx.Write(append(keys, endOfInput)); err != nil {
		return 0, err
	}
	shown, err := io.ReadAll(ptmx)
	if err != nil && !errors.Is(err, syscall.EIO) { // that is its end, on Linux
		return 0, err
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), os.WriteFile("screen", shown, 0o600)
}
