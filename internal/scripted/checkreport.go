package scripted

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// line is a result for whoever is doing the steps.
func (r result) line() string {
	switch {
	case r.fine && len(r.problems) == 0:
		return "✓ " + clean.Line(r.got)
	case r.fine:
		return "✓ " + clean.Line(r.got) + ", but " + strings.Join(r.problems, "; ")
	}
	return "✗ got: " + clean.Line(r.got)
}

// report is the table that goes into an issue. It is Markdown.
func (c *check) report() string {
	seen := c.wire.seen()
	client := seen.client
	var b strings.Builder
	b.WriteString("---\n\nThat is all. This can be pasted into an issue:\n\n")
	fmt.Fprintf(&b, "### acp-bridge check-client %s\n\n", clean.Line(c.version))
	name := "a client that does not say its name (`clientInfo`)"
	if i := client.ClientInfo; i != nil {
		name = clean.Line(i.Name + " " + i.Version)
	}
	fmt.Fprintf(&b, "Client: %s, ACP %d. ", name, client.ProtocolVersion)
	known, _ := editor.Known(client.ClientInfo, seen.prompt)
	o, why := editor.Options{}.Ask(client, known)
	fmt.Fprintf(&b, "Forms: %s. Addresses: %s. Knows `_meta.askUserQuestion`: %s.\n\n", yes(o.Forms), yes(o.URLs), yes(o.Aware))
	b.WriteString("| step | asked by | result | what came back |\n|---|---|---|---|\n")
	for _, r := range c.results {
		mark := "ok"
		if !r.fine {
			mark = "**wrong**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.what, strings.Join(r.rungs, ", then "), mark, strings.ReplaceAll(clean.Truncate(clean.Line(r.got), 120), "|", `\|`))
	}
	if list := c.problems(); len(list) > 0 {
		b.WriteString("\nOn the wire:\n\n")
		for _, p := range list {
			fmt.Fprintf(&b, "- %s\n", p)
		}
	} else {
		b.WriteString("\nOn the wire everything was as it should be.\n")
	}
	fmt.Fprintf(&b, "\nPeople will be asked by **%s** (%s)%s.\n", c.rung(), why, c.advice())
	return b.String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// problems are those of all steps, each once.
func (c *check) problems() (list []string) {
	for _, r := range c.results {
		for _, p := range r.problems {
			if p = r.what + ": " + p; !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}

// rung is the one that a single pick got through on.
func (c *check) rung() string {
	for _, r := range c.results {
		if r.what == "one pick" && len(r.rungs) > 0 {
			return r.rungs[len(r.rungs)-1]
		}
	}
	return "nothing"
}

// advice is the flag that helps, if one does.
func (c *check) advice() string {
	var wrong int
	fast := false
	for _, r := range c.results {
		if !r.fine {
			wrong++
		}
		for _, p := range r.problems {
			fast = fast || strings.Contains(p, "nobody reads that fast")
		}
	}
	switch {
	case fast:
		return "; it answers by itself: start acp-bridge with `--guard-auto-answers`, or `--ask " + adapter.Conversation.String() + "`"
	case wrong > 0 && c.rung() != adapter.Conversation.String():
		return "; if the options are not shown, start acp-bridge with `--ask " + adapter.Conversation.String() + "`"
	}
	return ""
}
