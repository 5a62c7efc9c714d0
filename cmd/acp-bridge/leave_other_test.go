//go:build !unix

package main

import "os"

func leaveTerminal() {}

func gone(pid int) bool {
	_, err := os.FindProcess(pid)
	return err != nil
}
