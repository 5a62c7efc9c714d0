//go:build !race

package terminal_test

const slower = 1
