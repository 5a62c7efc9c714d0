package session

// Event is something that happened to a session. Only [State.Step] reads it.
type Event any

// What the editor does.
type (
	// PromptCame is a session/prompt. Empty means that there is nothing in it
	// that an agent could work on; own that the editor did not send it: it takes
	// no question's place, and answers none.
	PromptCame struct {
		Key   int
		Empty bool
		Own   bool
	}
	// PromptTaken means that the editor takes a prompt back and nothing else.
	PromptTaken struct{ Key int }
	// CancelCame is a session/cancel. With why it is for another reason, and what
	// is asked is taken back for that one.
	CancelCame struct{ Why error }
	// LeaveCame means that the editor is about to close the session of a relayed
	// agent: what is asked is taken back for that reason.
	LeaveCame struct{ Why error }
	// OpenedAnew means that the editor opens the session once more, and shows
	// nothing of what it showed: no reply to that comes any more.
	OpenedAnew struct{}
	// CloseCame ends the session: prompts that still wait end so, and what is
	// asked is taken back for that reason.
	CloseCame struct {
		How Ending
		Why error
	}
)

// What the agent does.
type (
	// StartDone is the end of an attempt to start the agent; failed says how a
	// prompt ends that waited for it, nil that the agent runs.
	StartDone struct{ Failed *Ending }
	// SendFailed means that the agent did not get a prompt. Gone says that its
	// process has ended and that AgentExited follows.
	SendFailed struct {
		Key  int
		Gone bool
		How  Ending
	}
	// TurnBegan means that the agent begins to work: on the prompt it was sent,
	// or by itself. Steers says that it takes prompts while it works.
	TurnBegan struct{ Steers bool }
	// PromptBegun means that the model has seen the prompt.
	PromptBegun struct{ Key int }
	// PromptBack means that the agent gave up a prompt that the model has not
	// seen. Refused says why it would do so again, nil that it would not.
	PromptBack struct {
		Key     int
		Refused error
	}
	// PromptEnded is the word of a relayed agent that it is through with a prompt.
	// The turn ends with the last of those that it has.
	PromptEnded struct {
		Key int
		How Ending
	}
	// TurnEnded is the agent's word that a turn is over. Answers are the prompts
	// that it names, nil where it names none; own means that it says that it
	// began the turn by itself.
	TurnEnded struct {
		Answers []int
		Own     bool
		All     bool // every prompt of the turn ends, whatever it names
		Perhaps bool // the prompts that wait were in it, if the agent is idle next
		How     Ending
	}
	// AgentIdle is the agent's word that it works on nothing.
	AgentIdle struct{}
	// AgentExited is the end of the agent's process.
	AgentExited struct {
		How Ending
		Why error
	}
	// TurnWrapped means that the end of a turn, or of the process, is drawn. GoesOn means
	// that the prompt in which the turn ran does not end with it: unless it was cancelled
	// the agent gets it once more, before all others, with other words.
	TurnWrapped struct{ GoesOn bool }
	// InterruptDone means that the agent has seen interrupt n, or never will.
	InterruptDone struct{ N int }
	// InterruptUnseen means that the agent has not seen interrupt n in the time that a
	// cancelled turn has to end.
	InterruptUnseen struct{ N int }
)

// What becomes of the agent's requests.
type (
	// RequestCame: the agent asks. Apart means that the request outlives the
	// turn: a sub-agent's.
	RequestCame struct {
		Key   int
		Kind  Kind
		Apart bool
	}
	// RequestShown: the editor is about to be sent the request. It waits for
	// admit.
	RequestShown struct{ Key int }
	// RequestParks: the question is about to be put into the conversation. It
	// waits for admit.
	RequestParks struct{ Key int }
	// RequestParked: the question stands in the conversation, and updates are
	// held. It waits for admit.
	RequestParked struct {
		Key      int
		ToolCall string
	}
	// RequestWithdrawn: the agent does not wait for it any more. Why, if it says so,
	// wraps [ErrWithdrawn].
	RequestWithdrawn struct {
		Key int
		Why error
	}
	// PartStopped: the user has stopped the sub-agent that makes these requests,
	// why is [ErrPartStopped] if it is nil.
	PartStopped struct {
		Keys []int
		Why  error
	}
	// RequestSettled: it has an outcome. Dismissed means that the user said no to
	// the work, not to the question alone.
	RequestSettled struct {
		Key       int
		Dismissed bool
	}
	// RequestReplied: the agent has been told. GoOn means that it is still to be told,
	// by the prompt whose words the request has: the agent gets that one next.
	RequestReplied struct {
		Key  int
		GoOn bool
	}
)

// Clocks.
type (
	// InterruptAgain: an interrupt may have come too early to find the turn.
	InterruptAgain struct{ Turn int }
	// GraceOver: a cancelled turn has had its time to end.
	GraceOver struct{ Turn int }
)

// Effect is something to be done. None of them blocks.
type Effect any

type (
	// Start starts the agent; StartDone follows.
	Start struct{}
	// StopStart gives up a start that nobody waits for any more.
	StopStart struct{}
	// Send gives a prompt to the agent.
	Send struct{ Key int }
	// Interrupt tells the agent to end its turn; InterruptDone follows. All
	// takes along the prompts in its queue.
	Interrupt struct {
		N   int
		All bool
	}
	// StartGrace makes GraceOver follow, RepeatSoon InterruptAgain.
	StartGrace struct{ Turn int }
	RepeatSoon struct{ Turn int }
	// Kill ends the process; AgentExited follows.
	Kill struct{}
	// GiveUp says that a relayed agent did not end what was cancelled: its prompts
	// end without it, and it gets the next one.
	GiveUp struct{}
	// TakeBack tells a relayed agent that the editor does not wait any more for the
	// end of a prompt, by the one under which the agent has it.
	TakeBack struct{ Key int }
	// Finish ends a prompt.
	Finish struct {
		Key int
		How Ending
	}
	// Post puts a request on the desk.
	Post struct{ Key int }
	// Admit says whether a request may go on.
	Admit struct {
		Key int
		OK  bool
	}
	// Hear hands a prompt's words to the question that waits for them. Stale
	// means that they may have been meant for one that is gone, or that the user has not
	// seen the question.
	Hear struct {
		Key, Prompt int
		Stale       bool
	}
	// Withdraw takes a request back at the editor; RequestSettled and
	// RequestReplied follow.
	Withdraw struct {
		Key int
		Why error
	}
	// ShowAgain has a request shown once more, as if it had not been: RequestShown
	// or RequestParks follows.
	ShowAgain struct{ Key int }
	// WrapUp lets whoever brought the end of a turn draw it; TurnWrapped follows.
	WrapUp struct{ Cancelled bool }
	// Rest says that the agent has ended all that it had to do, and how the last of it
	// ended. What the user has cancelled needs no telling.
	Rest struct{ How Ending }
	// PassOver says that the end of a turn ended nothing here.
	PassOver struct{}
)
