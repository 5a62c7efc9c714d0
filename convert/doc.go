// Package convert turns question calls of agents into ACP requests and the
// client's replies into the results that agents expect. It is pure: no I/O, no
// clock, no goroutines.
//
//	call, err := convert.Parse(toolInput, convert.Limits{})
//	call.Session, call.ID = "s1", "toolu_1"
//
//	asking := convert.Ask(call, 0, convert.PermissionOptions{})
//	response := send(asking.Request())      // session/request_permission
//	step, err := asking.Reply(response)     // Done, Again, NeedText, Dismissed, Refused
//
//	outcome := convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{asking.Answer()}}
//	result := convert.ClaudeResult(call, outcome)
//
// [Form] and [FormOutcome] do the same through an elicitation form, [Message]
// and [ReadMessage] through the conversation. [ServerForm] makes questions of a
// form that an MCP server sends, [ParseForm] of one that an agent sends. Package
// [github.com/acp-bridge/acp-bridge/adapter] puts them on a connection.
//
// Text for people (titles, names, content) is cleaned of control characters
// and escape sequences. Values (option ids, form constants, answers) are as
// the agent gave them.
package convert
