// Package hublink also asks a process's questions at a hub, and takes the hub's
// answers. The first answer wins, wherever it comes from.
//
//	link := hublink.Start(&d, hublink.Options{URL: hub, Token: token}) // a function
//	defer link.Close()
//
// A person's own requests go through [Named]: what waits there, answers, the history. [Running] is
// the hub of this machine.
//
// Whoever asks at the desk never waits for the hub. A hub that is down, slow or
// wrong is warned about once, and tried again until it works.
package hublink
