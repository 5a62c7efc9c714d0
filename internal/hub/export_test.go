package hub

import (
	"context"
	"time"
)

// Tidy drops what is old at some time.
func (b *Board) Tidy(now time.Time) { b.forget(context.Background(), now) }
