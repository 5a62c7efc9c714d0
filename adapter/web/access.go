package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Can is what a credential may do.
type Can string

const (
	// CanAnswer may read what waits, answer and cancel it.
	CanAnswer Can = "answer"
	// CanAsk may ask, and see and take back what it asked.
	CanAsk Can = "ask"
	// CanAdmin may do everything, the devices included.
	CanAdmin Can = "admin"
)

// Owner is the name of who has the hub's own token.
const Owner = "owner"

// Device is one more credential.
type Device struct {
	Name  string    `json:"name"`
	Can   Can       `json:"can"`
	Added time.Time `json:"added"`
}

// Access knows who may do what. Of tokens and sessions only hashes are kept. Its
// methods may be called from any goroutine.
type Access struct {
	path  string
	owner [32]byte

	mu      sync.Mutex
	kept    kept
	codes   map[[32]byte]loginCode
	removed map[string]chan struct{} // by device, closed when it is removed
}

type kept struct {
	// Instance tells this hub's cookies from those of others on the machine.
	Instance string         `json:"instance"`
	Devices  []keptDevice   `json:"devices,omitempty"`
	Sessions []loginSession `json:"sessions,omitempty"`
}

type keptDevice struct {
	Device
	Hash []byte `json:"hash"`
}

type loginSession struct {
	Device string    `json:"device"`
	Hash   []byte    `json:"hash"`
	Since  time.Time `json:"since"`
}

type loginCode struct {
	device string
	until  time.Time
}

const (
	// codeTime is how long a login link works.
	codeTime = 15 * time.Minute
	// sessionTime is how long a browser stays logged in.
	sessionTime = 90 * 24 * time.Hour
	maxSessions = 200
)

// OpenAccess reads who may use a hub from a file, which is made if it is not
// there. token is the owner's.
func OpenAccess(path, token string) (*Access, error) {
	if len(token) < 16 {
		return nil, errors.New("the owner's token is too short: expected at least 16 characters")
	}
	a := &Access{path: path, owner: sha256.Sum256([]byte(token)), codes: map[[32]byte]loginCode{}, removed: map[string]chan struct{}{}}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		a.kept.Instance = NewToken()[:8]
		return a, a.save()
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(data, &a.kept); err != nil || a.kept.Instance == "" {
		return nil, fmt.Errorf("%s is damaged: remove it to start with no devices: %w", path, err)
	}
	return a, nil
}

// NewToken returns a token that cannot be guessed.
func NewToken() string {
	b := make([]byte, 24)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

var deviceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Add makes a device and returns its token, which is kept nowhere.
func (a *Access) Add(name string, can Can) (token string, err error) {
	if !deviceName.MatchString(name) || name == Owner {
		return "", fmt.Errorf("device name %q: expected letters, digits, dots and dashes, and not %q", name, Owner)
	}
	if can != CanAnswer && can != CanAsk && can != CanAdmin {
		return "", fmt.Errorf("a device can answer, ask or admin, not %q", can)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(a.kept.Devices, func(d keptDevice) bool { return d.Name == name }) {
		return "", fmt.Errorf("device %q is there already", name)
	}
	token = NewToken()
	hash := sha256.Sum256([]byte(token))
	before := a.kept
	a.kept.Devices = append(slices.Clone(before.Devices), keptDevice{Device{name, can, time.Now().UTC().Truncate(time.Second)}, hash[:]})
	if err := a.save(); err != nil {
		a.kept = before
		return "", err
	}
	return token, nil
}

// ErrNoDevice means that there is no device of that name.
var ErrNoDevice = errors.New("no such device")

// Remove takes a device's access away, at once: its sessions and streams end.
func (a *Access) Remove(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.kept
	a.kept.Devices = slices.DeleteFunc(slices.Clone(before.Devices), func(d keptDevice) bool { return d.Name == name })
	if len(a.kept.Devices) == len(before.Devices) {
		return fmt.Errorf("%w: %q", ErrNoDevice, name)
	}
	a.kept.Sessions = slices.DeleteFunc(slices.Clone(before.Sessions), func(s loginSession) bool { return s.Device == name })
	if err := a.save(); err != nil {
		a.kept = before
		return err
	}
	for hash, c := range a.codes {
		if c.device == name {
			delete(a.codes, hash)
		}
	}
	if c := a.removed[name]; c != nil {
		delete(a.removed, name)
		close(c)
	}
	return nil
}

// List returns the devices, without the owner.
func (a *Access) List() []Device {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := []Device{}
	for _, d := range a.kept.Devices {
		list = append(list, d.Device)
	}
	return list
}

// Code makes a code that logs one browser in as a device, once.
func (a *Access) Code(device string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.device(device); !ok {
		return "", fmt.Errorf("%w: %q", ErrNoDevice, device)
	}
	for hash, c := range a.codes {
		if time.Now().After(c.until) {
			delete(a.codes, hash)
		}
	}
	code := NewToken()
	a.codes[sha256.Sum256([]byte(code))] = loginCode{device, time.Now().Add(codeTime)}
	return code, nil
}

// device returns a device by name, the owner included. mu is held.
func (a *Access) device(name string) (Device, bool) {
	if name == Owner {
		return Device{Name: Owner, Can: CanAdmin}, true
	}
	for _, d := range a.kept.Devices {
		if d.Name == name {
			return d.Device, true
		}
	}
	return Device{}, false
}

// byToken returns whose token it is.
func (a *Access) byToken(token string) (Device, bool) {
	hash := sha256.Sum256([]byte(token))
	a.mu.Lock()
	defer a.mu.Unlock()
	found, ok := Device{}, false
	if subtle.ConstantTimeCompare(hash[:], a.owner[:]) == 1 {
		found, ok = a.device(Owner)
	}
	for _, d := range a.kept.Devices {
		if subtle.ConstantTimeCompare(hash[:], d.Hash) == 1 {
			found, ok = d.Device, true
		}
	}
	return found, ok
}

// bySession returns whose cookie it is.
func (a *Access) bySession(id string) (Device, bool) {
	hash := sha256.Sum256([]byte(id))
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.kept.Sessions {
		if subtle.ConstantTimeCompare(hash[:], s.Hash) == 1 && time.Since(s.Since) < sessionTime {
			return a.device(s.Device)
		}
	}
	return Device{}, false
}

// login makes a session of a code, which is used up, or of a token.
func (a *Access) login(code, token string) (session string, ok bool, err error) {
	var d Device
	if token != "" {
		d, ok = a.byToken(token)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if code != "" {
		hash := sha256.Sum256([]byte(code))
		c, found := a.codes[hash]
		delete(a.codes, hash)
		if ok = found && time.Now().Before(c.until); ok {
			d, ok = a.device(c.device)
		}
	}
	if !ok {
		return "", false, nil
	}
	session = NewToken()
	hash := sha256.Sum256([]byte(session))
	before := a.kept
	a.kept.Sessions = append(slices.Clone(before.Sessions), loginSession{d.Name, hash[:], time.Now().UTC()})
	if extra := len(a.kept.Sessions) - maxSessions; extra > 0 {
		a.kept.Sessions = a.kept.Sessions[extra:]
	}
	if err := a.save(); err != nil {
		a.kept = before
		return "", false, err
	}
	return session, true, nil
}

// logout ends a browser's session.
func (a *Access) logout(id string) error {
	hash := sha256.Sum256([]byte(id))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept.Sessions = slices.DeleteFunc(slices.Clone(a.kept.Sessions), func(s loginSession) bool {
		return subtle.ConstantTimeCompare(hash[:], s.Hash) == 1
	})
	return a.save()
}

// gone is closed when a device is removed.
func (a *Access) gone(device string) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.removed[device]
	if c == nil {
		c = make(chan struct{})
		if _, ok := a.device(device); ok {
			a.removed[device] = c
		} else {
			close(c)
		}
	}
	return c
}

func (a *Access) cookie() string { return "acp_bridge_hub_" + a.kept.Instance }

// save writes the file whole or not at all. mu is held.
func (a *Access) save() error {
	data, err := json.MarshalIndent(a.kept, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(a.path), ".access-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err = f.Write(append(data, '\n')); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), a.path)
}
