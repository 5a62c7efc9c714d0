// Package client is a terminal client for ACP agents: type a prompt, watch the
// agent work, answer its questions in the picker of adapter/terminal.
//
//	err := client.RunAgent(ctx, []string{"acp-bridge"}, client.Options{
//		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
//	})
//
// [Run] is the same over a connection that exists already. On a terminal it
// draws; elsewhere, on a dumb terminal and with Options.Plain it reads and
// writes lines, for scripts and screen readers.
package client
