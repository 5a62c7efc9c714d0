package main

import (
	"bytes"
	"context"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/pending"
	"github.com/acp-bridge/acp-bridge/internal/terminal/client"
)

// chatQuestions is /questions in a chat: what waits in files of a directory.
func chatQuestions(dir string) client.Command {
	return client.Command{
		Name: "questions", Description: "open questions in files; /questions clear removes them",
		Run: func(args string) string {
			var out bytes.Buffer
			if err := showWaiting(&pending.Store{Dir: dir}, strings.Fields(args), streams{Out: &out}); err != nil {
				return oneLine(err)
			}
			return out.String()
		},
	}
}

// showWaiting shows the only one in full and lists several. Answers are not
// taken: the picker is the agent's.
func showWaiting(store *pending.Store, args []string, s streams) error {
	o := questionsOptions{}
	if len(args) > 0 {
		o.action = args[0]
	}
	if len(args) > 1 {
		o.name = args[1]
	}
	switch {
	case len(args) > 2:
		return usagef("expected /questions, /questions show ID or /questions clear [ID]")
	case o.action == "answer":
		return usagef("run acp-bridge questions answer %s in another terminal: this one is the agent's", o.name)
	case o.action == "":
		o.action = "list"
		if all, err := store.List(); err == nil && len(all) == 1 {
			o.action, o.name = "show", all[0].ID
		}
	case o.action != "show" && o.action != "clear":
		return usagef("unknown action %q: expected show or clear", o.action)
	}
	o.all = o.action == "clear" && o.name == ""
	return o.run(context.Background(), files{store}, s)
}
