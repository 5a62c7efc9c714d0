package display_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/display"
)

func TestRunning(t *testing.T) {
	lines := strings.Repeat("a line of output\n", 400) // 6,800 bytes
	for name, tc := range map[string]struct {
		output, want string
	}{
		"nothing":                      {"", ""},
		"blank":                        {"\n\n", ""},
		"all of it":                    {"one\ntwo\n", "```console\none\ntwo\n```"},
		"an unfinished character":      {"one\xc3", "```console\none\n```"},
		"an unfinished sequence":       {"one\x1b]0;ti", "```console\none\n```"},
		"controls":                     {"\x1b[31mone\x1b[2J\x07", "```console\none\n```"},
		"a fence":                      {"```\n", "````console\n```\n````"},
		"the end":                      {lines + "last", "```console\n… 1.8 kB left out …\n" + strings.Repeat("a line of output\n", 293) + "last\n```"},
		"a cut line after what is not": {strings.Repeat("\x1b[0m", 250_000) + "half\nlast", "```console\n… 990.0 kB left out …\nlast\n```"},
	} {
		t.Run(name, func(t *testing.T) {
			content := display.Tool{}.Running(int64(len(tc.output)), func(from, to int64) string { return tc.output[from:to] })
			if tc.want == "" {
				require.Empty(t, content)
				return
			}
			require.Len(t, content, 1)
			require.Equal(t, tc.want, content[0].Content.Content.Text.Text)
		})
	}
}

func TestToolConsole(t *testing.T) {
	zero, three := 0, 3
	tool := display.Tool{Name: "Bash", Input: json.RawMessage(`{"command":"x"}`)}
	for name, tc := range map[string]struct {
		content, structured string
		failed              bool
		want                display.Console
		notes               string
		ok                  bool
	}{
		"done":           {`"model's"`, `{"stdout":"out","stderr":"err"}`, false, display.Console{Output: "out\nerr", ExitCode: &zero}, "", true},
		"as text":        {`"out"`, ``, false, display.Console{Output: "out", ExitCode: &zero}, "", true},
		"a code":         {`"Exit code 3\nout"`, `"Error"`, true, display.Console{Output: "out", ExitCode: &three}, "", true},
		"only a code":    {`"Exit code 3"`, `"Error"`, true, display.Console{ExitCode: &three}, "", true},
		"refused":        {`"The user rejected this tool use"`, `"Error"`, true, display.Console{}, "", false},
		"no such code":   {`"Exit code of yours\nout"`, `"Error"`, true, display.Console{}, "", false},
		"interrupted":    {`"out"`, `{"stdout":"out","stderr":"","interrupted":true}`, false, display.Console{Output: "out"}, "Interrupted before it ended.", true},
		"no code at all": {`"out"`, `{"stdout":"","stderr":"","returnCodeInterpretation":"No matches found"}`, false, display.Console{}, "", true},
		"an image":       {`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]`, `{"stdout":"x","stderr":"","isImage":true}`, false, display.Console{}, "", false},
		"in background":  {`"text"`, `{"stdout":"","stderr":"","backgroundTaskId":"b1"}`, false, display.Console{Task: "b1"}, "Running in the background as b1.", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := tool.Console(display.Result{Content: json.RawMessage(tc.content), Structured: json.RawMessage(tc.structured), IsError: tc.failed}, "/")
			require.Equal(t, tc.ok, ok)
			if tc.notes != "" {
				require.Equal(t, tc.notes, got.Notes[0].Content.Content.Text.Text)
			}
			got.Notes = nil
			require.Equal(t, tc.want, got)
		})
	}
}
