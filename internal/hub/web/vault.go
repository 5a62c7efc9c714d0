package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// vault keeps who may use a hub, as one value.
type vault interface {
	// load returns the value and its revision; 0 means that there is none.
	load(context.Context) (data []byte, revision uint64, err error)
	// save replaces the value that has the revision old, or fails with
	// [hubstore.ErrConflict].
	save(ctx context.Context, data []byte, old uint64) (revision uint64, err error)
}

// changeTime bounds a change: a cluster may have no leader for some seconds.
const changeTime = 20 * time.Second

// OpenAccess reads who may use a hub from a file, which is made if it is not
// there. token is the owner's. If it is another one than before, what was made with
// that one ends, see [Access.SetOwner]; the file as it was is kept beside it, for the
// token's file may be damaged.
func OpenAccess(path, token string) (*Access, error) {
	f := &file{path: path}
	a, err := open(context.Background(), f, token)
	if err == nil && a.ownerChanged() {
		a.before = path + ".before"
		err = copyPrivate(a.before, path)
	}
	if err == nil {
		err = a.SetOwner(token)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Before is a copy of the file as it was before the owner had another token, or empty.
func (a *Access) Before() string { return a.before }

func copyPrivate(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// OpenShared reads who may use hubs from a store that they share. What one of
// them changes holds at all of them, the owner's token too: the first hub brings
// it, and one with another fails with [ErrOtherOwner]. A nil logger discards.
func OpenShared(ctx context.Context, store *hubstore.Store, token string, log *slog.Logger) (*Access, error) {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	a, err := open(ctx, bucket{store}, token)
	if err == nil {
		err = a.joinOwner()
	}
	if err != nil {
		return nil, err
	}
	told := false
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	watching.Go(func() {
		err := store.Watch(own, func(e hubstore.Entry) {
			if e.Key != accessKey {
				return
			}
			if err := a.take(e.Value, e.Revision); err != nil {
				log.Error("who may use the hub cannot be read, and stays as it was", "err", err)
			}
			if !told && a.ownerChanged() {
				told = true
				log.Warn(newOwnerText)
			}
		}, func() {})
		if own.Err() == nil {
			log.Error("changes of who may use the hub are no longer followed", "err", err)
		}
	})
	a.stop = func() { cancel(); watching.Wait() }
	return a, nil
}

// OpenStored reads the same for a command that changes it: no hub is there for
// anybody.
func OpenStored(ctx context.Context, store *hubstore.Store) (*Access, error) {
	return open(ctx, bucket{store}, NewToken())
}

// Close ends following the store.
func (a *Access) Close() { a.stop() }

func open(ctx context.Context, v vault, token string) (*Access, error) {
	if len(token) < minOwnerToken {
		return nil, errShortToken
	}
	a := &Access{vault: v, owner: sha256.Sum256([]byte(token)), there: map[login]being{}, fresh: fresh{reading: make(chan struct{}, 1)}, stop: func() {}}
	a.kept.Store(&kept{})
	if b, ok := v.(bucket); ok {
		a.fence = b.store.Fence
	}
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	for {
		data, revision, err := v.load(ctx)
		switch {
		case err != nil:
			return nil, err
		case revision != 0:
			err := a.take(data, revision)
			a.instance = a.kept.Load().Instance
			return a, err
		}
		first, err := json.Marshal(kept{Instance: NewToken()[:8]})
		if err != nil {
			return nil, err
		}
		if _, err := v.save(ctx, first, 0); err != nil && !errors.Is(err, hubstore.ErrConflict) { // another hub is as new
			return nil, err
		}
	}
}

// take takes a value of the vault, unless a later one is known.
func (a *Access) take(data []byte, revision uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.kept.Load()
	if revision <= before.revision {
		return nil
	}
	k := kept{revision: revision}
	err := json.Unmarshal(data, &k)
	if err == nil && k.Version > accessVersion {
		return fmt.Errorf("the list of devices: expected version %d at most, got %d: a newer hub wrote it", accessVersion, k.Version)
	}
	if err == nil && k.Instance == "" {
		err = errors.New("expected the name of an instance")
	}
	if err != nil {
		return fmt.Errorf("the list of devices is damaged: remove it to start with none: %w", err)
	}
	a.kept.Store(&k)
	for l, b := range a.there {
		was, _ := before.device(l.device)
		if now, _ := k.device(l.device); !k.holds(l) || was.token != "" && was.token != now.token { // or it is another of that name
			delete(a.there, l)
			b.end()
		}
	}
	return nil
}

// errUnchanged ends a change that is none.
var errUnchanged = errors.New("unchanged")

// change edits a copy of what is kept and saves it, again if another hub was
// first. by is the device that wants it, if one does: it must have the right in what
// is replaced.
func (a *Access) change(by *Device, edit func(*kept) error) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), changeTime)
	defer cancel()
	for {
		before := a.kept.Load()
		next := *before
		next.Devices, next.Sessions, next.Codes = slices.Clone(next.Devices), slices.Clone(next.Sessions), slices.Clone(next.Codes)
		next.Pushes, next.Away = slices.Clone(next.Pushes), slices.Clone(next.Away)
		if by != nil && !next.still(*by) {
			return hub.ErrRight
		}
		if err := edit(&next); errors.Is(err, errUnchanged) {
			return nil
		} else if err != nil {
			return err
		}
		data, err := json.MarshalIndent(next, "", "  ")
		if err != nil {
			return err
		}
		revision, err := a.vault.save(ctx, data, before.revision)
		switch {
		case err == nil:
			if err := a.take(data, revision); err != nil {
				return err
			}
			return a.fenceOff(ctx, before, &next)
		case !errors.Is(err, hubstore.ErrConflict):
			return err
		}
		if data, revision, err = a.vault.load(ctx); err != nil {
			return err
		}
		if err := a.take(data, revision); err != nil {
			return err
		}
	}
}

// fenceOff returns when nobody who has lost a right by a change answers anything any more.
func (a *Access) fenceOff(ctx context.Context, before, after *kept) error {
	if a.fence == nil || !after.less(before) {
		return nil
	}
	if err := a.fence(ctx); err != nil {
		return fmt.Errorf("it is written, but an answer that was on its way may still count: %w", err)
	}
	return nil
}

// less reports whether somebody may no longer do what they could before.
func (k *kept) less(before *kept) bool {
	return !slices.Equal(k.Owner, before.Owner) ||
		slices.ContainsFunc(before.Devices, func(d keptDevice) bool { return !k.still(d.known()) }) ||
		slices.ContainsFunc(before.Sessions, func(s loginSession) bool { return !k.holds(login{s.Device, string(s.Hash)}) })
}

// file is a vault that only one process uses at a time.
type file struct {
	path     string
	revision uint64
}

func (f *file) load(context.Context) ([]byte, uint64, error) {
	data, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	}
	if data, err = unsealed(data); err != nil {
		return nil, 0, fmt.Errorf("%s is damaged: %w. Nothing was changed: put a copy of it back, or remove it to start with no devices", f.path, err)
	}
	f.revision = max(f.revision, 1)
	return data, f.revision, nil
}

// sumHead is what an object in the file begins with: the sum of the rest of it. A byte
// that is damaged may leave it an object, with other rights.
const sumHead = `{"sum":"`

func sealed(data []byte) []byte {
	sum := sha256.Sum256(data)
	return fmt.Appendf(nil, "%s%x\",%s\n", sumHead, sum, bytes.TrimPrefix(data, []byte("{")))
}

// unsealed is what was sealed. What was written by an older hub, or by hand, has no sum.
func unsealed(data []byte) ([]byte, error) {
	if !json.Valid(data) {
		return nil, errors.New("it is not JSON")
	}
	rest, ok := bytes.CutPrefix(data, []byte(sumHead))
	if !ok {
		return data, nil
	}
	sum, rest, ok := bytes.Cut(rest, []byte(`",`))
	rest = append([]byte("{"), bytes.TrimSuffix(rest, []byte("\n"))...)
	if now := sha256.Sum256(rest); !ok || string(sum) != hex.EncodeToString(now[:]) {
		return nil, errors.New("it is not as it was written")
	}
	return rest, nil
}

func (f *file) save(_ context.Context, data []byte, _ uint64) (uint64, error) {
	if err := WriteFile(f.path, sealed(data)); err != nil {
		return 0, err
	}
	f.revision++
	return f.revision, nil
}

// WriteFile writes a file of a hub's folder whole or not at all, for its owner alone. A
// power cut does not undo it.
func WriteFile(name string, data []byte) error {
	t, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // 0600
	if err == nil {
		defer os.Remove(t.Name())
		_, err = t.Write(data)
		err = errors.Join(err, t.Sync(), t.Close())
	}
	if err == nil {
		err = os.Rename(t.Name(), name)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(name))
	}
	var why syscall.Errno
	if errors.As(err, &why) { // the error names another file, which is gone
		err = why
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	return nil
}

// syncFolder puts the names of a folder's files on the disk.
var syncFolder = func(name string) error {
	if runtime.GOOS == "windows" { // it has no such thing
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// bucket is a vault that hubs share.
type bucket struct{ store *hubstore.Store }

const accessKey = "access"

func (b bucket) load(ctx context.Context) ([]byte, uint64, error) {
	e, err := b.store.Get(ctx, accessKey)
	if errors.Is(err, hubstore.ErrNotFound) {
		return nil, 0, nil
	}
	return e.Value, e.Revision, err
}

// last is load for whoever must know of what was changed elsewhere before.
func (b bucket) last(ctx context.Context) ([]byte, uint64, error) {
	e, err := b.store.Last(ctx, accessKey)
	return e.Value, e.Revision, err
}

func (b bucket) save(ctx context.Context, data []byte, old uint64) (uint64, error) {
	if old == 0 {
		return b.store.Create(ctx, accessKey, data)
	}
	return b.store.Update(ctx, accessKey, data, old)
}
