package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// Can is what a credential may do.
type Can string

const (
	// CanAnswer may read what waits, answer and cancel it.
	CanAnswer Can = "answer"
	// CanAsk may ask, and see and take back what it asked.
	CanAsk Can = "ask"
	// CanHook may send what the hooks of an agent say, and nothing else.
	CanHook Can = "hook"
	// CanMeasure may read the metrics and nothing else. They are of all groups, and
	// so it is in none.
	CanMeasure Can = "measure"
	// CanAdmin may do everything, the devices included.
	CanAdmin Can = "admin"
)

// may reports whether a device may do what those can. One that was bound to a group
// counts no others.
func (d Device) may(can []Can) bool {
	if d.Can == CanMeasure && len(d.Groups) > 0 {
		return false
	}
	return d.Can == CanAdmin || slices.Contains(can, d.Can)
}

// Owner is the name of who has the hub's own token.
const Owner = "owner"

// Device is one more credential.
type Device struct {
	Name  string    `json:"name"`
	Can   Can       `json:"can"`
	Added time.Time `json:"added"`
	// Groups are those whose questions it asks, sees and answers; none is the
	// owner's own group. It asks in the first one unless it names another.
	Groups []string `json:"groups,omitempty"`

	minted  string // that of keptDevice
	token   string // hash of its token
	session string // hash of the cookie with which it came, if it did
	page    []byte // hash of what its page knows, see [loginSession]
}

// Access knows who may do what. Of tokens and sessions only hashes are kept. Its
// methods may be called from any goroutine.
type Access struct {
	owner [32]byte // of the token that this hub was given, see ownerHash
	vault vault
	stop  func() // ends following the vault
	// fence returns when nobody's answer is written any more who has lost the right to
	// it before; nil if nobody can answer here.
	fence func(context.Context) error
	// instance is that of kept, which never changes.
	instance string

	changing sync.Mutex // of changes made here, one at a time
	fresh    fresh

	kept   atomic.Pointer[kept] // is replaced, with mu held, and never edited
	before string               // see [Access.Before]

	mu    sync.Mutex
	there map[login]being // that something was asked about
}

// login is a device, as it came: with its token, or with the cookie that has this
// hash.
type login struct{ device, session string }

// id is what a device is known by in what it asks: the next one of its name is another. Of
// one that a hub of before has added it is the name.
func (d *Device) id() string { return cmp.Or(d.minted, d.Name) }

// nameOf is the name of the device with an id.
func nameOf(id string) string {
	name, _, _ := strings.Cut(id, "~")
	return name
}

func (d *Device) login() login { return login{d.Name, d.session} }

type kept struct {
	// Version is that of the hub which must be able to read this, see
	// [accessVersion].
	Version int `json:"version,omitempty"`
	// Instance tells this hub's cookies from those of others on the machine.
	Instance string `json:"instance"`
	// Owner is the hash of the owner's token.
	Owner    []byte         `json:"owner,omitempty"`
	Devices  []keptDevice   `json:"devices,omitempty"`
	Sessions []loginSession `json:"sessions,omitempty"`
	Codes    []loginCode    `json:"codes,omitempty"`
	// Push is the key with which this hub signs pushes, made on first use.
	Push *pushKey `json:"push,omitempty"`
	// Pushes are the browsers that are told of questions.
	Pushes []subscription `json:"pushes,omitempty"`
	// Away are the groups whose people are not at their terminals.
	Away []string `json:"away,omitempty"`
	// Removed are devices whose questions have still to be ended, see [Server.Abandon].
	Removed []string `json:"removed,omitempty"`

	rest     rest
	revision uint64 // in the vault
}

type keptDevice struct {
	Device
	// Minted is its name and what tells it from others of that name: no name has a ~ in it.
	Minted string `json:"id,omitempty"`
	Hash   []byte `json:"hash"`

	rest rest
}

// loginSession is a browser that has logged in. Its cookie goes to every port of
// the hub's host, and so to whatever an agent serves there. To look is all that it
// is good for: what changes something also needs a secret that only the reply to
// the login has, and that the hub's page keeps from then on.
type loginSession struct {
	Device string    `json:"device"`
	Hash   []byte    `json:"hash"`
	Page   []byte    `json:"page,omitempty"` // hash of the page's secret
	Since  time.Time `json:"since"`
	// Maker is who made the code for it, if that was another device: without that
	// one it does not count.
	Maker string `json:"maker,omitempty"`

	rest rest
}

type loginCode struct {
	Device string    `json:"device"`
	Hash   []byte    `json:"hash"`
	Until  time.Time `json:"until"`
	// Maker is who made it; empty is somebody at the hub's machine.
	Maker string `json:"maker,omitempty"`
	// Groups are those of a phone, which is a device of its own from the login on.
	// Then Device is empty.
	Groups []string `json:"groups,omitempty"`
}

const (
	// codeTime is how long a login link works.
	codeTime = 15 * time.Minute
	// sessionTime is how long a browser stays logged in.
	sessionTime = 90 * 24 * time.Hour
	// maxSessions is how many logins there are, maxSessionsOf those of a device:
	// one more ends the oldest of the same device.
	maxSessions   = 1000
	maxSessionsOf = 50
	maxCodes      = 200
)

// NewToken returns a token that cannot be guessed.
func NewToken() string {
	b := make([]byte, 24)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// ourNames are those of people whom no device may pass for.
var ourNames = []string{Owner, "you"}

var deviceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// IsName reports whether a device or a group may have this name.
func IsName(name string) bool { return deviceName.MatchString(name) }

// Add makes a device and returns its token, which is kept nowhere.
func (a *Access) Add(name string, can Can, groups ...string) (token string, err error) {
	return a.add(nil, name, can, groups)
}

// add is Add by a device, which may do so when it is written.
func (a *Access) add(by *Device, name string, can Can, groups []string) (token string, err error) {
	if !deviceName.MatchString(name) || slices.Contains(ourNames, strings.ToLower(name)) {
		return "", badf("device name %q: expected letters, digits, dots and dashes, and none of %q", name, ourNames)
	}
	if !slices.Contains([]Can{CanAnswer, CanAsk, CanHook, CanMeasure, CanAdmin}, can) {
		return "", badf("a device can answer, ask, hook, measure or admin, not %q", can)
	}
	if err := checkGroups(groups); err != nil {
		return "", err
	}
	if can == CanMeasure && len(groups) > 0 {
		return "", badf("a device that can measure counts all groups: expected none for it, got %q", groups[0])
	}
	token = NewToken()
	hash := sha256.Sum256([]byte(token))
	err = a.change(by, func(k *kept) error {
		if slices.ContainsFunc(k.Devices, func(d keptDevice) bool { return strings.EqualFold(d.Name, name) }) {
			return badf("device %q is there already", name)
		}
		k.add(name, can, groups, hash)
		return nil
	})
	return token, err
}

// ErrNoDevice means that there is no device of that name.
var ErrNoDevice = errors.New("no such device")

// Remove takes a device's access away, at once: its sessions and streams end.
func (a *Access) Remove(name string) error { return a.remove(nil, name) }

func (a *Access) remove(by *Device, name string) error {
	return a.change(by, func(k *kept) error {
		d, ok := k.device(name)
		if !ok || name == Owner {
			return fmt.Errorf("%w: %q", ErrNoDevice, name)
		}
		k.Devices = slices.DeleteFunc(k.Devices, func(d keptDevice) bool { return d.Name == name })
		k.Sessions = slices.DeleteFunc(k.Sessions, func(s loginSession) bool { return s.Device == name || s.Maker == name })
		k.Codes = slices.DeleteFunc(k.Codes, func(c loginCode) bool { return c.Device == name || c.Maker == name })
		k.Pushes = slices.DeleteFunc(k.Pushes, func(p subscription) bool { return p.Device == name })
		k.Removed = append(slices.Clone(k.Removed), d.id())
		return nil
	})
}

// removed are the devices whose questions have still to be ended.
func (a *Access) removed() []string { return a.kept.Load().Removed }

// List returns the devices, without the owner.
func (a *Access) List() []Device {
	list := []Device{}
	for _, d := range a.kept.Load().Devices {
		list = append(list, d.Device)
	}
	return list
}

// Code makes a code that logs one browser in as a device, once.
func (a *Access) Code(device string) (string, error) { return a.code(nil, device) }

// PhoneCode makes a code that logs one browser in, once, as a new device that can
// answer and nothing else.
func (a *Access) PhoneCode() (string, error) { return a.newCode(nil, loginCode{Maker: Owner}) }

func (a *Access) code(by *Device, device string) (string, error) {
	c := loginCode{Device: device}
	if by != nil {
		c.Maker = by.Name
	}
	return a.newCode(by, c)
}

func (a *Access) newCode(by *Device, c loginCode) (string, error) {
	code := NewToken()
	hash := sha256.Sum256([]byte(code))
	c.Hash, c.Until = hash[:], time.Now().Add(codeTime).UTC()
	return code, a.change(by, func(k *kept) error {
		name := cmp.Or(c.Device, c.Maker)
		if _, ok := k.device(name); !ok {
			return fmt.Errorf("%w: %q", ErrNoDevice, name)
		}
		k.Codes = slices.DeleteFunc(k.Codes, func(c loginCode) bool { return time.Now().After(c.Until) })
		k.Codes = append(k.Codes, c)
		if extra := len(k.Codes) - maxCodes; extra > 0 {
			k.Codes = k.Codes[extra:]
		}
		return nil
	})
}

func (k *kept) add(name string, can Can, groups []string, hash [sha256.Size]byte) Device {
	d := keptDevice{Device: Device{Name: name, Can: can, Added: time.Now().UTC().Truncate(time.Second), Groups: groups}, Minted: name + "~" + life.Mint(), Hash: hash[:]}
	k.Devices = append(k.Devices, d)
	return d.known()
}

// addPhone makes a device for a browser that has logged in with such a code.
func (k *kept) addPhone(groups []string) Device {
	name := "phone"
	for n := 2; slices.ContainsFunc(k.Devices, func(d keptDevice) bool { return strings.EqualFold(d.Name, name) }); n++ {
		name = fmt.Sprintf("phone-%d", n)
	}
	return k.add(name, CanAnswer, groups, sha256.Sum256([]byte(NewToken()))) // nobody has its token
}

// device returns a device by name, the owner included.
func (k *kept) device(name string) (Device, bool) {
	if name == Owner {
		return Device{Name: Owner, Can: CanAdmin, token: string(k.Owner)}, true
	}
	for _, d := range k.Devices {
		if d.Name == name {
			return d.known(), true
		}
	}
	return Device{}, false
}

func (d keptDevice) known() Device {
	d.token, d.minted = string(d.Hash), d.Minted
	return d.Device
}

// still reports whether a device is there as it was when it came: with the same
// token, the same rights, and the login that it had.
func (k *kept) still(d Device) bool {
	now, ok := k.device(d.Name)
	if !ok || now.token != d.token || now.Can != d.Can || !slices.Equal(now.Groups, d.Groups) {
		return false
	}
	return d.session == "" || slices.ContainsFunc(k.Sessions, func(s loginSession) bool {
		return s.Device == d.Name && string(s.Hash) == d.session && time.Since(s.Since) < sessionTime
	})
}

// still says whether a device may still do what it may, as far as anybody knows: what
// another hub was told before counts.
func (a *Access) still(ctx context.Context, d Device) error {
	if v, ok := a.vault.(bucket); ok {
		if err := a.renew(ctx, v); err != nil {
			return err
		}
	}
	return a.here(d)
}

// here is still as far as this hub knows.
func (a *Access) here(d Device) error {
	if !a.kept.Load().still(d) {
		return hub.ErrRight
	}
	return nil
}

// hashes are those of all tokens.
func (a *Access) hashes() [][]byte {
	k := a.kept.Load()
	all := [][]byte{a.ownerHash(k)}
	for _, d := range k.Devices {
		all = append(all, d.Hash)
	}
	return all
}

// byToken returns whose token it is: no token is nobody's.
func (a *Access) byToken(token string) (Device, bool) {
	hash := sha256.Sum256([]byte(token))
	k, found, ok := a.kept.Load(), Device{}, false
	if subtle.ConstantTimeCompare(hash[:], a.ownerHash(k)) == 1 {
		found, ok = k.device(Owner)
	}
	for _, d := range k.Devices {
		if subtle.ConstantTimeCompare(hash[:], d.Hash) == 1 {
			found, ok = d.known(), true
		}
	}
	return found, ok && token != ""
}

// elsewhere is who ended a question, as its asker says. It must not pass for somebody
// whom the reader knows, and depends on nothing that the asker may not know: what is
// made of a name tells nobody which devices there are.
func elsewhere(by string, asker Device) string {
	if name := strings.ToLower(strings.TrimSpace(clean.Line(by))); slices.Contains(ourNames, name) || name == strings.ToLower(asker.Name) {
		return fmt.Sprintf("%q, says %s", clean.Line(by), asker.Name)
	}
	return by
}
