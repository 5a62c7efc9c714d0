package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// ToolAddress is the variable with the address of the question tool, for the
// command that relays it.
const ToolAddress = "ACP_BRIDGE_TOOL"

// relayProtocol is what a relay asks for: MCP, a line a message, on the
// connection itself.
const relayProtocol = "acp-bridge-mcp"

// RelayTool passes MCP on between in and out and the question tool of a proxy at
// this address, until either ends.
func RelayTool(ctx context.Context, in io.Reader, out io.Writer, address string) error {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "http" || at.Host == "" {
		return fmt.Errorf("expected the address of a question tool in %s, as the proxy sets it", ToolAddress)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", at.Host)
	if err != nil {
		return fmt.Errorf("the question tool is gone: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", at.EscapedPath(), at.Host, relayProtocol)
	from := bufio.NewReader(conn)
	resp, err := http.ReadResponse(from, nil)
	if err != nil {
		return fmt.Errorf("the question tool does not answer: %w", err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the question tool is gone: %s", resp.Status)
	}
	go func() { // ends with the process, if in does not
		_, _ = io.Copy(conn, in)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(out, from)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// relayed speaks MCP with a relay, on the connection of its request.
func (t *tool) relayed(w http.ResponseWriter) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	defer context.AfterFunc(t.p.ctx, func() { conn.Close() })()
	_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+relayProtocol+"\r\n\r\n")
	if err == nil {
		err = t.server.Serve(t.p.ctx, buffered, conn)
	}
	if err != nil && t.p.ctx.Err() == nil {
		t.p.log.Debug("the relay of the question tool ended", "err", err)
	}
}
