// Command acp-bridge lets ACP editors show the questions that coding agents
// ask. See acp-bridge help.
//
// # Security
//
// What holds whatever a model, an editor or a file says, and the test that shows it:
//
//   - A model's text cannot move the cursor, set the title or draw an option of its
//     own in the picker: `adapter/terminal TestOneRowPerOption`,
//     `adapter/terminal TestGolden` (the case `hostile`), `display/clean TestProperties`,
//     `internal/terminal/client TestScreenProperties`, `cmd/acp-bridge TestChatIsClean`.
//   - Nothing is run through a shell: `cmd/acp-bridge TestNothingIsRunThroughAShell`.
//   - Files are for their owner alone (0600); those with questions are written at once,
//     and never through a link: `internal/pending TestFileIsAlwaysWhole`,
//     `internal/pending TestLinks`, `cmd/acp-bridge TestTrace`.
//   - No environment value, header or key is in a log, a trace or on a command line:
//     `cmd/acp-bridge TestTrace`, `cmd/internal/redact TestHideLine`,
//     `cmd/internal/redact TestServerConfiguration`,
//     `internal/claude/backend TestMCPServersAreNotOnTheCommandLine`,
//     `internal/claude/backend TestMetaHidesSecrets`.
//   - What is for acp-bridge alone, such as a hub's token, reaches no program that it
//     starts, and a token that nobody named goes only to the hub that has it:
//     `internal/child TestEnvironment`, `internal/child TestEveryChildHasItsEnvironmentFromHere`,
//     `internal/hub/hublink TestTokenGoesToItsHubOnly`.
//   - Nothing that acp-bridge starts outlives it, even if it is killed:
//     `internal/child TestParentIsKilled`, `internal/child TestDetachedCommands`,
//     `cmd/acp-bridge TestKilledLeavesNobody`.
//   - A running command's output is read from its own file and no other, whatever
//     the CLI calls it, and of its escape sequences an editor's terminal gets colours
//     alone: `internal/claude TestOpenOutputRefuses`, `internal/claude/backend TestOutputThatIsNotThere`,
//     `display/clean TestTerminal`, `display/clean TestTerminalProperties`.
//   - A question cannot be mistaken for a tool permission, and answering one allows
//     nothing: `internal/claude/backend TestQuestionIsNoToolPermission`.
//   - A form of an MCP server says who asks, and what the server gets fits its schema:
//     `internal/claude/backend TestFormSaysWhoAsks`, `convert/ask TestServerFormAccepts`,
//     `adapter TestAnyClientAnyForm`.
//   - An answer belongs to the question that the user saw. Words for a question that
//     the agent withdrew, or that was answered elsewhere, answer no other one:
//     `internal/session TestWalk` (every order of a few events), `adapter/editor TestSimulation`
//     (people who write slowly, lines that cross; each life is given by its seed, CI
//     plays a million steps: `-sim.steps 1000000`).
//   - A repository cannot bring answers along: those in `.acp-bridge` count only for
//     questions that this user's acp-bridge asked: `internal/pending TestForeign`.
//   - No answer is lost or made up when the CLI or the editor dies, freezes, stalls,
//     closes one pipe or sends garbage, at any step of a question and on every way of
//     asking: `internal/claude/backend TestFaults`, `internal/claude/backend TestSoak`,
//     `internal/claude/backend TestPanicIsOfOneSession`. In a run of 100,200 questions with
//     31,950 faults (2026-11-15, 6 minutes on a machine with two cores) none was:
//     `go test ./internal/claude/backend -run TestSoak -v -soak.questions 100000 -soak.seed 20261115 -timeout 60m`.
//     Ten minutes of it: `-soak 10m -timeout 20m`; each fault ten times, and the heavy
//     ones at every step: `ACP_BRIDGE_FAULTS=10 go test ./internal/claude/backend -run TestFaults -timeout 60m`.
//   - On a full or read-only disk no answer is said to be saved that is not, what was
//     there stays whole, and serving goes on without its trace: `cmd/acp-bridge TestDisk`,
//     `cmd/acp-bridge TestNoRoom`, `cmd/acp-bridge TestTraceOnAFullDisk`.
//   - What takes secrets out of traces and logs does not cover values of less than 6
//     characters away from their own place, lines of less than 16 of a value that has
//     several, a secret that is split over several messages, quoted more than 8 times,
//     or in another form (base64, a hash), arguments that no flag or name tells to be
//     secret, and what a user or a model writes.
package main
