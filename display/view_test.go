package display_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/display"
)

// In a terminal a permission is shown as what it is, and all of it.
func TestPlain(t *testing.T) {
	old := "x\n"
	changed := []display.Change{{Path: "/etc/hosts", Old: &old, New: "y\n"}}
	for want, c := range map[string]display.Tool{
		"$ ls\n$ rm -rf x␛\nThe agent says\nLists":                 {Input: json.RawMessage(`{"command":"ls\nrm -rf x\u001b","description":"Lists"}`)},
		"a.go +2 −1\n- x\n+ y\n+ z":                                {Input: json.RawMessage(`{"file_path":"a.go","old_string":"x","new_string":"y\nz"}`)},
		"a.go 1 line\n+ x":                                         {Input: json.RawMessage(`{"file_path":"a.go","content":"x\n"}`)},
		"# Do\n\n- **it**":                                         {Name: "ExitPlanMode", Input: json.RawMessage(`{"plan":"# Do\n\n- **it**"}`)},
		"https://a.example/\nto: 1\nb␊: c":                         {Name: "WebFetch", Input: json.RawMessage(`{"url":"https://a.example/","to":1,"b\n":"c"}`)},
		"tool of the MCP server s\nx: 1":                           {Name: "mcp__s__tool", Input: json.RawMessage(`{"x":1}`)},
		`{"command":"ls","command":"rm -rf x"}`:                    {Input: json.RawMessage(`{"command":"ls","command":"rm -rf x"}`)},
		`{"command":"ls","Command":"rm -rf x"}`:                    {Input: json.RawMessage(`{"command":"ls","Command":"rm -rf x"}`)},
		"a +1 −1\n- x\n+ y\nreplace_all: true":                     {Input: json.RawMessage(`{"file_path":"a","edits":[{"old_string":"x","new_string":"y","replace_all":true}]}`)},
		"bash -lc\n$ ls\nThe agent says\nLook around":              {Input: json.RawMessage(`{"command":["bash","-lc","ls"],"description":"Look around"}`)},
		"$ echo 'a b'":                                             {Input: json.RawMessage(`{"command":["echo","a b"],"description":" \n"}`)},
		"a +1 −1\n- x\n+ z":                                        {Input: json.RawMessage(`{"file_path":"a","old_string":"x","new_string":"z","replace_all":false}`)},
		"b +1 −1\n- x\n+ z\nreplace_all: x":                        {Input: json.RawMessage(`{"file_path":"b","old_string":"x","new_string":"z","replace_all":"x"}`)},
		"b +1 −1\n- x\n+ z\nreplaceAll: true":                      {Input: json.RawMessage(`{"filePath":"b","oldString":"x","newString":"z","replaceAll":true}`)},
		"c +1 −1\n- x\n+ z":                                        {Input: json.RawMessage(`{"file_path":"c","edits":[{"old_string":"x","new_string":"z","replace_all":false}]}`)},
		"plain words":                                              {Input: json.RawMessage("plain words")},
		"$ a\n$ ⋯ 9 blank lines ⋯\n$ b":                            {Input: json.RawMessage(`{"command":"a\n\n\n\n\n\n\n\n\n\nb"}`)},
		"$ make\n/etc/hosts +1 −1\n- x\n+ y\nThe agent says\nWhy␛": {Input: json.RawMessage(`{"command":"make"}`), Changes: changed, Text: "Why\u001b"},
	} {
		require.Equal(t, want, c.View("").String())
	}
}

// Lines have the numbers that they have in their file: those that go in the old text, all
// others in the new one. How many are left out between them is told.
func TestChange(t *testing.T) {
	long := strings.Repeat("a", 2<<20)
	for name, test := range map[string]struct{ old, text, want string }{
		"nothing":                 {"a\n", "a\n", ""},
		"a line":                  {"a\nb\n", "a\nc\n", "1 a|2-b|2+c"},
		"a line more":             {"a\nb\n", "c\na\nb\n", "1+c|2 a|3 b"},
		"a line less":             {"c\na\nb\n", "a\nb\n", "1-c|1 a|2 b"},
		"the last break":          {"a\n", "a", "0@(the line break at the end changes)"},
		"all of it":               {"", "a\n", "1+a"},
		"breaks beside a line":    {"a\r\nb\r\n", "a\nc\n", "1 a|2-b|2+c"},
		"breaks alone":            {"a\r\n", "a\n", "1-a\r|1+a"},
		"far apart":               {"a\n1\n2\n3\n4\n5\n6\n7\nb\n", "c\n1\n2\n3\n4\n5\n6\n7\nd\n", "1-a|1+c|2 1|3 2|4 3|0@⋯ 1 line ⋯|6 5|7 6|8 7|9-b|9+d"},
		"more than is looked for": {long, "b", "1-" + long + "|1+b"},
		"blank lines":             {"a", "a\n\n\n\nb", "1 a|2+⋯ 3 blank lines ⋯|5+b"},
		"blank ones come and go":  {"a\n\n\nb", "a\n \n \nb", "1 a|2-|3-|2+ |3+ |4 b"},
	} {
		var got []string
		for _, l := range (display.Change{Path: "f", Old: &test.old, New: test.text}).Part("").Lines() {
			got = append(got, fmt.Sprint(l.N)+string(l.Sign)+l.Text)
		}
		require.Equal(t, test.want, strings.Join(got, "|"), name)
	}
}
