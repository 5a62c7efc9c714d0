// Package claude starts the Claude Code CLI and talks to it.
//
// A Process is one running CLI. It speaks newline-delimited JSON: the caller
// sends prompts and control requests and reads messages in the order in which
// the CLI wrote them.
//
//	path, err := claude.Find("", os.Getenv)
//	p, err := claude.Start(ctx, claude.Options{Path: path, Dir: dir, SessionID: claude.NewSessionID()})
//	defer p.Close(ctx)
//	info, err := p.Initialize(ctx)
//	err = p.Prompt("hello")
//	for {
//		m, err := p.Next(ctx)
//		if err != nil {
//			return err // errors.Is(err, claude.ErrExited) when the CLI is gone
//		}
//		switch m.Type {
//		case claude.TypeControlRequest:
//			err = p.Reply(m.RequestID(), claude.Allow(m.ToolRequest().Input))
//		case claude.TypeResult:
//			return nil
//		}
//	}
//
// Messages are read from the CLI only as fast as Next is called: a slow caller
// slows the CLI down and memory stays bounded. Replies to the caller's own
// control requests are matched by the reader and never seen by Next.
package claude
