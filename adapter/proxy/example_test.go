package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/proxy"
)

// The proxy stands between an editor and an agent. The agent is told that the
// editor has forms: what the editor has not, the proxy does in its place.
// [proxy.Serve] starts the agent as a program; here both are functions.
func ExampleRelay() {
	fromEditor, editor := io.Pipe()
	editorIn, toEditor := io.Pipe()
	fromAgent, agent := io.Pipe()
	agentIn, toAgent := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- proxy.Relay(context.Background(), proxy.Stream{In: fromEditor, Out: toEditor}, proxy.Stream{In: fromAgent, Out: toAgent}, proxy.Options{})
	}()

	go fmt.Fprintln(editor, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`)
	asked, _ := bufio.NewReader(agentIn).ReadString('\n')
	fmt.Println("the agent sees", gjson.Get(asked, "params.clientCapabilities.elicitation"))
	go fmt.Fprintln(agent, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`)
	answered, _ := bufio.NewReader(editorIn).ReadString('\n')
	fmt.Println("the editor gets", gjson.Get(answered, "result"))

	editor.Close() // it leaves, and so does the agent
	agent.Close()
	<-done
	// Output:
	// the agent sees {"form":{},"url":{}}
	// the editor gets {"protocolVersion":1}
}
