// Package pending asks where somebody may answer, and keeps questions in files
// until a person has.
//
// A [Chain] is how the commands without an editor ask. What is missing of it is
// passed over:
//
//	given     answers that came with the command
//	file      where a predecessor asked the same, see [Asker.Claim]
//	hub       and at the same time
//	terminal  whoever is first has answered
//	file      where the questions wait if nobody is there
//
//	chain := pending.New(pending.Options{Store: &pending.Store{Dir: cwd}, Terminal: terminal})
//	defer chain.Close()
//	asking := chain.Post(ctx, call)
//	outcome, err := asking.Wait()                 // to look is not to take
//	err = asking.Deliver(func() error { … })      // it is taken, if this returned nil
//
// What the commands that use it differ in:
//
//	| command  | calls             | a successor claims by            | nobody is there   | handed over when            |
//	|----------|-------------------|----------------------------------|-------------------|-----------------------------|
//	| ask      | one               | the same call in the folder      | ends, Leave       | its result is printed       |
//	| chat -p  | those of a turn   | the agent's session, the command | ends, Leave       | the turn is over            |
//	| rpc      | side by side      | the same request in the session, | waits             | its response is written     |
//	|          |                   | where Opal does not count them   |                   |                             |
//	| mcp      | side by side      | nothing: MCP names no sessions   | waits             | its ticket is fetched       |
//
// How a call ends, wherever it is asked:
//
//	| what happens                         | outcome             | its file, the question at the hub     |
//	|--------------------------------------|---------------------|---------------------------------------|
//	| a person answers or dismisses it     | that, once          | go when it was delivered              |
//	| a person removes it, [Store.Remove]  | cancelled           | go                                    |
//	| the file is missing, as after a      | none: it stays open | stays; the file is written again      |
//	| git clean                            |                     | where the question is nowhere else    |
//	| whoever asked withdraws it           | withdrawn           | go, unless somebody began to answer   |
//	| the process ends, others may claim   | withdrawn, lost     | stay                                  |
//	| the process ends, nobody can claim   | withdrawn, lost     | go, unless somebody began to answer   |
//
// At the hub a question is found by the name of its file, in the session in which it was
// asked first: whoever claims the file has claimed that, too. What an earlier run asked
// and this one did not is not used, and the person is told, see [Chain.Forget].
//
// A file looks like this; each null is where an answer goes, as
// [convert.Call.ReadAnswer] takes it:
//
//	{
//	  "sessionId": "abc123",
//	  "timestamp": "2026-02-04T22:16:32Z",
//	  "id": "k3jq5zt2mwxa",
//	  "ticket": "TDOYO4X2GPVBQWNSTI7VMOFRIK",
//	  "questions": [
//	    {
//	      "header": "Database",
//	      "question": "Which database should we use?",
//	      "options": ["PostgreSQL (Recommended)", "SQLite"],
//	      "descriptions": {"SQLite": "Lightweight, file-based"},
//	      "multiSelect": false,
//	      "answer": null
//	    }
//	  ]
//	}
//
// The id is minted: two calls that ask the same are two files. The first to wait in
// a directory has pending-questions.json, others at the same time
// pending-questions-<id>.json. Programs that use the package at once do not lose
// each other's files: a file appears whole or not at all, and none replaces
// another. A file that cannot be read is reported and left alone.
//
// Beside each file there is a record in the user's state folder, which no project
// can bring along: the questions that were asked, the ticket, and the names by
// which a successor may claim them. Answers count only in a file with that ticket
// that is this user's. Whoever asked holds a lock as long as its process lives;
// only when that is gone somebody else can claim the file, once. The record goes
// when the answers are used, and so they are used once. The first answers stand:
// who comes second is told by whom they are, and when they came.
//
// Locks: the folder's, between processes; an Asking's, which is taken under the
// desk's when an answer comes from the hub, and under which the folder's is taken;
// a Chain's and an Asker's, under which no other is taken.
package pending
