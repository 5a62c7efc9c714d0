// Command acp-bridge lets ACP editors show the questions that coding agents
// ask. See acp-bridge help.
//
// # Security
//
// What holds whatever a model, an editor or a file says, with the tests that show
// it:
//
//   - A model's text cannot move the cursor, set the title or draw an option of its
//     own in the picker: `internal/terminal/picker TestOneRowPerOption`,
//     `internal/terminal/picker TestGolden` (the case `hostile`), `display/clean
//     TestProperties`,
//     `internal/terminal/client TestScreenProperties`, `cmd/acp-bridge
//     TestChatIsClean`.
//   - Nothing is run through a shell: `cmd/acp-bridge
//     TestNothingIsRunThroughAShell`.
//   - Only their owner can read our files (0600); those with questions are written
//     atomically, and never through a link: `internal/pending
//     TestFileIsAlwaysWhole`, `internal/pending TestLinks`, `cmd/acp-bridge
//     TestTrace`.
//   - No environment value, header or key appears in a log, in a trace or on a
//     command line: `cmd/acp-bridge TestTrace`, `cmd/internal/redact TestHideLine`,
//     `cmd/internal/redact TestServerConfiguration`, `internal/claude/backend
//     TestMCPServersAreNotOnTheCommandLine`, `internal/claude/backend
//     TestMetaHidesSecrets`.
//   - What is meant for acp-bridge only, such as a hub's token, reaches no program
//     that it starts: `internal/proc TestEnvironment`, `internal/proc
//     TestEveryChildHasItsEnvironmentFromHere`.
//   - A hub's token, whether it was named or found, goes only to a hub that has
//     proven that it knows it, and only that hub's answers count. By https the
//     certificate is the proof; over http, which is for this machine alone, each
//     connection begins with one: `internal/hub/hublink TestTokenGoesToItsHubOnly`,
//     `internal/hub/hublink TestACertificateIsTheProof`, `cmd/acp-bridge
//     TestWhoeverListensGetsNoToken`. Not covered: a token that somebody made up and
//     that can be guessed. Who listens in the hub's place can try guesses on what a
//     client sends first; use the tokens that the hub makes.
//   - Who may no longer look, because a device was removed or its login ended, is
//     sent nothing more, in the middle of a stream or a list, too:
//     `internal/hub/web TestNothingMoreIsToldToWhoIsGone`.
//   - Nothing that acp-bridge starts outlives it, even if it is killed:
//     `internal/proc TestParentIsKilled`, `internal/proc TestDetachedCommands`,
//     `cmd/acp-bridge TestKilledLeavesNobody`.
//   - A running command's output is read from its own file and no other, whatever
//     the CLI calls it, and the only escape sequences that reach an editor's
//     terminal are colours: `internal/claude TestOpenOutputRefuses`,
//     `internal/claude/backend TestOutputThatIsNotThere`, `display/clean
//     TestTerminal`, `display/clean TestTerminalProperties`.
//   - A question cannot be mistaken for a tool permission, and answering one allows
//     nothing: `internal/claude/backend TestQuestionIsNoToolPermission`.
//   - A form of an MCP server says who asks, and what the server gets fits its
//     schema: `internal/claude/backend TestFormSaysWhoAsks`, `convert/ask
//     TestServerFormAccepts`, `adapter TestAnyClientAnyForm`.
//   - What is typed in an editor or a terminal to a question that asks for a
//     password or a key is not kept at a hub: `convert/ask TestKept`,
//     `internal/hub/hublink TestATypedSecretIsNotKept`. What is typed at the
//     hub itself is kept until the agent has it, or never can, and no page, list,
//     event, search or export shows it: `internal/hub
//     TestATypedSecretIsKeptUntilItIsUsed`, `internal/hub/web
//     TestATypedSecretIsShownNowhere`. Its bytes stay in the store's files until
//     JetStream writes them anew, which may be long after: whoever can read the
//     hub's data folder can read them.
//   - An answer belongs to the question that the user saw. Words meant for a
//     question that the agent withdrew, or that was answered elsewhere, answer no
//     other question: `internal/session TestWalk` (every order of a few events),
//     `cmd/tools/simulate/front TestSimulation` (people who write slowly, messages
//     that cross; a seed gives each run, and CI plays a million steps: `-sim.steps
//     1000000`).
//   - A repository cannot bring answers along: those in `.acp-bridge` count only
//     for questions that this user's acp-bridge asked: `internal/pending
//     TestForeign`.
//   - No answer is lost or made up when the CLI or the editor dies, freezes,
//     stalls, closes one pipe or sends garbage, at any step of a question and on
//     every way of asking: `cmd/tools/simulate/editors TestFaults`,
//     `cmd/tools/measure/soak TestSoak`, `internal/claude/backend
//     TestPanicIsOfOneSession`. In a run of 100,200 questions with 31,950 faults
//     (2026-11-15, 6 minutes on a machine with two cores) none was: `go -C
//     cmd/tools test ./measure/soak -run TestSoak -v -soak.questions 100000 -soak.seed
//     20261115 -timeout 60m`. For ten minutes of it: `-soak 10m -timeout 20m`. For
//     each fault ten times, and the heavy ones at every step: `ACP_BRIDGE_FAULTS=10
//     go -C cmd/tools test ./simulate/editors -run TestFaults -timeout 60m`.
//   - On a full or read-only disk no answer is reported as saved that is not, what
//     was there stays intact, and serving continues without its trace:
//     `cmd/acp-bridge TestDisk`, `cmd/acp-bridge TestNoRoom`, `cmd/acp-bridge
//     TestTraceOnAFullDisk`.
//   - What is not covered when secrets are removed from traces and logs: values shorter
//     than 6 characters outside their own place; lines shorter than 16 characters
//     of a value with several lines; a secret that is split over several messages,
//     quoted more than 8 times, or encoded otherwise (base64, a hash); arguments
//     that no flag or name marks as secret; and what a user or a model writes.
package main
