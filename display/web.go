package display

import (
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

func fetchInfo(_ Tool, in input, _ string) Info {
	return Info{
		Title:   title("", "Fetch", clean.Visible(in.str("url"))),
		Kind:    acp.ToolKindFetch,
		Content: prose(in.str("prompt")),
	}
}

func fetchResult(c ended) Update {
	if text := c.structured.str("result"); text != "" {
		return Update{Content: prose(text)}
	}
	return proseResult(c)
}

func searchInfo(_ Tool, in input, _ string) Info {
	info := Info{Title: "Web search", Kind: acp.ToolKindFetch}
	query := clean.Line(in.str("query"))
	if query == "" {
		return info
	}
	words := []string{"Search", `"` + query + `"`}
	for _, d := range []struct{ word, key string }{{"allowed", "allowed_domains"}, {"blocked", "blocked_domains"}} {
		if domains := names(in, d.key); domains != "" {
			words = append(words, "("+d.word+": "+domains+")")
		}
	}
	info.Title = title("Web search", words...)
	return info
}

// names joins the strings of a list.
func names(in input, key string) string {
	list, _ := in.list(key)
	var all []string
	for _, v := range list {
		if name := clean.Line(v.Str); v.Type == gjson.String && name != "" {
			all = append(all, name)
		}
	}
	return strings.Join(all, ", ")
}

// searchResult lists the hits. The text for the model is a dump of JSON.
func searchResult(c ended) Update {
	results, _ := c.structured.list("results")
	var lines []string
	for _, r := range results {
		if r.Type == gjson.String {
			lines = append(lines, r.Str)
			continue
		}
		hits, _ := object(r).list("content")
		for _, h := range hits {
			if line := hit(object(h)); line != "" {
				lines = append(lines, line)
			}
		}
	}
	if content := prose(strings.Join(lines, "\n")); content != nil {
		return Update{Content: content}
	}
	return proseResult(c)
}

// hit is a line for one page that was found, empty if it has no address.
func hit(in input) string {
	url := clean.Line(in.str("url"))
	if url == "" {
		return ""
	}
	if name := clean.Line(in.str("title")); name != "" {
		return "- " + name + " (" + url + ")"
	}
	return "- " + url
}
