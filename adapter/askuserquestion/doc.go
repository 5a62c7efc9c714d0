// Package askuserquestion gives a Go agent the AskUserQuestion tool under the
// names of the library askuserquestion-go, so that its users change an import
// path. The questions, the limits and the text of the result are those of
// package convert.
//
//	tool := askuserquestion.NewTool(askuserquestion.StdinResolver{In: os.Stdin, Out: os.Stdout})
//	register(tool.Name(), tool.Description(), tool.Schema()) // with your model
//	text, isError := tool.Run(ctx, toolCallID, input)        // when the model calls it
//
// A host that talks to its user in a way of its own writes a [Resolver]; one
// that has an ACP editor uses [Through]:
//
//	tool := askuserquestion.NewTool(askuserquestion.Through(asker, sessionID)) // an *adapter.Adapter
//
// The tool as a fantasy.AgentTool is in a module of its own, see
// adapter/fantasy/askuserquestion.
package askuserquestion
