package claude

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What sessions have in common is there once, and gone with the last of them.
func TestInitInfoIsShared(t *testing.T) {
	reply := func(command string) []byte {
		return fmt.Appendf(nil, `{"commands":[{"name":%q}],"models":[{"value":"m","supportsEffort":true,"supportedEffortLevels":["low"]}],"pid":%d}`, command, time.Now().UnixNano())
	}
	a, b, c := parseInit(reply("x")), parseInit(reply("x")), parseInit(reply("y"))
	require.Equal(t, []Command{{Name: "x"}}, a.Commands)
	require.Equal(t, []Model{{Value: "m", Efforts: []string{"low"}}}, a.Models)
	require.Same(t, &a.Commands[0], &b.Commands[0])
	require.Same(t, &a.Models[0], &b.Models[0])
	require.Equal(t, []Command{{Name: "y"}}, c.Commands)
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	runtime.KeepAlive(c)
	left := func() int {
		runtime.GC()
		shared.Lock()
		defer shared.Unlock()
		return len(shared.offers)
	}
	require.Eventually(t, func() bool { return left() == 0 }, time.Minute, 10*time.Millisecond)
}
