package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// turn says which of several hubs tells an address of a question, and which takes
// it back: one each. The zero value is that of a hub alone.
type turn struct {
	store *hubstore.Store
	log   *slog.Logger
}

// toldTime is how long it is known that somebody was told.
const toldTime = 90 * 24 * time.Hour

// over is the value once it was taken back.
const over = "over"

// openTurn opens what hubs of one store decide by.
func openTurn(ctx context.Context, store *hubstore.Store, log *slog.Logger) (turn, error) {
	if !store.Shared() {
		return turn{}, nil
	}
	shared, err := store.Beside(ctx, "-told", "whom acp-bridge hubs have told of a question", toldTime)
	return turn{shared, log}, err
}

// begin reports whether this hub is the one to tell. Where that cannot be decided
// it tells: twice is better than not at all.
func (t turn) begin(ctx context.Context, address, id string) bool {
	return t.decided(ctx, func(ctx context.Context) error {
		_, err := t.store.Create(ctx, turnKey(address, id), []byte(rand.Text()))
		return err
	})
}

// decided reports whether what is written makes this hub the one.
func (t turn) decided(ctx context.Context, write func(context.Context) error) bool {
	if t.store == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTime)
	defer cancel()
	err := write(ctx)
	if err != nil && !errors.Is(err, hubstore.ErrConflict) && !errors.Is(err, hubstore.ErrNotFound) {
		t.log.Warn("hubs cannot agree who tells of a question, or takes that back", "err", err)
		return true
	}
	return err == nil
}

// end reports whether this hub is the one to take it back.
func (t turn) end(ctx context.Context, address, id string) bool {
	return t.decided(ctx, func(ctx context.Context) error {
		e, err := t.store.Get(ctx, turnKey(address, id))
		switch {
		case err != nil:
			return err
		case string(e.Value) == over:
			return hubstore.ErrConflict
		}
		_, err = t.store.Update(ctx, e.Key, []byte(over), e.Revision)
		return err
	})
}

// turnKey has neither the address nor the question in clear.
func turnKey(address, id string) string {
	sum := sha256.Sum256([]byte(address))
	return hex.EncodeToString(sum[:8]) + "." + id
}
