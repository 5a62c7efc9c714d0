//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// checkOwner refuses a folder of another user: the hub that has it could not read
// what is written there now. Whoever is root would not notice otherwise.
func checkOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if me := os.Geteuid(); ok && int(st.Uid) != me {
		return fmt.Errorf("the folder %s belongs to user %d, not to %d: start the hub first, or do this as that user", dir, st.Uid, me)
	}
	return nil
}
