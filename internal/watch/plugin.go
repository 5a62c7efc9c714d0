package watch

import (
	_ "embed"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

//go:embed plugin.js
var plugin string

// pluginFileName is the name of the plugin's file.
const pluginFileName = "acp-bridge.js"

// pluginMark is in every plugin that is ours.
const pluginMark = "Made by acp-bridge hook install"

// pluginText is the plugin that starts a program, with arguments, and talks to it.
func pluginText(program string, args ...string) string {
	return strings.NewReplacer(`"PROGRAM"`, string(clean.JSON(program)), `["ARGS"]`, string(clean.JSON(args))).Replace(plugin)
}
