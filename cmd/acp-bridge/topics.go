package main

import (
	"embed"
	"strings"
)

// topics are the texts of the help that are about more than one command. The
// first line of each says what it is about.
//
//go:embed topics/*.txt
var topics embed.FS

// topicNames are what acp-bridge help takes besides commands, in the order of use.
var topicNames = []string{"asking", "trouble", "wire"}

// topic is the text of one of them.
func topic(name string) (text string, ok bool) {
	data, err := topics.ReadFile("topics/" + name + ".txt")
	return string(data), err == nil
}

// topicTitle is what a topic is about.
func topicTitle(name string) string {
	text, _ := topic(name)
	title, _, _ := strings.Cut(text, "\n")
	return title
}
