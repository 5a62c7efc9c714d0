package cli

import (
	"flag"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Width is that of a terminal.
const Width = 80

// List are the flags with their values and defaults: how each is typed, and what
// it does.
func (f *Flags) List() (list []Example) {
	f.VisitAll(func(fl *flag.Flag) {
		value, usage := flag.UnquoteUsage(fl)
		line := Dashed(fl.Name)
		if value != "" {
			line += " " + strings.ToUpper(value)
		}
		switch variable := f.env[fl.Name]; {
		case variable != "":
			usage += " (default: $" + variable + ")"
		case fl.DefValue != "" && fl.DefValue != "false" && !strings.Contains(usage, "default"):
			usage += " (default: " + strings.ToLower(fl.DefValue) + ")"
		}
		list = append(list, Example{line, clean.Line(strings.ReplaceAll(usage, "\n", " "))})
	})
	return list
}

// Dashed is a flag as people write it.
func Dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// Wrap breaks a text at blanks, and ends it with a new line.
func Wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case column > 0 && column+1+n > width:
			b.WriteByte('\n')
			column = 0
		case column > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	b.WriteByte('\n')
	return b.String()
}

// Indent puts the lead in front of each line.
func Indent(text, lead string) string {
	return lead + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+lead) + "\n"
}
