package session

// phase says what a session's agent is doing. The package comment draws them.
type phase int

const (
	down       phase = iota // no process runs
	starting                // one is being started, for a prompt
	idle                    // it runs and works on nothing
	sent                    // it has a prompt and has not begun with it
	running                 // it works on a turn
	cancelling              // its turn was cancelled, the end is awaited
	finishing               // its turn or its process is over, what it asked is being taken back
	leaving                 // its process is about to end, nothing is sent to it
	closed                  // the session is closed
)

func (p phase) String() string {
	return [...]string{"down", "starting", "idle", "sent", "running", "cancelling", "finishing", "leaving", "closed"}[p]
}

// Kind says what the agent asks for.
type Kind int

const (
	Question   Kind = iota // a question call
	Form                   // a form: saying no to it ends no turn
	Permission             // whether a tool may be used
	Errand                 // nothing of the user
)

// requestState says where a request of the agent is.
type requestState int

const (
	queued    requestState = iota // it waits for others
	shown                         // the editor shows it
	parking                       // it is being put into the conversation
	parked                        // the next prompt answers it
	hidden                        // it was shown or parked in a view that is gone, and will be again
	heard                         // it has the words of a prompt
	withdrawn                     // it is being taken back
	settled                       // it has an outcome, the agent is being told
)

// promptState says where a prompt is.
type promptState int

const (
	waiting promptState = iota // in line
	given                      // the agent has it, or the question that it answers
	over                       // it has ended, and waits for those before it
)
