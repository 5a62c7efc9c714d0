package display

import (
	"regexp"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// agentInfo shows the start of a sub-agent.
func agentInfo(_ Tool, in input, _ string) Info {
	return Info{
		Title:   title("Task", in.str("description")),
		Kind:    acp.ToolKindThink,
		Content: prose(in.str("prompt")),
	}
}

// agentResult shows a sub-agent's report without what the CLI tells the model
// about going on with it.
func agentResult(c ended) Update {
	switch c.structured.str("status") {
	case "completed":
		blocks, _ := c.structured.list("content")
		var texts []string
		for _, b := range blocks {
			if text := AgentWords(object(b).str("text")); text != "" {
				texts = append(texts, text)
			}
		}
		if content := prose(strings.Join(texts, "\n\n")); content != nil {
			return Update{Content: content}
		}
	case "async_launched", "remote_launched":
		return Update{Content: prose("Running in the background.")}
	}
	return Update{Content: c.show(func(text string) []acp.ToolCallContent {
		return prose(withoutTrailer(withoutLastReminders(AgentWords(text))))
	})}
}

// AgentWords is a text of a sub-agent's report without the tools that it used, which
// the CLI names in front for the model.
func AgentWords(text string) string {
	const begin, end = "<tools-used-before-summary>", "</tools-used-before-summary>"
	if rest, ok := strings.CutPrefix(strings.TrimLeft(text, "\n"), begin); ok {
		if _, words, ok := strings.Cut(rest, end); ok {
			return strings.TrimLeft(words, "\n")
		}
	}
	return text
}

// trailer is what ends a report: the id of the agent and what it used up.
var trailer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\n|^)(?:agentId: [\w-]+[^\n]*|<usage>[^<]*</usage>)\s*$`)
})

func withoutTrailer(text string) string {
	for range 2 {
		// Only the end is searched: the pattern would try every line otherwise.
		from := max(0, len(text)-1000)
		at := trailer().FindStringIndex(text[from:])
		if at == nil {
			break
		}
		text = text[:from+at[0]]
	}
	return text
}

func exitPlanInfo(_ Tool, in input, _ string) Info {
	return Info{Title: "Ready to code?", Kind: acp.ToolKindSwitchMode, Content: prose(in.str("plan"))}
}

// exitPlanResult keeps the plan: the result repeats it for the model.
func exitPlanResult(ended) Update { return Update{Title: "Exited plan mode"} }

func skillInfo(_ Tool, in input, _ string) Info {
	return Info{Title: verbOf("Load skill", in.str("skill", "command")), Kind: acp.ToolKindOther}
}

// verbOf is a title of a verb, and what it is done to if that is known.
func verbOf(verb, what string) string {
	if what = clean.Line(what); what != "" {
		return title("", verb+":", what)
	}
	return verb
}

func slashInfo(_ Tool, in input, _ string) Info {
	return Info{Title: title("Slash command", clean.Visible(in.str("command"))), Kind: acp.ToolKindOther}
}

// taskInfo titles a call of the to-do list, for clients that are asked to
// permit one. It is otherwise shown as a plan.
func taskInfo(verb string) func(Tool, input, string) Info {
	return func(_ Tool, in input, _ string) Info {
		return Info{Title: verbOf(verb, in.str("subject")), Kind: acp.ToolKindThink}
	}
}

// otherInfo shows a tool that has no look of its own: an MCP server's as
// "server: tool", others by their name, each with its input.
func otherInfo(t Tool, in input, _ string) Info {
	name := t.Name
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		if server, tool, ok := strings.Cut(rest, "__"); ok && server != "" && tool != "" {
			name = server + ": " + tool
		}
	}
	return Info{
		Title:   title("Tool", clean.Visible(name)),
		Kind:    acp.ToolKindOther,
		Content: inputContent(in),
	}
}

// inputContent shows an input as it is, none if it is empty.
func inputContent(in input) []acp.ToolCallContent {
	if len(in.Map()) == 0 {
		return nil
	}
	return fenced("json", clean.Visible(clean.Indented(in.Raw)))
}
