// Package opencode watches OpenCode and Kilo, which is made of it, in a terminal. A
// plugin of a few lines, see [Plugin], starts acp-bridge and passes on what happens
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
package opencode
