// Package transcript reads the session files of the Claude Code CLI.
//
// The CLI keeps every session in a file of its own, one JSON object a line,
// in a folder named after the working directory. List shows what there is,
// Open replays one session in the shape of the CLI's live messages:
//
//	config := transcript.ConfigDir(os.Getenv)
//	page, next, err := transcript.List(ctx, transcript.Options{ConfigDir: config, Cwd: dir})
//	path, err := transcript.Find(config, page[0].ID, dir)
//	t, err := transcript.Open(ctx, path)
//	defer t.Close()
//	for e, err := range t.Entries(ctx) {
//		if err != nil {
//			return err
//		}
//		switch e.Kind {
//		case transcript.Prompt:
//			showUser(e.Message.Get("message.content"))
//		default:
//			paint(e.Message)
//		}
//	}
//
// The files belong to the CLI and their format is not promised: a line that
// is damaged, too long or of an unknown type is passed over and counted, never
// an error. Memory is bounded by the longest line and some 100 bytes for each
// line of the conversation, however large the file is.
//
// A session id may come from an editor. It is checked before it becomes part
// of a path, a session file that is a link is not opened, and Delete removes
// nothing outside the CLI's folders.
package transcript
