// Package hook reads what the hooks of Claude Code say and writes what they want to
// hear, so that a claude in a plain terminal can be answered elsewhere, too. It is
// pure: a hub holds the connections and keeps the askings.
//
//	event, err := hook.Parse(body)
//	asking, err := event.Asking()         // of a PermissionRequest or an Elicitation
//	body, err = asking.Reply(outcome)     // what a person said, for Claude Code
//	ending := event.Ends(held)            // what any other event makes of an asking
//
// While a hook waits, the dialog in the terminal works on, and whoever is first has
// answered. Two things are told to nobody, and decide the rules here: that the
// terminal said Yes is known when the tool has ended, and a reply that comes too late
// is passed over without a word. So an answer has arrived when an event of its tool
// call says the same, see [Event.Ends].
//
// A sub-agent in the background, and a server that shows a form, have no dialog
// while a hook waits, see [Event.Blocks].
package hook
