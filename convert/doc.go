// Package convert holds the model of questions that agents ask: calls, their
// questions, answers, outcomes, and how people write answers. It is pure: no
// I/O, no clock, no goroutines.
//
//	call, err := convert.Parse(toolInput, convert.Limits{})
//	answers, err := call.ReadAnswers([]byte(`["PostgreSQL", ["Auth", "Logs"]]`))
//	text := convert.Format(call, answers)
//
// Package [github.com/acp-bridge/acp-bridge/convert/ask] puts a call to an ACP
// client, package [github.com/acp-bridge/acp-bridge/convert/dialect] reads calls
// and writes results as the agents do.
package convert
