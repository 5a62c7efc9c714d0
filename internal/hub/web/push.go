package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/SherClockHolmes/webpush-go"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// pushKey signs what hubs push, so that a browser's service knows who they are.
type pushKey struct {
	Private string `json:"private"`
	Public  string `json:"public"`
}

// subscription is a browser that wants to be told of questions. It ends with its
// device, and with its login.
type subscription struct {
	Device   string    `json:"device"`
	Session  []byte    `json:"session,omitempty"` // hash of its cookie
	Endpoint string    `json:"endpoint"`
	Key      string    `json:"key"`
	Auth     string    `json:"auth"`
	Added    time.Time `json:"added"`
	// Kinds are what it is told of; nil is questions, without text.
	Kinds []PushKind `json:"kinds,omitempty"`
}

const (
	// maxPushes is how many browsers are told, maxPushesOf those of a device.
	maxPushes   = 1000
	maxPushesOf = 20
	// pushTime bounds a push, pushKeep is for how long a service keeps one whose
	// browser is away.
	pushTime = 10 * time.Second
	pushKeep = 24 * time.Hour
	// contact is whom a push service may turn to, where the hub has no address.
	contact = "https://github.com/acp-bridge/acp-bridge"
	// pushesAtOnce is how many are under way.
	pushesAtOnce = 8
)

// showPushKey tells a browser whose pushes it will get.
func (s *Server) showPushKey(w http.ResponseWriter, _ *http.Request, _ Device) error {
	key, err := s.access.pushKey()
	return reply(w, map[string]string{"key": key.Public}, err)
}

// browserPush is a subscription as browsers write it.
type browserPush struct {
	webpush.Subscription
	ExpirationTime any
	Kinds          []PushKind
}

// addPush takes a subscription as browsers write it.
func (s *Server) addPush(_ http.ResponseWriter, r *http.Request, d Device, g given) error {
	var given browserPush
	if err := g.into(&given); err != nil {
		return err
	}
	p := subscription{Device: d.Name, Endpoint: given.Endpoint, Key: given.Keys.P256dh, Auth: given.Keys.Auth, Kinds: given.Kinds, Added: time.Now().UTC().Truncate(time.Second)}
	if c, err := r.Cookie(s.access.cookie()); err == nil && r.Header.Get("Authorization") == "" {
		hash := sha256.Sum256([]byte(c.Value))
		p.Session = hash[:]
	}
	if err := p.check(); err != nil {
		return err
	}
	if s.opts.PushClient == nil {
		if err := publicEndpoint(p.Endpoint); err != nil {
			return err
		}
	}
	return s.access.addPush(&d, p)
}

// removePush ends a subscription. One that is not there is no error.
func (s *Server) removePush(_ http.ResponseWriter, _ *http.Request, d Device, g given) error {
	var given browserPush
	if err := g.into(&given); err != nil {
		return err
	}
	return s.access.dropPush(&d, func(p subscription) bool { return p.Endpoint == given.Endpoint && p.Device == d.Name })
}

// check reads what a browser said. Nobody else's words get into an error.
func (p subscription) check() error {
	u, err := url.Parse(p.Endpoint)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(p.Endpoint) > 2000 {
		return badf("endpoint: expected an https URL of at most 2000 bytes")
	}
	key, err := base64.RawURLEncoding.DecodeString(p.Key)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(key)
	}
	if err != nil {
		return badf("keys.p256dh: expected a key of the curve P-256 in base64url")
	}
	if auth, err := base64.RawURLEncoding.DecodeString(p.Auth); err != nil || len(auth) != 16 {
		return badf("keys.auth: expected 16 bytes in base64url")
	}
	if i := slices.IndexFunc(p.Kinds, func(k PushKind) bool { return !slices.Contains(pushKinds, k) }); i >= 0 || len(p.Kinds) > len(pushKinds) {
		return badf("kinds: expected some of %v, each once", pushKinds)
	}
	return nil
}

func (a *Access) addPush(by *Device, p subscription) error {
	return a.change(by, func(k *kept) error {
		if _, ok := k.device(p.Device); !ok {
			return fmt.Errorf("%w: %q", ErrNoDevice, p.Device)
		}
		k.Pushes = slices.DeleteFunc(k.Pushes, func(o subscription) bool { return o.Endpoint == p.Endpoint })
		of := 0
		for _, o := range k.Pushes {
			if o.Device == p.Device {
				of++
			}
		}
		if of >= maxPushesOf || len(k.Pushes) >= maxPushes {
			return badf("too many browsers get notifications already: %d of this device, %d in all", of, len(k.Pushes))
		}
		k.Pushes = append(k.Pushes, p)
		return nil
	})
}

func (a *Access) dropPush(by *Device, which func(subscription) bool) error {
	return a.change(by, func(k *kept) error {
		before := len(k.Pushes)
		if k.Pushes = slices.DeleteFunc(k.Pushes, which); len(k.Pushes) == before {
			return errUnchanged
		}
		return nil
	})
}

// pushKey returns the key of this hub, and makes it if there is none.
func (a *Access) pushKey() (key pushKey, err error) {
	err = a.change(nil, func(k *kept) error {
		if k.Push != nil {
			key = *k.Push
			return errUnchanged
		}
		private, public, err := webpush.GenerateVAPIDKeys()
		key = pushKey{private, public}
		k.Push = &key
		return err
	})
	return key, err
}

// hasPushKey returns the key of this hub, if there is one.
func (a *Access) hasPushKey() (key pushKey, ok bool) {
	if p := a.kept.Load().Push; p != nil {
		return *p, true
	}
	return key, false
}

// pushes returns the browsers that want to be told of such, whose devices may see a
// question and answer it, and whose login holds.
func (a *Access) pushes(r *hub.Record, kind PushKind) (list []subscription, key pushKey) {
	k := a.kept.Load()
	if k.Push == nil {
		return nil, key
	}
	for _, p := range k.Pushes {
		d, ok := k.device(p.Device)
		if !ok || d.Can != CanAnswer && d.Can != CanAdmin || !d.sees(r) || !p.wants(kind) {
			continue
		}
		live := func(s loginSession) bool {
			return s.Device == p.Device && bytes.Equal(s.Hash, p.Session) && time.Since(s.Since) < sessionTime
		}
		if p.Session == nil || slices.ContainsFunc(k.Sessions, live) {
			list = append(list, p)
		}
	}
	return list, *k.Push
}

// toEach tells each browser what is for it.
func (s *Server) toEach(ctx context.Context, list []subscription, key pushKey, id string, what func(subscription) pushed) {
	var all sync.WaitGroup
	free := make(chan struct{}, pushesAtOnce)
	for _, p := range list {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			s.push(ctx, p, key, id, clean.JSON(what(p)))
		})
	}
	all.Wait()
}

// push tells one browser. One that is no longer there is forgotten. Its endpoint
// is a secret, and stays out of the log.
func (s *Server) push(ctx context.Context, p subscription, key pushKey, id string, body []byte) {
	ctx, cancel := context.WithTimeout(ctx, pushTime)
	defer cancel()
	got, err := webpush.SendNotificationWithContext(ctx, body, &webpush.Subscription{
		Endpoint: p.Endpoint, Keys: webpush.Keys{P256dh: p.Key, Auth: p.Auth},
	}, &webpush.Options{
		HTTPClient: cmp.Or(s.opts.PushClient, publicClient), Subscriber: cmp.Or(s.opts.URL, contact), Topic: id, TTL: int(pushKeep.Seconds()), Urgency: webpush.UrgencyHigh,
		VAPIDPublicKey: key.Public, VAPIDPrivateKey: key.Private,
	})
	if err != nil {
		s.log.Warn("a push was not sent", "device", p.Device, "err", hublink.Reason(err))
		return
	}
	defer got.Body.Close()
	switch {
	case got.StatusCode == http.StatusNotFound || got.StatusCode == http.StatusGone:
		if err := s.access.dropPush(nil, func(o subscription) bool { return o.Endpoint == p.Endpoint }); err != nil {
			s.log.Warn("a browser that is gone could not be forgotten", "device", p.Device, "err", err)
		}
	case got.StatusCode >= 300:
		s.log.Warn("a push was not taken", "device", p.Device, "status", got.StatusCode)
	}
}
