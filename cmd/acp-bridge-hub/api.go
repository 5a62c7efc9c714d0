package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

//go:embed api
var apiFiles embed.FS

// apiTopic is the help on the API: its routes are those of the description that
// the hub serves, its examples are run by a test.
func apiTopic() cli.Topic {
	text := apiFile("api.txt") + routes() + apiFile("taken.txt")
	for _, e := range apiExamples {
		text += fmt.Sprintf("%s, with HUB and TOKEN in the environment:\n%s\n", e.title, cli.Indent(apiFile(e.file), "  "))
	}
	return cli.Topic{Name: "api", Text: strings.TrimSuffix(text, "\n")}
}

// apiExamples ask, answer, cancel and follow.
var apiExamples = []struct{ title, file string }{{"CURL", "curl.sh"}, {"TYPESCRIPT", "client.ts"}, {"PYTHON", "client.py"}}

func apiFile(name string) string {
	data, err := apiFiles.ReadFile("api/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(data)
}

// routes are those that others may use, by what they are for.
func routes() string {
	var api struct {
		Tags  []struct{ Name, Description string }
		Paths map[string]map[string]struct {
			Summary string
			Tags    []string
		}
	}
	if err := json.Unmarshal(web.OpenAPI, &api); err != nil {
		panic(err) // it is embedded
	}
	var b strings.Builder
	for _, tag := range api.Tags {
		if tag.Name == "page" {
			continue
		}
		var lines []string
		for path, methods := range api.Paths {
			for method, op := range methods {
				if op.Tags[0] == tag.Name {
					lines = append(lines, fmt.Sprintf("  %s %s\n%s", strings.ToUpper(method), path, cli.Indent(cli.Wrap(op.Summary, cli.Width-6), "      ")))
				}
			}
		}
		slices.Sort(lines)
		fmt.Fprintf(&b, "%s: %s\n%s", tag.Name, tag.Description, strings.Join(lines, ""))
	}
	return b.String()
}
