//go:build !race

package conn

const poolsDrop = false
