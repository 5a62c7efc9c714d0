// Package opencode watches OpenCode and Kilo, which is made of it, in a terminal.
//
// For the first version a plugin of a few lines, which package watch installs, starts acp-bridge and passes on what happens
// there, one JSON object a line; acp-bridge has it make requests of OpenCode's own
// API, which needs no port for that:
//
//	plugin → us   {"hello":{"directory":"/src/app"}}
//	              {"event":{"type":"question.asked","properties":{…}}}
//	              {"reply":1,"status":200,"data":…}
//	us → plugin   {"request":1,"method":"POST","path":"/question/que_1/reply","body":{…}}
//
// OpenCode refuses a reply that comes too late, so one that it takes was the first.
// Tokens are ours: the plugin has none.
//
// The second version has one service for all of a user's terminals, which writes down
// where it listens, and a password. We are a second client of it, see [Terminals]: forms and
// permissions come as events, and outlive the terminal. Run with 2.0.0, built on 19 November
// 2026 from github.com/anomalyco/opencode, branch v2, commit 3edcb3ca2b: TestRealService.
package opencode
