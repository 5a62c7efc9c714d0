package main

import "github.com/acp-bridge/acp-bridge/cmd/internal/cli"

var version = cli.Version
