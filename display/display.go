// Package display turns an agent's tool calls into what a person sees: an ACP
// title, kind, content and locations.
//
//	tool := display.Tool{
//		Name:  "Edit",
//		Input: json.RawMessage(`{"file_path":"/src/app/main.go","old_string":"a","new_string":"b"}`),
//	}
//	info := tool.Info("/src/app")
//	// info.Title is "Edit main.go", info.Kind is edit, info.Content holds the diff.
//
// and, when the call has ended:
//
//	update := tool.Ended(display.Result{Content: content}, "/src/app")
//	// update.Status is completed or failed; a nil Content keeps what is shown.
//
// The calls that keep a to-do list are a plan and no tool call: [Tool.ToDo] tells
// which they are, [Tool.Plan] reads TodoWrite, and [Tasks] folds the newer Task tools.
//
// The package is pure. It takes every input, also one that is still being
// streamed or is not what the tool's schema says: a field that is missing or
// of the wrong type is left out, and a title falls back to a neutral one.
//
// Text that people read is cleaned (see package clean) and long text is cut.
// Diffs and locations are values: they hold exactly the text and the absolute
// path that the agent gave, so that an editor can match them with its files.
package display

import (
	"cmp"
	"encoding/json"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// maxTitle is the most graphemes that a title has. It is two lines of a narrow
// side panel; a command that is longer is shown whole in the content.
const maxTitle = 120

// maxText is about the most bytes of one text that content shows. Of a longer
// one the beginning and the end are kept, with a note between them.
const maxText = 20_000

// Tool is a call of a tool: its name as the agent spells it and its input.
type Tool struct {
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`

	// The rest is what an agent tells beside them, for a [View]. Server is the tool's MCP
	// server, and Title what the call is called.
	Server string `json:"-"`
	Title  string `json:"-"`
	// Kind is that of ACP: execute, edit, fetch and so on.
	Kind string `json:"-"`
	// Changes are those of files, where the input does not have them.
	Changes []Change `json:"-"`
	// Text is what the agent writes about the call.
	Text string `json:"-"`
}

// Info is how a tool call looks before it has run.
type Info struct {
	Title     string                 `json:"title"`
	Kind      acp.ToolKind           `json:"kind"`
	Content   []acp.ToolCallContent  `json:"content"`
	Locations []acp.ToolCallLocation `json:"locations"`
}

// Info says how to show a call. Paths in the title are relative to cwd
// when they are inside it. Content and Locations are never nil.
func (t Tool) Info(cwd string) Info {
	info := lookOf(t.Name).info(t, readInput(t.Input), cwd)
	if info.Content == nil {
		info.Content = []acp.ToolCallContent{}
	}
	if info.Locations == nil {
		info.Locations = []acp.ToolCallLocation{}
	}
	return info
}

// look is how one tool is shown. A nil result stands for one that has nothing
// to add to what the call itself shows.
type look struct {
	info   func(t Tool, in input, cwd string) Info
	result func(c ended) Update
}

// looks has a row for every tool that is not shown by its name alone.
var looks = map[string]look{
	"Agent":           {agentInfo, agentResult},
	"Task":            {agentInfo, agentResult},
	"Bash":            {shellInfo, shellResult},
	"PowerShell":      {shellInfo, shellResult},
	"BashOutput":      {fixed("Tail logs", acp.ToolKindExecute), consoleResult},
	"KillShell":       {fixed("Kill process", acp.ToolKindExecute), consoleResult},
	"KillBash":        {fixed("Kill process", acp.ToolKindExecute), consoleResult},
	"TaskOutput":      {fixed("Tail logs", acp.ToolKindExecute), consoleResult},
	"TaskStop":        {fixed("Stop task", acp.ToolKindExecute), stopResult},
	"Read":            {readInfo, readResult},
	"NotebookRead":    {onPath("Read notebook", acp.ToolKindRead, "notebook_path", "file_path", "path"), fencedResult},
	"Write":           {writeInfo, writeResult},
	"Edit":            {editInfo, editResult},
	"MultiEdit":       {editInfo, editResult},
	"NotebookEdit":    {notebookEditInfo, notebookEditResult},
	"Glob":            {globInfo, fencedResult},
	"Grep":            {grepInfo, fencedResult},
	"LS":              {onPath("List", acp.ToolKindSearch, "path"), fencedResult},
	"WebFetch":        {fetchInfo, fetchResult},
	"WebSearch":       {searchInfo, searchResult},
	"TodoWrite":       {fixed("Update to-do list", acp.ToolKindThink), nil},
	"TaskCreate":      {taskInfo("Create task"), nil},
	"TaskUpdate":      {taskInfo("Update task"), nil},
	"TaskList":        {fixed("List tasks", acp.ToolKindThink), nil},
	"TaskGet":         {fixed("Get task", acp.ToolKindThink), nil},
	"EnterPlanMode":   {fixed("Enter plan mode", acp.ToolKindSwitchMode), nil},
	"ExitPlanMode":    {exitPlanInfo, exitPlanResult},
	"Skill":           {skillInfo, nil},
	"SlashCommand":    {slashInfo, nil},
	"AskUserQuestion": {questionInfo, nil},
	// The question tools of other agents. The results of these say no more than
	// the answers.
	"ask_user":          {askUserInfo, answerResult},
	"ask_user_question": {questionInfo, answerResult},
}

func lookOf(name string) look {
	if l, ok := looks[name]; ok {
		return l
	}
	return look{otherInfo, proseResult}
}

// fixed is a look that says the same for every input.
func fixed(title string, kind acp.ToolKind) func(Tool, input, string) Info {
	return func(Tool, input, string) Info { return Info{Title: title, Kind: kind} }
}

// onPath is a look of what is done to the file that the first of these members names.
func onPath(verb string, kind acp.ToolKind, names ...string) func(Tool, input, string) Info {
	return func(_ Tool, in input, cwd string) Info {
		file := in.str(names...)
		return Info{Title: title("", verb, shown(file, cwd)), Kind: kind, Locations: at(file, cwd, 0)}
	}
}

// title makes one line of its words, or returns neutral if nothing is left of
// them.
func title(neutral string, words ...string) string {
	line := clean.Truncate(clean.Line(strings.Join(words, " ")), maxTitle)
	return cmp.Or(line, neutral)
}

// prose is content for text that may be Markdown, none if it is blank.
func prose(text string) []acp.ToolCallContent {
	text = tidy(text)
	if text == "" {
		return nil
	}
	return []acp.ToolCallContent{textContent(text)}
}

// fenced is content for text to show letter by letter, none if it is blank.
func fenced(lang, text string) []acp.ToolCallContent {
	text = tidy(text)
	if text == "" {
		return nil
	}
	return []acp.ToolCallContent{textContent(clean.Fence(lang, text))}
}

// tidy cleans and cuts text. The indent of its first line stays.
func tidy(text string) string {
	text = strings.TrimRight(clean.Block(text), " \t\n")
	if strings.TrimSpace(text) == "" { // other white space, such as U+00A0
		return ""
	}
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return cut(text, maxText)
		}
		text = rest
	}
}

func textContent(text string) acp.ToolCallContent {
	return acp.ToolContent(acp.TextBlock(text))
}
