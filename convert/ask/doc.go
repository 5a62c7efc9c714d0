// Package ask puts questions to an ACP client and reads what comes back. It is
// pure: no I/O, no clock, no goroutines.
//
//	asking := ask.New(call, 0, ask.Options{})
//	response := send(asking.Request())      // session/request_permission
//	step, err := asking.Reply(response)     // Done, Again, NeedText, Dismissed, Refused
//	answer := asking.Answer()               // after Done
//
// [Form] and [FormOutcome] do the same through an elicitation form, [Message]
// through the conversation. [ServerForm] makes questions of a form that an MCP
// server sends, [ParseForm] of one that an agent sends. Package
// [github.com/acp-bridge/acp-bridge/adapter] puts them on a connection.
//
// Text for people (titles, names, content) is cleaned of control characters
// and escape sequences. Values (option ids, form constants, answers) are as
// the agent gave them.
package ask
