package hub_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// disk is an ext4 of a hub's own, in a file. What that file has is what the disk
// would have after a power cut: the rest is in memory.
type disk struct {
	t                  *testing.T
	image, dir, filler string
}

// newDisk mounts a disk, if the system lets us and the heavy faults are wanted.
func newDisk(t *testing.T) *disk {
	t.Helper()
	if _, wanted := os.LookupEnv("ACP_BRIDGE_FAULTS"); !wanted {
		t.Skip("SKIPPED: makes and mounts a disk of its own; set ACP_BRIDGE_FAULTS, as .ci/run does")
	}
	base := t.TempDir()
	d := &disk{t: t, image: filepath.Join(base, "image"), dir: filepath.Join(base, "mounted")}
	require.NoError(t, os.Mkdir(d.dir, 0o700))
	require.NoError(t, os.WriteFile(d.image, nil, 0o600))
	require.NoError(t, os.Truncate(d.image, 48<<20))
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-m", "0", d.image).CombinedOutput(); err != nil {
		t.Skipf("!! NO DISK IS BROKEN HERE: mkfs.ext4: %v %s", err, out)
	}
	if err := d.mount(); err != nil {
		t.Skipf("!! NO DISK IS BROKEN HERE: %v", err)
	}
	return d
}

// mount makes the disk readable. What is only in memory is written when it is asked
// for, and hardly ever else.
func (d *disk) mount(options ...string) error {
	all := strings.Join(append([]string{"loop", "commit=300"}, options...), ",")
	if out, err := exec.Command("mount", "-o", all, d.image, d.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("mount: %w: %s", err, out)
	}
	dir := d.dir
	d.t.Cleanup(func() { _ = exec.Command("umount", dir).Run() }) // hubs have ended by then
	return nil
}

func (d *disk) remount(options string) {
	d.t.Helper()
	out, err := exec.Command("mount", "-o", "remount,"+options, d.dir).CombinedOutput()
	require.NoError(d.t, err, string(out))
}

// data is the hub's folder.
func (d *disk) data() string { return filepath.Join(d.dir, "data") }

// start starts a hub there.
func (d *disk) start() *process {
	d.t.Helper()
	require.NoError(d.t, os.MkdirAll(d.data(), 0o700))
	return startHub(d.t, d.data(), "127.0.0.1:0")
}

// fill leaves no room.
func (d *disk) fill() {
	d.filler = filepath.Join(d.dir, "filler")
	file, err := os.Create(d.filler)
	require.NoError(d.t, err)
	defer file.Close()
	block := make([]byte, 1<<20)
	for size := len(block); size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = file.Write(block[:size])
		}
		require.ErrorIs(d.t, err, syscall.ENOSPC)
	}
}

// cut returns a disk as it would be after a power cut now.
func (d *disk) cut() *disk {
	d.t.Helper()
	base := d.t.TempDir()
	after := &disk{t: d.t, image: filepath.Join(base, "image"), dir: filepath.Join(base, "mounted")}
	require.NoError(d.t, os.Mkdir(after.dir, 0o700))
	out, err := exec.Command("cp", "--sparse=always", d.image, after.image).CombinedOutput()
	require.NoError(d.t, err, string(out))
	require.NoError(d.t, after.mount())
	return after
}

// stops stops a hub. To ask for it is not enough: what its threads have begun to write they
// write to the end.
func (p *process) stops() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGSTOP))
	require.Eventually(p.t, func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
		return err == nil && !slices.ContainsFunc(threads, func(name string) bool {
			stat, _ := os.ReadFile(name)
			return !strings.Contains(string(stat), ") T ")
		})
	}, patience, time.Millisecond)
}

// told waits until the hub's operator was told, and the hub has ended.
func (p *process) told(words ...string) {
	p.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.wait() }()
	select {
	case err := <-ended:
		require.Error(p.t, err, "whoever watches over it sees that it failed")
	case <-time.After(3 * patience):
		p.t.Fatalf("the hub goes on:\n%s", p.said())
	}
	for _, w := range words {
		require.Contains(p.t, p.said(), w)
	}
}

// A disk that is full, or fails and is read-only from then on, is told to whoever
// asks and to whoever runs the hub, which ends. Nothing that it had taken is lost, and
// it goes on when there is room.
func TestDiskThatTakesNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct{ begin, mend func(*disk) }{
		"full": {(*disk).fill, func(d *disk) { require.NoError(d.t, os.Remove(d.filler)) }},
		// What is unmounted may be mounted still in a namespace of others, and stays read-only there.
		"read-only": {func(d *disk) { d.remount("abort") }, func(d *disk) { *d = *d.cut() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t)
			p := d.start()
			require.Equal(t, http.StatusAccepted, p.post("/conversations/c1/ask", askBody("toolu_1_x")))
			require.Equal(t, http.StatusAccepted, p.post("/conversations/c2/ask", askBody("toolu_2_x")))
			require.Equal(t, http.StatusOK, p.post("/conversations/c1/respond", `{"answers":{"Go on?":"Yes"}}`))
			fault.begin(d)
			refused := func() bool {
				return p.post("/conversations/c2/respond", `{"answers":{"Go on?":"No"}}`) == http.StatusServiceUnavailable
			}
			answered := 0
			for !refused() { // there may be some room left in the file
				answered++
				id := fmt.Sprint("toolu_more_", answered)
				if p.post("/conversations/more/ask", askBody(id)) != http.StatusAccepted {
					break
				}
			}
			p.told("is the disk full", "the hub ends")
			fault.mend(d)
			p = d.start()
			require.Contains(t, string(p.get("/conversations/c1/questions/toolu_1_x")), `"Go on?":"Yes"`)
			c2 := string(p.get("/conversations/c2/questions/toolu_2_x"))
			if answered == 0 {
				require.Contains(t, c2, "awaiting_user_response", "that one got no 200")
				require.Equal(t, http.StatusOK, p.post("/conversations/c2/respond", `{"answers":{"Go on?":"No"}}`))
			} else {
				require.Contains(t, c2, `"Go on?":"No"`)
			}
		})
	}
}

// A hub that is started where it cannot write says so, and ends.
func TestStartOnAReadOnlyDisk(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	p := d.start()
	require.Equal(t, http.StatusAccepted, p.post("/conversations/c1/ask", askBody("toolu_1_x")))
	p.kill()
	d.remount("ro")
	cmd := exec.Command(program(t), "--data", d.data(), "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "ACP_BRIDGE_HUB_TEST=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "read-only file system")
	d.remount("rw")
	p = d.start()
	require.Contains(t, string(p.get("/conversations/c1/questions/toolu_1_x")), "awaiting_user_response")
}

// A power cut takes nothing of what the hub has said that it keeps: questions, answers,
// and that a device was removed. That is what the disk has at that moment, and not
// what its files seem to be.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	p := d.start()
	var mu sync.Mutex
	var calm sync.RWMutex                                   // whoever has it is alone with the hub
	fates, devices := map[string]*fate{}, map[string]bool{} // whether a device is there
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for worker := range 3 {
		busy.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				calm.RLock()
				p.live(fmt.Sprintf("call-%d-%d-x", worker, n), &mu, fates, devices)
				calm.RUnlock()
			}
		})
	}
	for round := range 4 {
		mu.Lock()
		before := len(fates)
		mu.Unlock()
		require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(fates) > before+5 }, patience, time.Millisecond)
		if round%2 == 1 { // what it is told last, with nothing behind it that is kept
			calm.Lock()
			name := fmt.Sprint("lost-", round)
			require.Equal(t, http.StatusOK, p.post("/devices", `{"name":"`+name+`","can":"answer"}`))
			require.Equal(t, http.StatusAccepted, p.post("/conversations/"+name+"/ask", askBody(name)))
			require.Equal(t, http.StatusOK, p.request(http.MethodDelete, "/devices/"+name, ""))
			mu.Lock()
			devices[name] = false
			mu.Unlock()
		}
		p.stops()
		mu.Lock() // what was replied until now
		kept, there := map[string]*fate{}, map[string]bool{}
		for id, f := range fates {
			kept[id] = &fate{id: f.id, given: f.given, tried: map[string]bool{"maybe": true}}
		}
		for name, is := range devices {
			there[name] = is
		}
		mu.Unlock()
		after := d.cut()
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
		if round%2 == 1 {
			calm.Unlock()
		}
		q := after.start()
		require.NotContains(t, q.said(), "DAMAGED")
		checkFates(t, q, kept)
		list := string(q.get("/devices"))
		for name, is := range there {
			require.Equal(t, is, strings.Contains(list, `"`+name+`"`), "%s in %s", name, list)
		}
		q.kill()
	}
	close(stop)
	busy.Wait()
}

// live asks and answers a question, and adds and removes a device; what got a reply is
// noted.
func (p *process) live(id string, mu *sync.Mutex, fates map[string]*fate, devices map[string]bool) {
	f := &fate{id: id}
	if p.post("/conversations/c"+id+"/ask", askBody(id)) != http.StatusAccepted {
		return
	}
	note := func(do func()) { mu.Lock(); defer mu.Unlock(); do() }
	note(func() { fates[id] = f })
	if p.post("/conversations/c"+id+"/respond", `{"answers":{"Go on?":"Yes"}}`) == http.StatusOK {
		note(func() { f.given = "Yes" })
	}
	if p.post("/devices", `{"name":"`+id+`","can":"ask"}`) == http.StatusOK {
		if p.request(http.MethodDelete, "/devices/"+id, "") == http.StatusOK {
			note(func() { devices[id] = false })
		}
	}
}
