// Package pending keeps questions in files when there is nobody to ask, until a
// person writes the answers into them.
//
//	store := &pending.Store{Dir: cwd}
//	file, err := store.Post(call)            // .acp-bridge/pending-questions.json
//	…                                        // a person edits its "answer" fields
//	file, err = store.Find(call)             // the same call, in another process
//	if file.Settled() {
//		err = store.Take(file, deliver)      // once, and the file is gone
//	}
//
// A file looks like this; each null is where an answer goes, as
// [convert.ReadAnswer] takes it:
//
//	{
//	  "sessionId": "abc123",
//	  "timestamp": "2026-02-04T22:16:32Z",
//	  "id": "5d41402abc4b",
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
// The id is made of the questions and the session, so that a call that is made
// again finds its file. The first call to wait in a directory has
// pending-questions.json, others at the same time pending-questions-<id>.json.
// Programs that use the package at once do not lose each other's files: a file
// appears whole or not at all, and none replaces another. A file that cannot be
// read is reported and left alone.
//
// Answers count only in a file that was posted by this user: the ticket has to be
// the one in a record that is kept in the user's state folder, and the file has
// to be this user's. What a project brings along answers nothing. The record
// goes when the answers are used, and so they are used once. The first answers
// stand: who comes second is told by whom they are, and when they came.
package pending
