package proc

import "sync"

// Shared lets one function at a time have what goroutines share. The zero value works.
type Shared struct{ mu sync.Mutex }

// Step runs a function that has it to itself, and waits for nothing.
func (s *Shared) Step(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// Guarded is a value that only such a function gets.
type Guarded[T any] struct {
	Shared
	Value T // before anybody shares it
}

// Step runs a function that has the value to itself, and waits for nothing.
func (g *Guarded[T]) Step(do func(*T)) { g.Shared.Step(func() { do(&g.Value) }) }
