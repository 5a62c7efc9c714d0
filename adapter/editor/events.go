package editor

// event is something that happened to a session. Only [state.step] reads it.
type event any

// What the editor does.
type (
	// promptCame is a session/prompt. Empty means that there is nothing in it
	// that an agent could work on; own that the editor did not send it: it takes
	// no question's place, and answers none.
	promptCame struct {
		key   int
		empty bool
		own   bool
	}
	// cancelCame is a session/cancel. With why it is for another reason, and what
	// is asked is taken back for that one.
	cancelCame struct{ why error }
	// closeCame ends the session: prompts that still wait end so, and what is
	// asked is taken back for that reason.
	closeCame struct {
		how ending
		why error
	}
)

// What the agent does.
type (
	// startDone is the end of an attempt to start the agent; failed says how a
	// prompt ends that waited for it, nil that the agent runs.
	startDone struct{ failed *ending }
	// sendFailed means that the agent did not get a prompt. Gone says that its
	// process has ended and that agentExited follows.
	sendFailed struct {
		key  int
		gone bool
		how  ending
	}
	// turnBegan means that the agent begins to work: on the prompt it was sent,
	// or by itself. Steers says that it takes prompts while it works.
	turnBegan struct{ steers bool }
	// promptBegun means that the model has seen the prompt.
	promptBegun struct{ key int }
	// promptBack means that the agent gave up a prompt that the model has not
	// seen. Refused says why it would do so again, nil that it would not.
	promptBack struct {
		key     int
		refused error
	}
	// turnEnded is the agent's word that a turn is over. Answers are the prompts
	// that it names, nil where it names none; own means that it says that it
	// began the turn by itself.
	turnEnded struct {
		answers []int
		own     bool
		all     bool // every prompt of the turn ends, whatever it names
		perhaps bool // see [TurnEnd]
		how     ending
	}
	// agentIdle is the agent's word that it works on nothing.
	agentIdle struct{}
	// agentExited is the end of the agent's process.
	agentExited struct {
		how ending
		why error
	}
	// turnWrapped means that the end of a turn, or of the process, is drawn.
	turnWrapped struct{}
	// interruptDone means that the agent has seen interrupt n, or never will.
	interruptDone struct{ n int }
)

// What becomes of the agent's requests.
type (
	// requestCame: the agent asks. Apart means that the request outlives the
	// turn: a sub-agent's.
	requestCame struct {
		key   int
		kind  requestKind
		apart bool
	}
	// requestShown: the editor is about to be sent the request. It waits for
	// admit.
	requestShown struct{ key int }
	// requestParks: the question is about to be put into the conversation. It
	// waits for admit.
	requestParks struct{ key int }
	// requestParked: the question stands in the conversation, and updates are
	// held. It waits for admit.
	requestParked struct {
		key      int
		toolCall string
	}
	// requestWithdrawn: the agent does not wait for it any more.
	requestWithdrawn struct{ key int }
	// partStopped: the user has stopped the sub-agent that makes these requests.
	partStopped struct{ keys []int }
	// requestSettled: it has an outcome. Dismissed means that the user said no to
	// the work, not to the question alone.
	requestSettled struct {
		key       int
		dismissed bool
	}
	// requestReplied: the agent has been told.
	requestReplied struct{ key int }
)

// Clocks.
type (
	// interruptAgain: an interrupt may have come too early to find the turn.
	interruptAgain struct{ turn int }
	// graceOver: a cancelled turn has had its time to end.
	graceOver struct{ turn int }
)

// effect is something to be done. None of them blocks.
type effect any

type (
	// start starts the agent; startDone follows.
	start struct{}
	// stopStart gives up a start that nobody waits for any more.
	stopStart struct{}
	// send gives a prompt to the agent.
	send struct{ key int }
	// interrupt tells the agent to end its turn; interruptDone follows. All
	// takes along the prompts in its queue.
	interrupt struct {
		n   int
		all bool
	}
	// startGrace makes graceOver follow, repeatSoon interruptAgain.
	startGrace struct{ turn int }
	repeatSoon struct{ turn int }
	// kill ends the process; agentExited follows.
	kill struct{}
	// finish ends a prompt.
	finish struct {
		key int
		how ending
	}
	// post puts a request on the desk.
	post struct{ key int }
	// admit says whether a request may go on.
	admit struct {
		key int
		ok  bool
	}
	// hear hands a prompt's words to the question that waits for them. Stale
	// means that they may have been meant for one that is gone.
	hear struct {
		key, prompt int
		stale       bool
	}
	// withdraw takes a request back at the editor; requestSettled and
	// requestReplied follow.
	withdraw struct {
		key int
		why error
	}
	// wrapUp lets whoever brought the end of a turn draw it; turnWrapped follows.
	wrapUp struct{ cancelled bool }
	// passOver says that the end of a turn ended nothing here.
	passOver struct{}
)
