// Package conn is an ACP connection that does not lose messages, hang or die
// of what its peer sends. It serves either end: the agent that an editor
// starts, and a client that starts an agent.
//
//	c := conn.New(os.Stdin, os.Stdout, handler, nil)
//	defer c.Close()
//
//	resp, err := c.RequestPermission(ctx, req)
//	switch {
//	case errors.Is(err, conn.ErrClosed):     // the peer is gone
//	case errors.Is(err, context.Canceled):   // ctx ended; the peer was told
//	case errors.Is(err, conn.ErrProtocol):   // the peer's answer is not one
//	case errors.As(err, new(*acp.RequestError)): // the peer answered with an error
//	}
//	<-c.Done()
//
// What the peer sends goes to a [Handler]. Messages are taken in the order in
// which they arrive: Handler.Notify is called before anything later is looked
// at, and so is [Acceptor].Accept, for handlers to which the order of requests
// matters. Requests are then answered each in its own goroutine.
//
// What is sent goes through one queue, so that the order of Call, Notify and
// answers is their order on the wire, and a peer that stops reading blocks
// nothing but the queue. See [Options.HighWater].
//
// # Why not acp.Connection
//
// The types, method names and errors are those of github.com/coder/acp-go-sdk,
// its Connection is not used. Its dispatch starts a request's handler without
// waiting for earlier notifications and hands it no id, so neither arrival
// order nor a request accepted in order can be had around it; its callers
// choose at random between an answer and the end of the stream. What would be
// left of it behind a reader that repairs both is nothing.
package conn
