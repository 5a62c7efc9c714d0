// Command acp-bridge lets ACP editors show the questions that coding agents
// ask. See acp-bridge help.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
