// Package demo is an ACP agent that plays a script: on each prompt it asks the
// same questions and says what it received. It needs no model, no account and
// no network, and asks as acp-bridge does, so that it shows how an editor
// shows questions.
//
//	err := demo.Serve(ctx, os.Stdin, os.Stdout, demo.Options{})
package demo
