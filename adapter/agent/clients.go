package agent

import (
	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
)

// Client is what is known of an editor beyond what it says of itself.
type Client struct {
	// Name is what it sends as clientInfo.name.
	Name string
	// Editor is its name for people.
	Editor string
	// First is the rung to begin with; the zero value goes by capabilities.
	First adapter.Rung
	// Title is the style of titles.
	Title convert.TitleStyle
	// Guard is set for clients that can be told to answer by themselves.
	Guard bool
	// Note says why.
	Note string
}

// Clients is the table of known clients. One that is not in it gets what its
// capabilities call for, is shown headers as titles, and is trusted.
var Clients = []Client{
	{Name: "zed", Editor: "Zed", Note: "shows forms, and a button for each option"},
	{Name: "agent-shell", Editor: "Emacs agent-shell", Guard: true, Note: "a button for each option; its automatic mode takes the first"},
	{Name: "Agentic.nvim", Editor: "Neovim agentic.nvim", Note: "numbered buttons in an order of its own"},
	{Name: "CodeCompanion.nvim", Editor: "Neovim CodeCompanion", First: adapter.Conversation, Note: "shows neither question nor options of a permission request"},
	{Name: "acpx", Editor: "acpx", First: adapter.Conversation, Guard: true, Note: "asks yes or no; without a terminal it cancels by itself"},
	{Name: "vscode-acp-client", Editor: "VS Code ACP", Title: convert.TitleHeaderAndQuestion, Guard: true, Note: "shows title and options, not the content; can be set to allow everything"},
	{Name: "DeepChat", Editor: "DeepChat", First: adapter.Conversation, Note: "shows Allow and Deny alone"},
	{Name: "kandev-agentctl", Editor: "kandev", First: adapter.Conversation, Note: "shows Allow and Deny alone"},
}

// lookUp finds what is known of a client by its name.
func lookUp(info *acp.Implementation) (Client, bool) {
	if info != nil {
		for _, c := range Clients {
			if c.Name == info.Name {
				return c, true
			}
		}
	}
	return Client{}, false
}

// AskOptions say how a client is asked: by its capabilities, corrected by the
// table. why names what decided.
func AskOptions(r acp.InitializeRequest) (o adapter.Options, why string) {
	caps := r.ClientCapabilities
	known, _ := lookUp(r.ClientInfo)
	aware := caps.Meta["askUserQuestion"]
	o = adapter.Options{
		Forms: caps.Elicitation != nil && caps.Elicitation.Form != nil,
		Aware: aware != nil && aware != false,
		Title: known.Title,
		Guard: known.Guard,
	}
	if !o.Forms && !o.Aware && known.First != 0 {
		o.First = known.First
		return o, "the table of clients: " + known.Note
	}
	return o, "its capabilities"
}

// askOptions are AskOptions, overridden by the user.
func (a *Agent) askOptions(r acp.InitializeRequest) *adapter.Options {
	o, why := AskOptions(r)
	o.Guard = o.Guard || a.opts.Guard
	o.OnChange = a.questionChanged
	o.Logger = a.log
	if a.opts.First != 0 {
		o.First, why = a.opts.First, "--ask"
	}
	first := o.First
	if first == 0 {
		first = adapter.Permission
		if o.Forms {
			first = adapter.Form
		}
	}
	_, inTable := lookUp(r.ClientInfo)
	a.log.Debug("how questions are asked", "first", first.String(), "why", why, "known", inTable,
		"forms", o.Forms, "aware", o.Aware, "guard", o.Guard)
	return &o
}
