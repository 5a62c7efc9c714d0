//go:build !race

package picker_test

const slower = 1
