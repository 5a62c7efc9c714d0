//go:build race

package conn

// poolsDrop: with the race detector a sync.Pool gives away a part of what is put
// into it, so buffers are made anew.
const poolsDrop = true
