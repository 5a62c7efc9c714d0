// Command standin plays the script that is beside it. See [claudetest.Build].
package main

import "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"

func main() { claudetest.Beside() }
