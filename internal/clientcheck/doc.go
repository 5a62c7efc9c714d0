// Package clientcheck is an ACP agent that an editor's author starts in the editor: it
// asks every kind of question in turn, says in the conversation what to do, looks
// at what comes back on the wire, and ends with a table: what the client can do,
// what it got wrong, and how its users will be asked.
//
//	err := clientcheck.Serve(ctx, os.Stdin, os.Stdout, clientcheck.Options{})
package clientcheck
