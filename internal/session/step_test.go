package session

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// Tables for step: what has happened, what happens now, what is to be done and
// which phase follows. A session begins idle; prompts have the keys 1, 2, …,
// requests 11, 12, ….

type stepCase struct {
	name  string
	given []Event
	when  Event
	want  string // effects, in order
	phase phase
}

func checkSteps(t *testing.T, cases []stepCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := State{phase: idle}
			for _, ev := range c.given {
				s.Step(ev)
			}
			require.Equal(t, c.want, effectWords(s.Step(c.when)))
			require.Equal(t, c.phase.String(), s.phase.String())
		})
	}
}

// effectWords writes effects as short as they can be read.
func effectWords(list []Effect) string {
	var words []string
	for _, e := range list {
		name := strings.TrimPrefix(fmt.Sprintf("%T", e), "session.")
		name = strings.ToLower(name[:1]) + name[1:]
		switch e := e.(type) {
		case Send:
			name += fmt.Sprint(" ", e.Key)
		case Interrupt:
			name += map[bool]string{true: " all"}[e.All]
		case Finish:
			name += fmt.Sprintf(" %d %s", e.Key, endingWords(e.How))
		case Post:
			name += fmt.Sprint(" ", e.Key)
		case Admit:
			name = fmt.Sprintf("%s %d", map[bool]string{true: "admit", false: "refuse"}[e.OK], e.Key)
		case Hear:
			name += fmt.Sprintf(" %d from %d%s", e.Key, e.Prompt, map[bool]string{true: " stale"}[e.Stale])
		case Withdraw:
			name += fmt.Sprintf(" %d: %s", e.Key, reasonWords(e.Why))
		case WrapUp:
			name += map[bool]string{true: " cancelled"}[e.Cancelled]
		}
		words = append(words, name)
	}
	return strings.Join(words, ", ")
}

func reasonWords(why error) string {
	switch {
	case why == ErrNotAsked:
		return "not asked"
	case errors.Is(why, life.ErrWithAnother):
		return "with another"
	case errors.As(why, new(life.Along)):
		return "along, " + why.Error()
	case errors.Is(why, convert.ErrCancelled):
		return "cancelled"
	}
	return why.Error()
}

func endingWords(how Ending) string {
	switch {
	case how.Err != nil:
		return how.Err.Error()
	case how.WaitingFor != "":
		return "waits for " + how.WaitingFor
	}
	return string(how.Reason)
}

var (
	exited    = AgentExited{Ending{Err: errDied}, errDied}
	failed    = StartDone{&Ending{Err: errNoStart}}
	turnOver  = TurnEnded{How: Ending{Reason: acp.StopReasonEndTurn}}
	answered1 = TurnEnded{Answers: []int{1}, How: Ending{Reason: acp.StopReasonEndTurn}}
	ownEnded  = TurnEnded{Own: true, How: Ending{Reason: acp.StopReasonEndTurn}}
	steers    = TurnBegan{Steers: true}
	begins    = TurnBegan{}
)

func prompts(n int) Event { return PromptCame{Key: n} }

// happened joins what has happened.
func happened(parts ...any) (list []Event) {
	for _, p := range parts {
		switch p := p.(type) {
		case []Event:
			list = append(list, p...)
		default:
			list = append(list, p)
		}
	}
	return list
}

var (
	works     = happened(prompts(1), begins)                             // on prompt 1
	takesMore = happened(prompts(1), steers)                             // and takes prompts meanwhile
	crashed   = happened(exited, TurnWrapped{})                          // nothing runs
	asks      = RequestCame{Key: 11}                                     // a question of the turn
	asksApart = RequestCame{Key: 11, Apart: true}                        // a sub-agent's
	onEditor  = happened(asks, RequestShown{11})                         // the editor shows it
	inTalk    = happened(asks, RequestParks{11}, RequestParked{11, "q"}) // it waits for words
)

// What becomes of a prompt.
func TestStepPrompt(t *testing.T) {
	checkSteps(t, []stepCase{
		{"idle: it is sent", nil, prompts(1), "send 1", sent},
		{"an empty one is refused", nil, PromptCame{Key: 1, Empty: true}, "finish 1 " + ErrEmptyPrompt.Error(), idle},
		{"down: the agent is started", crashed, prompts(1), "start", starting},
		{"starting: it waits", happened(crashed, prompts(1)), prompts(2), "", starting},
		{"the agent has started", happened(crashed, prompts(1)), StartDone{}, "send 1", sent},
		{"the start fails", happened(crashed, prompts(1)), failed, "finish 1 " + errNoStart.Error(), down},
		{"the start fails: the next prompt starts it again", happened(crashed, prompts(1), prompts(2)), failed, "start, finish 1 " + errNoStart.Error(), starting},
		{"the agent dies before the start returns: one start at a time", happened(crashed, prompts(1), exited), TurnWrapped{}, "", down},
		{"and when it has returned, the next", happened(crashed, prompts(1), exited, TurnWrapped{}), StartDone{}, "start", starting},
		{"sent: the next waits", happened(prompts(1)), prompts(2), "", sent},
		{"running: the next waits for an agent that takes none", works, prompts(2), "", running},
		{"running: it steers an agent that does", takesMore, prompts(2), "send 2", running},
		{"what waits is sent when a turn ends", happened(works, prompts(2), turnOver), TurnWrapped{}, "send 2, finish 1 end_turn", sent},
		{"it cannot be sent", nil, SendFailed{}, "", idle},
		{"the agent is gone when it is sent: it waits for the end", happened(prompts(1)), SendFailed{Key: 1, Gone: true}, "", leaving},
		{"and is sent to the next one", happened(prompts(1), SendFailed{Key: 1, Gone: true}, exited), TurnWrapped{}, "start", starting},
		{"not for ever", happened(
			prompts(1), SendFailed{Key: 1, Gone: true}, exited, TurnWrapped{},
			StartDone{}, SendFailed{Key: 1, Gone: true}, exited, TurnWrapped{},
			StartDone{}, SendFailed{Key: 1, Gone: true}, exited, TurnWrapped{},
			StartDone{}, SendFailed{Key: 1, Gone: true}, exited), TurnWrapped{}, "finish 1 " + errDied.Error(), down},
		{"it cannot be sent for another reason", happened(prompts(1)), SendFailed{Key: 1, How: Ending{Err: errUnsent}}, "finish 1 " + errUnsent.Error(), idle},
		{"the agent gives it back: it is sent again", happened(prompts(1)), PromptBack{Key: 1}, "send 1", sent},
		{"the agent refuses it", happened(prompts(1)), PromptBack{1, errRefused}, "finish 1 " + errRefused.Error(), idle},
		{"the agent refuses a steering one", happened(takesMore, prompts(2)), PromptBack{2, errRefused}, "", running},
		{"of two that it kept it refuses one: the other goes on", happened(
			takesMore, prompts(2), prompts(3), answered1, TurnWrapped{}, steers, PromptBack{2, errRefused},
			PromptBegun{3}, TurnEnded{Answers: []int{3}, How: EndedTurn}), TurnWrapped{}, "finish 3 end_turn, rest", idle},
		{"a prompt that the model has seen cannot be given back", happened(takesMore, PromptBegun{1}), PromptBack{Key: 1}, "", running},
	})
}

// How turns end.
func TestStepTurn(t *testing.T) {
	checkSteps(t, []stepCase{
		{"the agent begins", happened(prompts(1)), begins, "", running},
		{"it begins by itself", nil, begins, "", running},
		{"the end is drawn before the prompt ends", works, turnOver, "wrapUp", finishing},
		{"then the prompt ends", happened(works, turnOver), TurnWrapped{}, "finish 1 end_turn, rest", idle},
		{"an end of nothing", nil, turnOver, "passOver", idle},
		{"the end of a turn of its own ends no prompt", happened(prompts(1), begins), ownEnded, "passOver", running},
		{"an end that names another prompt", happened(prompts(1), begins), TurnEnded{Answers: []int{-1}}, "passOver", running},
		{"unless it was perhaps this one's, and the agent is idle", happened(prompts(1), begins, TurnEnded{Own: true, Perhaps: true, How: EndedTurn}), AgentIdle{}, "wrapUp", finishing},
		{"a turn begins: it was not", happened(prompts(1), begins, TurnEnded{Own: true, Perhaps: true}, begins), AgentIdle{}, "passOver", running},
		{"idle, and nothing waits", works, AgentIdle{}, "passOver", running},
		{"a steering prompt that the end does not name goes on", happened(takesMore, prompts(2), answered1), TurnWrapped{}, "finish 1 end_turn", sent},
		{"one that the model has seen ends", happened(takesMore, prompts(2), PromptBegun{2}, answered1), TurnWrapped{}, "finish 1 end_turn, finish 2 end_turn, rest", idle},
		{"one that was given back is sent again", happened(takesMore, prompts(2), PromptBack{Key: 2}, answered1), TurnWrapped{}, "send 2, finish 1 end_turn", sent},
		{"a prompt that goes on is sent once more", happened(works, turnOver), TurnWrapped{GoesOn: true}, "send 1", sent},
		{"before those that came since", happened(works, prompts(2), turnOver), TurnWrapped{GoesOn: true}, "send 1", sent},
		{"and before what was given back", happened(takesMore, prompts(2), PromptBack{Key: 2}, answered1), TurnWrapped{GoesOn: true}, "send 1", sent},
		{"and ends with its last turn", happened(works, turnOver, TurnWrapped{GoesOn: true}, begins, turnOver), TurnWrapped{}, "finish 1 end_turn, rest", idle},
		{"a turn in no prompt has none that goes on, and the agent is not through", happened(begins, ownEnded), TurnWrapped{GoesOn: true}, "", idle},
		{"an end that ends all", happened(takesMore, prompts(2), TurnEnded{All: true, How: EndedTurn}), TurnWrapped{}, "finish 1 end_turn, finish 2 end_turn, rest", idle},
		{"a prompt that waits goes into the agent's own turn", happened(steers), prompts(1), "send 1", running},
		{"and goes on behind it", happened(steers, prompts(1), ownEnded), TurnWrapped{}, "", sent},
		{"the agent dies", works, exited, "wrapUp", finishing},
		{"its prompt ends with that", happened(works, exited), TurnWrapped{}, "finish 1 " + errDied.Error() + ", rest", down},
		{"a steering prompt that was not sent is not its", happened(takesMore, prompts(2), SendFailed{Key: 2, Gone: true}, exited), TurnWrapped{}, "start, finish 1 " + errDied.Error(), starting},
		{"it dies while idle", nil, exited, "wrapUp", finishing},
		{"a turn of its own while it starts", happened(crashed, prompts(1), begins), StartDone{}, "", running},
		{"which is over before it has started", happened(crashed, prompts(1), begins, turnOver, StartDone{}), TurnWrapped{}, "send 1", sent},
	})
}

// What session/cancel and session/close do.
func TestStepCancel(t *testing.T) {
	checkSteps(t, []stepCase{
		{"idle: nothing", nil, CancelCame{}, "", idle},
		{"sent", happened(prompts(1)), CancelCame{}, "interrupt, startGrace", cancelling},
		{"running", works, CancelCame{}, "interrupt, startGrace", cancelling},
		{"for another reason", happened(works), CancelCame{errClosed}, "interrupt, startGrace", cancelling},
		{"twice", happened(works, CancelCame{}), CancelCame{}, "", cancelling},
		{"with prompts in the agent's queue", happened(takesMore, prompts(2)), CancelCame{}, "interrupt all, startGrace", cancelling},
		{"what waits ends, in order", happened(works, prompts(2)), CancelCame{}, "interrupt, startGrace", cancelling},
		{"the turn ends", happened(works, prompts(2), CancelCame{}, turnOver), TurnWrapped{}, "finish 1 cancelled, finish 2 cancelled", idle},
		{"a prompt that was to go on", happened(works, CancelCame{}, turnOver), TurnWrapped{GoesOn: true}, "finish 1 cancelled", idle},
		{"and one that is cancelled while that is drawn", happened(works, turnOver, CancelCame{}), TurnWrapped{GoesOn: true}, "finish 1 cancelled", idle},
		{"and one that goes on", happened(works, turnOver, TurnWrapped{GoesOn: true}), CancelCame{}, "interrupt, startGrace", cancelling},
		{"a cancel while the end is drawn", happened(works, turnOver, CancelCame{}), TurnWrapped{}, "finish 1 cancelled", idle},
		{"a prompt waits for the end of a cancelled turn", happened(works, CancelCame{}), prompts(2), "", cancelling},
		{"and for the interrupt", happened(works, CancelCame{}, prompts(2), turnOver, TurnWrapped{}), InterruptDone{1}, "send 2", sent},
		{"the interrupt came too early", happened(prompts(1), CancelCame{}), InterruptDone{1}, "repeatSoon", cancelling},
		{"and is repeated", happened(prompts(1), CancelCame{}, InterruptDone{1}), InterruptAgain{1}, "interrupt", cancelling},
		{"not in another turn", happened(works, CancelCame{}, InterruptDone{1}, turnOver, TurnWrapped{}, prompts(2), CancelCame{}, InterruptDone{2}), InterruptAgain{1}, "", cancelling},
		{"the agent does not stop", happened(works, CancelCame{}), GraceOver{1}, "kill", leaving},
		{"that of another turn", happened(works, CancelCame{}, InterruptDone{1}, turnOver, TurnWrapped{}, prompts(2), CancelCame{}), GraceOver{1}, "", cancelling},
		{"it stopped in time", happened(works, CancelCame{}, turnOver, TurnWrapped{}), GraceOver{1}, "", idle},
		{"it stopped, but has not seen the interrupt", happened(works, CancelCame{}, prompts(2), turnOver, TurnWrapped{}), InterruptUnseen{1}, "kill", leaving},
		{"nor while it does not stop", happened(works, CancelCame{}), InterruptUnseen{1}, "kill", leaving},
		{"which is killed once", happened(works, CancelCame{}, GraceOver{1}), InterruptUnseen{1}, "", leaving},
		{"nor while its end is drawn: it is not read", happened(works, CancelCame{}, turnOver), InterruptUnseen{1}, "interrupt", finishing},
		{"it is gone, and with it the interrupt", happened(works, CancelCame{}, exited, TurnWrapped{}), InterruptUnseen{1}, "", down},
		{"starting: the start is given up", happened(crashed, prompts(1)), CancelCame{}, "stopStart, finish 1 cancelled", starting},
		{"which ends no prompt that came since", happened(crashed, prompts(1), CancelCame{}, prompts(2)), failed, "start", starting},
		{"what the agent has in its queue is cancelled, too", happened(takesMore, prompts(2), CancelCame{}, InterruptDone{1}, answered1), TurnWrapped{}, "interrupt all, startGrace, finish 1 cancelled", cancelling},
		{"close: all ends", happened(works, prompts(2)), CloseCame{Ending{Err: errClosed}, errClosed}, "finish 1 " + errClosed.Error() + ", finish 2 " + errClosed.Error(), closed},
		{"closed: no prompt is taken", happened(CloseCame{Ending{Err: errClosed}, errClosed}), prompts(1), "finish 1 " + errClosed.Error(), closed},
		{"closed: a turn ends", happened(works, CloseCame{EndedCancelled, errClosed}), turnOver, "passOver", closed},
		{"closed: the agent ends", happened(CloseCame{EndedCancelled, errClosed}), exited, "wrapUp cancelled", closed},
		{"closed while the end of a turn waits", happened(works, onEditor, turnOver), CloseCame{EndedCancelled, errClosed}, "wrapUp cancelled, finish 1 cancelled", closed},
		{"closed while it starts", happened(crashed, prompts(1)), CloseCame{EndedCancelled, errClosed}, "stopStart, finish 1 cancelled", closed},
	})
}

// Two prompts go to an agent at once and it gets neither: both are told.
func TestAllThatFollowsAtOnceHappens(t *testing.T) {
	d, failed := Drive(New()), errors.New("too long")
	ended := map[int]error{}
	perform := func(e Effect) Event {
		switch e := e.(type) {
		case Send:
			if e.Key > 1 {
				return SendFailed{Key: e.Key, How: Ending{Err: failed}}
			}
		case Finish:
			ended[e.Key] = e.How.Err
		case WrapUp:
			return TurnWrapped{}
		}
		return nil
	}
	for _, ev := range []Event{PromptCame{Key: 1}, PromptCame{Key: 2}, PromptCame{Key: 3}, TurnBegan{Steers: true}, TurnEnded{All: true, How: EndedTurn}} {
		d.Apply(ev, nil, perform)
	}
	require.Equal(t, map[int]error{1: nil, 2: failed, 3: failed}, ended)
}
