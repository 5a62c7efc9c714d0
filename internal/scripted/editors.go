package scripted

import "slices"

// Seen is how the questions look in an editor: what was seen there, or read in its
// source. Scripted clients play each of them against the whole bridge, see Runs.
type Seen struct {
	Editor string
	// Asked is how questions come, Several how several options are picked, Own
	// how own words are given, Dismiss how a question is dismissed.
	Asked, Several, Own, Dismiss string
	// Note says what else there is to know.
	Note string
	// Runs are those of TestClients in cmd/tools/simulate/editors.
	Runs []string
}

const (
	noName     = "sends no name to be recognised by: without --guard-auto-answers its own answer is taken for yours"
	noText     = "shows the header of a question and its options, not its text"
	rounds     = "in rounds"
	thenText   = "Other, then a message"
	whileWaits = "cancel; stop does nothing while it waits"
)

// Editors returns what is known of how questions look in each.
func Editors() []Seen { return slices.Clone(looks) }

var looks = []Seen{
	{"Zed", "one form", "in the form", "in the form", "cancel the form, or stop", "", []string{"Zed", "Zed, form left open"}},
	{"Zed without forms", "buttons", rounds, thenText, "stop", "", []string{"Zed without forms"}},
	{"Emacs agent-shell", "buttons", rounds, thenText, "its own key", "", []string{"agent-shell"}},
	{"Emacs agent-shell with forms", "one form", "in the form", "in the form", "Decline, or its own key", "its form was read in its source and not run", []string{"agent-shell with forms"}},
	{"agent-shell, approving by itself", "message", "1,3", "type them", "stop", "", []string{"agent-shell, automatic"}},
	{"Neovim agentic.nvim", "buttons", rounds, thenText, "stop", "numbers its buttons in an order of its own", []string{"agentic.nvim", "agentic.nvim of old"}},
	{"Neovim CodeCompanion", "message", "1,3", "type them", whileWaits, "", []string{"CodeCompanion.nvim", "CodeCompanion.nvim, --ask permission"}},
	{"Neovim avante", "message", "1,3", "type them", whileWaits, "sends no name, and is recognised by its prompts", []string{"avante.nvim", "avante.nvim, inline, --ask permission", "avante.nvim, popup, --ask permission"}},
	{"goose", "message", "1,3", "type them", "cancel", "sends no name, and is recognised by its prompts", []string{"goose", "goose, --ask permission"}},
	{"acpx", "message", "1,3", "type them", "prompt cancel", "", []string{"acpx", "acpx, --ask permission, no terminal", "acpx, --ask permission, approve-all"}},
	{"VS Code ACP", "buttons, the question in the title", rounds, thenText, "Esc", "", []string{"vscode-acp"}},
	{"VS Code ACP, allowing all", "message", "1,3", "type them", "cancel", "", []string{"vscode-acp, allow all"}},
	{"toad", "buttons", rounds, thenText, "stop", "its dialog stays after stop", []string{"toad"}},
	{"acp-ui, Obsidian, marimo, AionUi", "buttons", rounds, thenText, "dismiss", "", []string{"acp-ui, Obsidian, marimo, AionUi"}},
	{"Obsidian, approving by itself", "message", "1,3", "type them", "cancel", noName, []string{"Obsidian, automatic"}},
	{"Paseo", "buttons", rounds, thenText, "dismiss", "", []string{"Paseo"}},
	{"JetBrains AIR", "buttons, the question in the title", rounds, thenText, "stop", "", []string{"JetBrains AIR"}},
	{"JetBrains without AIR", "buttons, the question at the tool call", rounds, thenText, "stop", "", []string{"JetBrains without AIR"}},
	{"DeepChat, kandev", "message", "1,3", "type them", "cancel", "", []string{"DeepChat", "kandev"}},
	{"OpenHands", "message", "1,3", "type them", "cancel", noName, []string{"OpenHands"}},
	{"acp-factory, acp-ai-provider", "message", "1,3", "type them", "cancel", noName + "; acp-factory drops one of several updates that come at once, so a question's text may be missing from the second question on; acp-ai-provider needs persistSession: true", []string{"acp-factory, acp-ai-provider"}},
	{"the example clients of the SDKs", "buttons, the question in the title", rounds, thenText, "stop", noText, []string{"example client of the Go SDK"}},
	{"any that knows _meta", "requests", "in one go", "in one go", "dismiss", "see go doc ./adapter/editor", []string{"a client that was taught", "a client that declares it"}},
	{"any whose replies make no sense", "the next way", "", "", "", "", []string{"ids of its own", "forms that fail", "forms that fail, options unseen", "nothing works but words"}},
}
