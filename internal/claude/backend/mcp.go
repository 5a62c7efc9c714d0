package backend

import (
	"encoding/json"
	"path/filepath"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// setup is what an editor says about a session when it opens one.
type setup struct {
	cwd  string
	dirs []string
	mcp  []acp.McpServer
	extras
}

// check refuses what cannot work, before anything is started.
func (u setup) check() error {
	if !filepath.IsAbs(u.cwd) {
		return conn.Invalid("cwd must be an absolute path, got %q", u.cwd)
	}
	for _, dir := range u.dirs {
		if !filepath.IsAbs(dir) {
			return conn.Invalid("additional directories must be absolute paths, got %q", dir)
		}
	}
	_, err := u.mcpConfig()
	return err
}

// mcpServer is a server in the CLI's configuration.
type mcpServer struct {
	Type    string            `json:"type"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// mcpConfig is the editor's MCP servers as the CLI reads them, nil if there are
// none.
func (u setup) mcpConfig() ([]byte, error) {
	if len(u.mcp) == 0 && len(u.servers) == 0 {
		return nil, nil
	}
	all := make(map[string]any, len(u.mcp))
	for i, s := range u.mcp {
		var name string
		var server mcpServer
		switch {
		case s.Stdio != nil:
			name = s.Stdio.Name
			server = mcpServer{Type: "stdio", Command: s.Stdio.Command, Args: s.Stdio.Args, Env: map[string]string{}}
			for _, v := range s.Stdio.Env {
				server.Env[v.Name] = v.Value
			}
		case s.Http != nil:
			name, server = s.Http.Name, mcpServer{Type: "http", URL: s.Http.Url, Headers: headers(s.Http.Headers)}
		case s.Sse != nil:
			name, server = s.Sse.Name, mcpServer{Type: "sse", URL: s.Sse.Url, Headers: headers(s.Sse.Headers)}
		default:
			return nil, conn.Invalid("MCP server %d: expected one on stdio, http or sse", i+1)
		}
		if _, twice := all[name]; twice || name == "" {
			return nil, conn.Invalid("MCP server %d: its name %q is empty or used twice", i+1, name)
		}
		all[name] = server
	}
	for name, server := range u.servers {
		if _, twice := all[name]; !twice {
			all[name] = server
		}
	}
	return json.Marshal(map[string]any{"mcpServers": all})
}

func headers(list []acp.HttpHeader) map[string]string {
	m := make(map[string]string, len(list))
	for _, h := range list {
		m[h.Name] = h.Value
	}
	return m
}

// flags are the CLI's flags for the setup. What may hold secrets, MCP servers and
// settings, goes into private files: others can read a command line, and a file
// that has a name outlives a bridge that is killed.
func (u setup) flags(p *provider) (flags []string, private []claude.PrivateFlag, err error) {
	for _, dir := range u.dirs {
		flags = append(flags, "--add-dir", dir)
	}
	flags = append(flags, u.args...)
	settings, err := p.settings(u.settingsFile)
	if err != nil {
		return nil, nil, err
	}
	if settings != nil {
		private = append(private, claude.PrivateFlag{Flag: "--settings", Content: settings})
	}
	config, err := u.mcpConfig()
	if config != nil {
		private = append(private, claude.PrivateFlag{Flag: "--mcp-config", Content: config})
	}
	return flags, private, err
}
