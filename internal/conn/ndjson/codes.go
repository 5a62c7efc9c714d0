package ndjson

// The error codes of JSON-RPC and of ACP.
const (
	Parse          = -32700
	InvalidRequest = -32600
	NoMethod       = -32601
	InvalidParams  = -32602
	Internal       = -32603
	// AuthRequired is ACP's: the agent needs a login.
	AuthRequired = -32000
	// NotFound is ACP's: there is no such session or file.
	NotFound = -32002
	// Cancelled is ACP's: the request was taken back.
	Cancelled = -32800
)
