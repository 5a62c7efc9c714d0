package main

import (
	"embed"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
)

//go:embed topics
var topicFiles embed.FS

// topics are what acp-bridge help takes besides commands, in the order of use.
func topics() (list []cli.Topic) {
	for _, name := range []string{"asking", "trouble", "claude"} {
		text, err := topicFiles.ReadFile("topics/" + name + ".txt")
		if err != nil {
			panic(err) // it is not in the program
		}
		list = append(list, cli.Topic{Name: name, Text: string(text)})
	}
	return list
}
