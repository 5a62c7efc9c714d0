package hub_test

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"syscall"
	"time"
	"unsafe"
)

// wrongStart is a moment on the wrong clock. What is measured from it is right.
var wrongStart time.Time

func wrongNow() time.Time { return wrongStart.Add(time.Since(wrongStart)) }

// setClock makes time.Now wrong in this process, also for its libraries. Timers
// and what is measured stay right, as on a machine whose clock was set wrong. No
// other way reaches all of a process: its first instructions become a jump.
func setClock(by time.Duration) error {
	wrongStart = time.Now()
	// The first word of a time has the seconds of the wall clock above 30 bits.
	*(*uint64)(unsafe.Pointer(&wrongStart)) += uint64(by/time.Second) << 30
	jump := binary.LittleEndian.AppendUint64([]byte{0x49, 0xbb}, uint64(reflect.ValueOf(wrongNow).Pointer())) // MOVQ $wrongNow, R11
	jump = append(jump, 0x41, 0xff, 0xe3)                                                                     // JMP R11
	at := reflect.ValueOf(time.Now).Pointer()
	page := uintptr(syscall.Getpagesize())
	first, end := at&^(page-1), at+uintptr(len(jump))
	size := (end - first + page - 1) &^ (page - 1)
	if _, _, err := syscall.Syscall(syscall.SYS_MPROTECT, first, size, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC); err != 0 {
		return fmt.Errorf("the code of time.Now cannot be written: %w", err)
	}
	copy(unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), len(jump)), jump)
	return nil
}
