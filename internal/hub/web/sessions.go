package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"time"
)

// bySession returns whose cookie it is.
func (a *Access) bySession(id string) (Device, bool) {
	hash := sha256.Sum256([]byte(id))
	k := a.kept.Load()
	for _, s := range k.Sessions {
		if subtle.ConstantTimeCompare(hash[:], s.Hash) == 1 && time.Since(s.Since) < sessionTime {
			d, ok := k.device(s.Device)
			d.session, d.page = string(s.Hash), s.Page
			return d, ok
		}
	}
	return Device{}, false
}

// newLogin is what a browser gets for a code or a token.
type newLogin struct {
	Device
	cookie, secret string // the secret is that of the page
}

// login makes a session of a code, which is used up, or of a token.
func (a *Access) login(code, token string) (in newLogin, ok bool, err error) {
	in.cookie, in.secret = NewToken(), NewToken()
	sessionHash, pageHash, codeHash := sha256.Sum256([]byte(in.cookie)), sha256.Sum256([]byte(in.secret)), sha256.Sum256([]byte(code))
	d, known := a.byToken(token)
	maker := ""
	err = a.change(nil, func(k *kept) error {
		if ok = known && k.still(d); code != "" {
			i := slices.IndexFunc(k.Codes, func(c loginCode) bool {
				return subtle.ConstantTimeCompare(codeHash[:], c.Hash) == 1 && time.Now().Before(c.Until)
			})
			if ok = i >= 0; ok {
				c := k.Codes[i]
				k.Codes = slices.Delete(k.Codes, i, i+1)
				if c.Device == "" {
					d = k.addPhone(c.Groups)
				} else if d, ok = k.device(c.Device); c.Maker != c.Device {
					maker = c.Maker
				}
			}
		}
		if !ok {
			return errUnchanged
		}
		k.Sessions = append(k.Sessions, loginSession{Device: d.Name, Hash: sessionHash[:], Page: pageHash[:], Since: time.Now().UTC(), Maker: maker})
		k.limitSessions(d.Name)
		return nil
	})
	if err != nil || !ok {
		return newLogin{}, false, err
	}
	in.Device = d
	return in, true, nil
}

// knows reports whether a secret is that of the page of a device's login.
func (d Device) knows(secret string) bool {
	hash := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(hash[:], d.page) == 1
}

// limitSessions ends the oldest logins of a device that has too many. Those of
// others end only if there are too many in all.
func (k *kept) limitSessions(device string) {
	of := func(s loginSession) bool { return s.Device == device }
	for n := len(slices.DeleteFunc(slices.Clone(k.Sessions), func(s loginSession) bool { return !of(s) })); n > maxSessionsOf; n-- {
		i := slices.IndexFunc(k.Sessions, of)
		k.Sessions = slices.Delete(k.Sessions, i, i+1)
	}
	k.Sessions = k.Sessions[max(0, len(k.Sessions)-maxSessions):]
}

// logout ends a browser's session.
func (a *Access) logout(id string) error {
	hash := sha256.Sum256([]byte(id))
	return a.change(nil, func(k *kept) error {
		k.Sessions = slices.DeleteFunc(k.Sessions, func(s loginSession) bool { return subtle.ConstantTimeCompare(hash[:], s.Hash) == 1 })
		k.Pushes = slices.DeleteFunc(k.Pushes, func(p subscription) bool { return bytes.Equal(p.Session, hash[:]) })
		return nil
	})
}

// being ends when a device is removed, or its login ends.
type being struct {
	context.Context
	end context.CancelFunc
}

// being returns a context that ends when a device is removed, or its login ends.
func (a *Access) being(l login) context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, ok := a.there[l]
	if !ok {
		b.Context, b.end = context.WithCancel(context.Background())
		if a.kept.Load().holds(l) {
			a.there[l] = b
		} else {
			b.end()
		}
	}
	return b
}

func (k *kept) holds(l login) bool {
	_, ok := k.device(l.device)
	return ok && (l.session == "" || slices.ContainsFunc(k.Sessions, func(s loginSession) bool { return s.Device == l.device && string(s.Hash) == l.session }))
}

func (a *Access) cookie() string { return "acp_bridge_hub_" + a.instance }
