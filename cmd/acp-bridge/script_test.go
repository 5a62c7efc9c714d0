package main

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/acp-bridge/acp-bridge/adapter/claude/claudetest"
)

// asBridge makes the test binary be acp-bridge.
const asBridge = "ACP_BRIDGE_TEST_MAIN"

func TestMain(m *testing.M) {
	claudetest.Main()
	if os.Getenv(asBridge) != "" {
		main()
	}
	testscript.Main(m, map[string]func(){
		"acp-bridge": func() {
			os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", UpdateScripts: *update})
}
