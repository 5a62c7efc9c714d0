package main

import "github.com/acp-bridge/acp-bridge/cmd/internal/build"

var version = build.Version
