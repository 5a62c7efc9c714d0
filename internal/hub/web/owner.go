package web

import (
	"crypto/sha256"
	"errors"
	"slices"
)

// ErrOtherOwner means that the hubs of a store have an owner with another token.
var ErrOtherOwner = errors.New("the owner's token is not that of the other hubs")

var errShortToken = errors.New("the owner's token is too short: expected at least 16 characters")

const minOwnerToken = 16

// SetOwner makes another token the owner's, at all hubs of a store and at once. The
// owner's logins, login links, pushes and streams end: whoever has the old token may
// have made them.
func (a *Access) SetOwner(token string) error {
	if len(token) < minOwnerToken {
		return errShortToken
	}
	hash := sha256.Sum256([]byte(token))
	return a.change(nil, func(k *kept) error {
		if slices.Equal(k.Owner, hash[:]) {
			return errUnchanged
		}
		first := k.Owner == nil
		if k.Owner = hash[:]; first {
			return nil
		}
		k.Sessions = slices.DeleteFunc(k.Sessions, func(s loginSession) bool { return s.Device == Owner || s.Maker == Owner })
		k.Codes = slices.DeleteFunc(k.Codes, func(c loginCode) bool { return c.Device == Owner || c.Maker == Owner })
		k.Pushes = slices.DeleteFunc(k.Pushes, func(p subscription) bool { return p.Device == Owner })
		return nil
	})
}

// joinOwner makes this hub's owner that of a store which has none, as one that an
// older hub made, and fails if it has another.
func (a *Access) joinOwner() error {
	return a.change(nil, func(k *kept) error {
		switch {
		case k.Owner == nil:
			k.Owner = a.owner[:]
			return nil
		case slices.Equal(k.Owner, a.owner[:]):
			return errUnchanged
		}
		return ErrOtherOwner
	})
}

// ownerHash is that of the token which counts: the one of the store, if it has one.
func (a *Access) ownerHash(k *kept) []byte {
	if k.Owner != nil {
		return k.Owner
	}
	return a.owner[:]
}

// ownerChanged reports whether the owner has another token since this hub was
// started.
func (a *Access) ownerChanged() bool {
	return !slices.Equal(a.ownerHash(a.kept.Load()), a.owner[:])
}

// newOwnerText is what the operator of such a hub has to do. It fits a line of the
// status.
const newOwnerText = "the owner has a new token: put it into this hub's token file"
