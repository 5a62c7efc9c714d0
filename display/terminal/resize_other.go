//go:build !unix

package terminal

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// watchSize does nothing: here questions are asked in lines.
func (d *device) watchSize(context.Context, *tea.Program) {}
