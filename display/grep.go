package display

import (
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// grepInfo titles a search with the grep command line that people know.
func grepInfo(_ Tool, in input, cwd string) Info {
	words := []string{"grep"}
	for _, flag := range []string{"-i", "-n", "-o"} {
		if in.on(flag) {
			words = append(words, flag)
		}
	}
	for _, c := range []struct{ flag, key string }{{"-A", "-A"}, {"-B", "-B"}, {"-C", "-C"}, {"-C", "context"}} {
		if n, ok := in.num(c.key); ok {
			words = append(words, c.flag, strconv.Itoa(n))
		}
	}
	mode := in.str("output_mode")
	switch {
	case mode == "files_with_matches", mode == "" && in.on("-l"):
		words = append(words, "-l")
	case mode == "count", mode == "" && in.on("-c"):
		words = append(words, "-c")
	}
	if in.on("multiline") {
		words = append(words, "--multiline")
	}
	if glob := in.str("glob"); glob != "" {
		words = append(words, "--include="+quote(glob))
	}
	if kind := in.str("type"); kind != "" {
		words = append(words, "--type="+clean.Visible(kind))
	}
	if pattern := in.str("pattern"); pattern != "" {
		words = append(words, quote(pattern))
	}
	words = append(words, shown(in.str("path", "file_path"), cwd))
	if n, ok := in.num("head_limit"); ok && n > 0 {
		words = append(words, "| head -"+strconv.Itoa(n))
	}
	return Info{Title: title("", words...), Kind: acp.ToolKindSearch}
}

// quote puts a value in double quotes, every character of it visible.
func quote(s string) string {
	return `"` + strings.ReplaceAll(clean.Line(clean.Visible(s)), `"`, `\"`) + `"`
}
