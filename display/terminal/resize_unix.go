//go:build unix

package terminal

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	tea "charm.land/bubbletea/v2"
)

// watchSize tells the program when the terminal's size changes.
func (d *device) watchSize(ctx context.Context, p *tea.Program) {
	winch := make(chan os.Signal, 1)
	signal.Notify(winch, syscall.SIGWINCH)
	defer signal.Stop(winch)
	for {
		select {
		case <-ctx.Done():
			return
		case <-winch:
		}
		if w, h, ok := d.size(); ok {
			p.Send(tea.WindowSizeMsg{Width: w, Height: h})
		}
	}
}
