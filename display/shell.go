package display

import (
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// prompt marks a command as one.
const prompt = "$ "

// shellInfo titles a call with its command, every character of it visible: the
// title is what people read before they allow it. A command that the title
// does not show to the letter, because it is long or has several lines, is
// also in the content.
func shellInfo(t Tool, in input, _ string) Info {
	line := commandTitle(title("", strings.TrimSpace(clean.Visible(in.str("command")))))
	content := prose(in.str("description", "command_description"))
	if command := t.Unseen(); command != "" {
		lang := "sh"
		if t.Name == "PowerShell" {
			lang = "powershell"
		}
		content = append(content, fenced(lang, command)...)
	}
	return Info{Title: line, Kind: acp.ToolKindExecute, Content: content}
}

// commandTitle keeps a client that reads titles as Markdown from taking the
// start of a command for a heading, a quote, a fence or HTML. Inside the line
// a command stays as it is typed: escapes and code spans would be wrong in the
// many clients that show a title as plain text.
func commandTitle(line string) string {
	switch {
	case line == "":
		return "Terminal"
	case strings.ContainsRune("#>`<", rune(line[0])), strings.HasPrefix(line, "~~~"):
		return clean.Truncate(prompt+line, maxTitle)
	}
	return line
}

// shellResult prefers the structured output: the text for the model has notes
// to the model in it.
func shellResult(c ended) Update {
	stdout, out := c.structured.lookup("stdout")
	stderr, err := c.structured.lookup("stderr")
	if !out || !err || c.structured.on("isImage") {
		return consoleResult(c)
	}
	return Update{Content: append(fenced("console", joinLines(stdout, stderr)), shellNotes(c)...)}
}

// shellNotes say what the output does not.
func shellNotes(c ended) []acp.ToolCallContent {
	if id := c.structured.str("backgroundTaskId"); id != "" {
		return c.tool.InBackground(id, "")
	}
	var notes []acp.ToolCallContent
	if c.structured.on("interrupted") {
		notes = append(notes, c.tool.Interrupted()...)
	}
	if file := c.structured.str("persistedOutputPath"); file != "" {
		notes = append(notes, prose("The whole output is in "+clean.Span(shown(file, c.cwd))+".")...)
	}
	return notes
}

// consoleResult shows the output of a process.
func consoleResult(c ended) Update {
	return Update{Content: c.show(func(text string) []acp.ToolCallContent {
		return fenced("console", withoutLastReminders(text))
	})}
}

// stopResult shows what the CLI says about the task it stopped.
func stopResult(c ended) Update {
	if message := c.output().str("message"); message != "" {
		return Update{Content: prose(message)}
	}
	return consoleResult(c)
}

// joinLines joins what is not empty, each on lines of its own.
func joinLines(texts ...string) string {
	var b strings.Builder
	for _, t := range texts {
		if t == "" {
			continue
		}
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(t)
	}
	return b.String()
}
