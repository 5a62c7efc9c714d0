package main

import (
	"context"
	"fmt"
	"strings"
)

func manCommand(fs *flagSet) runner {
	return func(_ context.Context, args []string, s streams) error {
		if err := fs.parseFlags(args, ""); err != nil {
			return err
		}
		_, err := fmt.Fprint(s.out, manual())
		return err
	}
}

// manual is the manual page.
func manual() string {
	var b strings.Builder
	fmt.Fprintf(&b, `.TH ACP-BRIDGE 1 "" "acp-bridge %s" "User Commands"
.SH NAME
acp-bridge \- run Claude Code in ACP editors, its questions included
.SH SYNOPSIS
.B acp-bridge
[\fIFLAGS\fR] [\-\- \fICLAUDE-ARGUMENTS\fR]
.br
.B acp-bridge
\fICOMMAND\fR [\fIFLAGS\fR]
.SH DESCRIPTION
Coding agents ask their users questions. acp-bridge asks them in every editor that speaks the Agent Client Protocol:
as a form, as a permission request, or as a message in the conversation. Without a command it is what an editor starts.
.SH COMMANDS
`, roff(version()))
	for _, c := range commands() {
		fs := newFlags(c.name, streams{})
		c.make(fs)
		for i, args := range append([]string{c.args}, c.other...) {
			lead := ".TP\n"
			if i > 0 {
				lead = ".TQ\n"
			}
			fmt.Fprintf(&b, "%s\\fBacp\\-bridge %s\\fR\n", lead, roff(c.synopsis(args, fs)))
		}
		fmt.Fprintf(&b, "%s\n", roff(c.about))
		for _, f := range listFlags(fs) {
			fmt.Fprintf(&b, ".RS\n.TP\n\\fB%s\\fR\n%s\n.RE\n", roff(f.line), roff(f.what))
		}
	}
	for _, name := range topicNames {
		text, _ := topic(name)
		title, text, _ := strings.Cut(text, "\n\n")
		fmt.Fprintf(&b, ".SH %s\n.nf\n", strings.ToUpper(roff(title)))
		for line := range strings.Lines(text) {
			b.WriteString(roff(line))
		}
		b.WriteString(".fi\n")
	}
	b.WriteString(".SH EXIT STATUS\n0 done, 1 failed, 2 bad input or bad usage, 3 cancelled by the user, 4 the questions wait in a file.\n.SH ENVIRONMENT\n")
	for _, v := range variables {
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roff(v.line), roff(v.what))
	}
	b.WriteString(".SH EXAMPLES\n")
	for _, c := range commands() {
		for _, e := range c.examples {
			what := e.what
			if what == "" {
				what = c.summary
			}
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roff(e.line), roff(what))
		}
	}
	return b.String()
}

// roff is a text as troff takes it literally.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "~", `\(ti`, "^", `\(ha`, "`", `\(ga`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
