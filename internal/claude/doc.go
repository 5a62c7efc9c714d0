// Package claude starts the Claude Code CLI and talks to it.
//
// A Process is one running CLI. It speaks newline-delimited JSON: the caller
// sends prompts and control requests and gets messages in the order in which
// the CLI wrote them.
//
//	messages := make(chan claude.Message)
//	path, err := claude.Find("", os.Getenv)
//	p, err := claude.Start(ctx, claude.Options{
//		Path: path, Dir: dir, SessionID: claude.NewSessionID(),
//		OnMessage: func(m claude.Message) {
//			select {
//			case messages <- m:
//			case <-ctx.Done():
//			}
//		},
//	})
//	defer p.Close(ctx) // after ctx ended
//	info, err := p.Initialize(ctx)
//	err = p.Prompt("hello")
//	for m := range messages {
//		switch m.Type {
//		case claude.TypeControlRequest:
//			err = p.Reply(m.RequestID(), claude.Allow(m.ToolRequest().Input))
//		case claude.TypeResult:
//			return nil
//		}
//	}
//
// Messages are read from the CLI only as fast as OnMessage returns: a slow caller
// slows the CLI down and memory stays bounded.
package claude
