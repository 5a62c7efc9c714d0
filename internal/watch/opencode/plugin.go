package opencode

import (
	_ "embed"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

//go:embed plugin.js
var plugin string

// PluginName is the name of the plugin's file.
const PluginName = "acp-bridge.js"

// Mark is in every plugin that is ours.
const Mark = "Made by acp-bridge hook install"

// Plugin is the plugin that starts a program, with arguments, and talks to it.
func Plugin(program string, args ...string) string {
	return strings.NewReplacer(`"PROGRAM"`, string(clean.JSON(program)), `["ARGS"]`, string(clean.JSON(args))).Replace(plugin)
}
