package main

import (
	"testing"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli/clitest"
)

// What the comments of packages tell users is in the help, too.
func TestManualWithoutACheckout(t *testing.T) {
	clitest.Written(t, "topics/claude.txt", "Claude Code: what editors may say; claude-agent-acp in comparison",
		clitest.Part{Dir: "../../internal/claude/backend", Heading: "Beside claude-agent-acp"},
		clitest.Part{Dir: "../../internal/claude/backend", Heading: "What an editor may say about a session"},
		clitest.Part{Dir: "../../internal/claude/backend", Heading: "Forms of MCP servers"})
	clitest.Written(t, "topics/agents.txt", "Other agents: versions that were run, and what came of it",
		clitest.Part{Dir: "../../adapter/proxy", Heading: "Agents that were run"},
		clitest.Part{Dir: "../../internal/watch", Heading: "In plain terminals"})
	clitest.Written(t, "topics/security.txt", "Security: what holds, and the test that shows it",
		clitest.Part{Dir: ".", Heading: "Security"})
	clitest.Written(t, "topics/speed.txt", "Speed: what the benchmark measured",
		clitest.Part{Dir: "../acp-bridge-bench", Heading: "What it measured"})
}
