package client

import "github.com/acp-bridge/acp-bridge/internal/terminal/cells"

// Screen is for tests from outside.
type Screen = screen

// width is the most columns that a line takes on any terminal.
var width = cells.Width

// Columns is the width of a line.
var Columns = width
