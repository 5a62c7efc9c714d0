package editor

import (
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/typed"
)

// Client is what is known of an editor beyond what it says of itself.
type Client struct {
	// Name is what it sends as clientInfo.name. Clients that send none, and whose
	// prompts do not tell, are listed for people: they cannot be recognised.
	Name string
	// Prompts is by what [typed.Editor] knows the prompts of one without a name.
	Prompts string
	// Declares is the member of its capabilities' _meta by which one is recognised
	// that has neither.
	Declares string
	// Editor is its name for people.
	Editor string
	// Unseen is set where the options of a permission request are not shown:
	// such a client is asked in the conversation, if it has no forms.
	Unseen bool
	// Title is the style of titles.
	Title ask.TitleStyle
	// Guard is set for clients that can be told to answer by themselves.
	Guard bool
	// Loud is set for clients that tell their user of each request that they do
	// not know: they are not asked behind a question, see package seen.
	Loud bool
	// NoCancel is set for those that tell their user of $/cancel_request, and take a
	// request away without it.
	NoCancel bool
	// Appends is set for clients that add the content of a request to what they show
	// of its tool call.
	Appends bool
	// PromptsOnly is set for clients that show nothing while none of their prompts
	// runs, no request either.
	PromptsOnly bool
	// Note says why.
	Note string
	// From says how that is known: from a run or from its source, of which version
	// and when.
	From string
}

// Clients returns the table of known clients. One that is not in it gets what its
// capabilities call for, and is trusted. Its titles are headers, if it has a name; else
// the question is in them.
func Clients() []Client { return slices.Clone(clients) }

var clients = []Client{
	{Name: "zed", Editor: "Zed", Note: "shows forms, and a button for each option", From: "its source, 1.18.0 at 7eec892, 2026-08-22; not run"},
	{Name: "agent-shell", Editor: "Emacs agent-shell", Guard: true, Loud: true, Note: "a button for each option; its automatic mode takes the first; where it has forms, they are used: by its source, not run", From: "run 0.74.3, 2026-11-16"},
	{Name: "Agentic.nvim", Editor: "Neovim agentic.nvim", Title: ask.TitleHeaderAndQuestion, Loud: true, NoCancel: true, Appends: true, Note: "numbered buttons in an order of its own; older ones, with the same name and version, show the title of a request alone", From: "run 99273b0, 2026-11-16, and b140d1b, 2026-11-19"},
	{Name: "CodeCompanion.nvim", Editor: "Neovim CodeCompanion", Unseen: true, PromptsOnly: true, Note: "shows neither question nor options of a permission request; nothing at all between prompts", From: "run 19.22, 2026-11-16"},
	{Name: "acpx", Editor: "acpx", Unseen: true, PromptsOnly: true, Guard: true, Loud: true, Note: "asks yes or no; without a terminal it cancels by itself; shows nothing between prompts", From: "run 0.19.1, 2026-11-16"},
	{Name: "vscode-acp-client", Editor: "VS Code ACP", Title: ask.TitleHeaderAndQuestion, Guard: true, Loud: true, Note: "shows title and options, not the content; can be set to allow everything", From: "run 0.2.0, its extension code in Node, 2026-11-16"},
	{Declares: "jetbrains", Editor: "JetBrains", Title: ask.TitleHeaderAndQuestion, Note: "shows title and options; the content is at its tool call, which may be out of sight", From: "the source of claude-agent-acp, 0.99.1, 2026-10-29; not run"},
	{Name: "DeepChat", Editor: "DeepChat", Unseen: true, Note: "shows Allow and Deny alone; cancels by itself after a minute", From: "its source, 1.1.0-beta.12 at 8311bd2, 2026-08-08; not run"},
	{Name: "kandev-agentctl", Editor: "kandev", Unseen: true, Guard: true, Note: "shows Approve and Deny alone; can be set to approve everything", From: "its source, 0.91.0 at cd9fa0e, 2026-08-22; not run"},
	{Prompts: typed.Avante, Editor: "Neovim avante", Unseen: true, Guard: true, Loud: true, Note: "approves by itself, or answers without saying what was picked", From: "run a9334315, 2026-11-16"},
	{Editor: "OpenHands", Guard: true, Note: "takes the first option by itself", From: "its SDK's source, 1.43.1 at 611629e, 2026-08-22; not run"},
	{Editor: "acp-factory, acp-ai-provider", Guard: true, Note: "their automatic modes take the first option", From: "run as newest then acp-factory 0.1.14 and acp-ai-provider 0.2.9, 2026-11-16"},
	{Prompts: typed.Goose, Editor: "goose", Unseen: true, Guard: true, Note: "shows Allow, Deny and Cancel whatever the options are; Allow is the first option", From: "run 1.52.0 as a client, 2026-11-16"},
}

// First is the rung on which the client is asked first; the zero value goes by
// its capabilities.
func (c Client) First() adapter.Rung {
	if c.Unseen {
		return adapter.Conversation
	}
	return 0
}

// Known is what is known of a client: by its name, or by a prompt of it, nil while
// there is none. One that may yet turn out to be a loud one is taken for such.
func Known(info *acp.Implementation, prompt []acp.ContentBlock) (Client, bool) {
	prompts := typed.Editor(prompt)
	i := slices.IndexFunc(clients, func(c Client) bool { return c.Name != "" && info != nil && c.Name == info.Name })
	if i < 0 {
		i = slices.IndexFunc(clients, func(c Client) bool { return c.Prompts != "" && c.Prompts == prompts })
	}
	if i < 0 {
		return Client{Loud: prompt == nil && nameless(info)}, false
	}
	return clients[i], true
}

// nameless reports whether a client says no name, as those do that follow the examples of the SDKs.
func nameless(info *acp.Implementation) bool { return info == nil || info.Name == "" }

// Ask says how a client is asked: by its capabilities, corrected by what is known of it,
// overridden by the user. why names what decided on the first way.
func (o Options) Ask(r acp.InitializeRequest, known Client) (_ adapter.Options, why string) {
	caps := r.ClientCapabilities
	if known.Editor == "" {
		known = declares(caps)
	}
	declared := caps.Meta["askUserQuestion"]
	aware := declared != nil && declared != false
	if known.Editor == "" && !aware && nameless(r.ClientInfo) {
		known.Title = ask.TitleHeaderAndQuestion // the examples show nothing else
	}
	how := adapter.Options{
		Forms:        caps.Elicitation != nil && caps.Elicitation.Form != nil,
		URLs:         caps.Elicitation != nil && caps.Elicitation.Url != nil,
		Aware:        aware,
		Title:        known.Title,
		Unseen:       known.Unseen && !aware,
		Guard:        known.Guard || o.Guard,
		Appends:      known.Appends,
		First:        o.First,
		GuardPrompts: !o.TrustPrompts,
		Now:          o.Now,
		Desk:         o.Desk,
		Logger:       o.Logger,
	}
	switch {
	case o.First != 0:
		why = "--ask"
	case how.Unseen && !how.Forms:
		why = "the table of clients: " + known.Note
	default:
		why = "its capabilities"
	}
	if o.Logger != nil {
		o.Logger.Debug("how questions are asked", "first", firstRung(&how).String(), "why", why,
			"forms", how.Forms, "aware", aware, "unseen", how.Unseen, "guard", how.Guard)
	}
	return how, why
}

// declares finds what is known of a client by what it says of itself alone.
func declares(caps acp.ClientCapabilities) Client {
	for _, c := range clients {
		if _, ok := caps.Meta[c.Declares].(map[string]any); ok && c.Declares != "" {
			return c
		}
	}
	return Client{}
}

// meet learns what the editor says of itself, or what its first prompt tells.
func (f *front) meet(r acp.InitializeRequest, prompt []acp.ContentBlock) {
	known, _ := Known(r.ClientInfo, prompt)
	known.Meet(f.conn.Peer())
	f.client.Store(&met{r, known})
	o, _ := f.opts.Ask(r, known)
	o.Describe, o.Logger = f.describe, f.log
	f.ask.Store(adapter.New(&asking{front: f}, &o))
}

// Meet tells a connection what is known of its peer.
func (c Client) Meet(p *seen.Peer) {
	p.Mute(c.Loud)
	p.Once.Store(c.Editor == "") // those in the table are known to be quiet, or loud
	p.NoCancel.Store(c.NoCancel)
}

// Tells reports whether a prompt may tell more of the client.
func (c Client) Tells(prompt []acp.ContentBlock) bool {
	return c.Editor == "" && (c.Loud || typed.Editor(prompt) != "")
}

// met is what an editor has said of itself, and what is known of it.
type met struct {
	acp.InitializeRequest
	Client
}

// prompted looks whether a prompt tells which editor it is that has no name.
func (f *front) prompted(prompt []acp.ContentBlock) {
	if m := f.client.Load(); m != nil && m.Tells(prompt) {
		f.meet(m.InitializeRequest, prompt)
	}
}

// describe says of what is posted who asks, where it works, and what was said before.
func (f *front) describe(it *desk.Item) {
	if s, err := f.session(it.Call.Session); err == nil {
		s.describe(it)
	}
}

func (s *Session) describe(it *desk.Item) {
	if d, ok := s.conv.(interface{ Describe(it *desk.Item) }); ok {
		d.Describe(it)
	}
	s.tells(func(w *about.Words) { w.Tell(&it.About) })
}

// tells has what was said for one function at a time.
func (s *Session) tells(f func(*about.Words)) {
	s.saying.Lock()
	defer s.saying.Unlock()
	f(&s.said)
}

// firstRung is the rung on which the first question is asked.
func firstRung(o *adapter.Options) adapter.Rung {
	switch {
	case o.First == adapter.Conversation:
		return adapter.Conversation
	case o.Forms && o.First != adapter.Permission:
		return adapter.Form
	case o.Unseen && o.First != adapter.Permission:
		return adapter.Conversation
	}
	return adapter.Permission
}
