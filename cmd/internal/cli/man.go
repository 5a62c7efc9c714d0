package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

func (p *Program) manCommand() Command {
	return Command{
		Name: "man", Summary: "print the manual",
		About: "Print the manual page, as man reads it.",
		Examples: []Example{
			{p.Name + " man | man -l -", "read it"},
			{p.Name + " man >~/.local/share/man/man1/" + p.Name + ".1", "keep it"},
		},
		Make: func(fs *Flags) Runner {
			return fs.Alone(func(_ context.Context, s Streams) error {
				_, err := io.WriteString(s.Out, p.Manual())
				return err
			})
		},
	}
}

// Manual is the manual page.
func (p *Program) Manual() string {
	var b strings.Builder
	c, _ := p.Find(p.Default)
	fmt.Fprintf(&b, `.TH %s 1 "" "%s %s" "User Commands"
.SH NAME
%s \- %s
.SH SYNOPSIS
.B %s
%s
.br
.B %s
\fICOMMAND\fR [\fIFLAGS\fR]
.SH DESCRIPTION
%s
.SH COMMANDS
`, strings.ToUpper(p.Name), p.Name, roff(p.Version()), p.Name, roff(p.Title), p.Name, placeholder().ReplaceAllString(roff(p.synopsis(c, c.Args, p.FlagsOf(c))), `\fI$0\fR`), p.Name, roff(p.Description))
	for _, c := range p.All() {
		fs := p.FlagsOf(c)
		for i, args := range append([]string{c.Args}, c.Other...) {
			lead := ".TP\n"
			if i > 0 {
				lead = ".TQ\n"
			}
			fmt.Fprintf(&b, "%s\\fB%s %s\\fR\n", lead, roff(p.Name), roff(p.synopsis(c, args, fs)))
		}
		fmt.Fprintf(&b, "%s\n", roff(c.About))
		for _, f := range append(slices.Clone(c.Table), fs.List()...) {
			fmt.Fprintf(&b, ".RS\n.TP\n\\fB%s\\fR\n%s\n.RE\n", roff(f.Line), roff(f.What))
		}
	}
	for _, t := range p.Topics() {
		title, text, _ := strings.Cut(t.Text, "\n\n")
		fmt.Fprintf(&b, ".SH %s\n.nf\n", strings.ToUpper(roff(title)))
		for line := range strings.Lines(text) {
			b.WriteString(roff(line))
		}
		b.WriteString(".fi\n")
	}
	fmt.Fprintf(&b, ".SH EXIT STATUS\n%s\n.SH ENVIRONMENT\n", roff(p.Exits))
	for _, v := range p.Variables {
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roff(v.Line), roff(v.What))
	}
	b.WriteString(".SH EXAMPLES\n")
	for _, c := range p.All() {
		for _, e := range c.Examples {
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roff(e.Line), roff(cmp.Or(e.What, c.Summary)))
		}
	}
	return b.String()
}

// placeholder is a word of a synopsis that stands for another.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Z][A-Z\\-]+`) })

// roff is a text as troff takes it literally.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "~", `\(ti`, "^", `\(ha`, "`", `\(ga`, "…", "...").Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	var b strings.Builder
	for _, r := range s { // it takes ASCII alone
		if r < 128 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}
