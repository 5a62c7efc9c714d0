package main

import (
	"strings"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
)

// column is the width of a table's column.
type column int

// row lays cells out side by side, each broken at blanks to the width of its
// column, and ends with a new line.
func row(columns []column, cells ...string) string {
	var lines [][]string // by column
	height := 0
	for i, c := range columns {
		lines = append(lines, strings.Split(strings.TrimSuffix(cli.Wrap(cells[i], int(c)), "\n"), "\n"))
		height = max(height, len(lines[i]))
	}
	var b strings.Builder
	for y := range height {
		line := ""
		for i, c := range columns {
			cell := ""
			if y < len(lines[i]) {
				cell = lines[i][y]
			}
			line += cell + strings.Repeat(" ", max(0, int(c)-len([]rune(cell)))+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
