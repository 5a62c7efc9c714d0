package editor

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
)

// Tables for step: what has happened, what happens now, what is to be done and
// which phase follows. A session begins idle; prompts have the keys 1, 2, …,
// requests 11, 12, ….

type stepCase struct {
	name  string
	given []event
	when  event
	want  string // effects, in order
	phase phase
}

func checkSteps(t *testing.T, cases []stepCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := state{phase: idle}
			for _, ev := range c.given {
				s.step(ev)
			}
			require.Equal(t, c.want, effectWords(s.step(c.when)))
			require.Equal(t, c.phase.String(), s.phase.String())
		})
	}
}

// effectWords writes effects as short as they can be read.
func effectWords(list []effect) string {
	var words []string
	for _, e := range list {
		name := strings.TrimPrefix(fmt.Sprintf("%T", e), "editor.")
		switch e := e.(type) {
		case send:
			name += fmt.Sprint(" ", e.key)
		case interrupt:
			name += map[bool]string{true: " all"}[e.all]
		case finish:
			name += fmt.Sprintf(" %d %s", e.key, endingWords(e.how))
		case post:
			name += fmt.Sprint(" ", e.key)
		case admit:
			name = fmt.Sprintf("%s %d", map[bool]string{true: "admit", false: "refuse"}[e.ok], e.key)
		case hear:
			name += fmt.Sprintf(" %d from %d%s", e.key, e.prompt, map[bool]string{true: " stale"}[e.stale])
		case withdraw:
			name += fmt.Sprintf(" %d: %v", e.key, map[bool]any{true: "cancelled", false: e.why}[errors.Is(e.why, convert.ErrCancelled)])
		case wrapUp:
			name += map[bool]string{true: " cancelled"}[e.cancelled]
		}
		words = append(words, name)
	}
	return strings.Join(words, ", ")
}

func endingWords(how ending) string {
	switch {
	case how.err != nil:
		return how.err.Error()
	case how.waitingFor != "":
		return "waits for " + how.waitingFor
	}
	return string(how.reason)
}

var (
	exited    = agentExited{ending{err: errDied}, errDied}
	failed    = startDone{&ending{err: errNoStart}}
	turnOver  = turnEnded{how: ending{reason: acp.StopReasonEndTurn}}
	answered1 = turnEnded{answers: []int{1}, how: ending{reason: acp.StopReasonEndTurn}}
	ownEnded  = turnEnded{own: true, how: ending{reason: acp.StopReasonEndTurn}}
	steers    = turnBegan{steers: true}
	begins    = turnBegan{}
)

func prompts(n int) event { return promptCame{key: n} }

// happened joins what has happened.
func happened(parts ...any) (list []event) {
	for _, p := range parts {
		switch p := p.(type) {
		case []event:
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
	crashed   = happened(exited, turnWrapped{})                          // nothing runs
	asks      = requestCame{key: 11}                                     // a question of the turn
	asksApart = requestCame{key: 11, apart: true}                        // a sub-agent's
	onEditor  = happened(asks, requestShown{11})                         // the editor shows it
	inTalk    = happened(asks, requestParks{11}, requestParked{11, "q"}) // it waits for words
)

// What becomes of a prompt.
func TestStepPrompt(t *testing.T) {
	checkSteps(t, []stepCase{
		{"idle: it is sent", nil, prompts(1), "send 1", sent},
		{"an empty one is refused", nil, promptCame{key: 1, empty: true}, "finish 1 " + errEmptyPrompt.Error(), idle},
		{"down: the agent is started", crashed, prompts(1), "start", starting},
		{"starting: it waits", happened(crashed, prompts(1)), prompts(2), "", starting},
		{"the agent has started", happened(crashed, prompts(1)), startDone{}, "send 1", sent},
		{"the start fails", happened(crashed, prompts(1)), failed, "finish 1 " + errNoStart.Error(), down},
		{"the start fails: the next prompt starts it again", happened(crashed, prompts(1), prompts(2)), failed, "start, finish 1 " + errNoStart.Error(), starting},
		{"the agent dies before the start returns: one start at a time", happened(crashed, prompts(1), exited), turnWrapped{}, "", down},
		{"and when it has returned, the next", happened(crashed, prompts(1), exited, turnWrapped{}), startDone{}, "start", starting},
		{"sent: the next waits", happened(prompts(1)), prompts(2), "", sent},
		{"running: the next waits for an agent that takes none", works, prompts(2), "", running},
		{"running: it steers an agent that does", takesMore, prompts(2), "send 2", running},
		{"what waits is sent when a turn ends", happened(works, prompts(2), turnOver), turnWrapped{}, "send 2, finish 1 end_turn", sent},
		{"it cannot be sent", nil, sendFailed{}, "", idle},
		{"the agent is gone when it is sent: it waits for the end", happened(prompts(1)), sendFailed{key: 1, gone: true}, "", leaving},
		{"and is sent to the next one", happened(prompts(1), sendFailed{key: 1, gone: true}, exited), turnWrapped{}, "start", starting},
		{"not for ever", happened(
			prompts(1), sendFailed{key: 1, gone: true}, exited, turnWrapped{},
			startDone{}, sendFailed{key: 1, gone: true}, exited, turnWrapped{},
			startDone{}, sendFailed{key: 1, gone: true}, exited, turnWrapped{},
			startDone{}, sendFailed{key: 1, gone: true}, exited), turnWrapped{}, "finish 1 " + errDied.Error(), down},
		{"it cannot be sent for another reason", happened(prompts(1)), sendFailed{key: 1, how: ending{err: errUnsent}}, "finish 1 " + errUnsent.Error(), idle},
		{"the agent gives it back: it is sent again", happened(prompts(1)), promptBack{key: 1}, "send 1", sent},
		{"the agent refuses it", happened(prompts(1)), promptBack{1, errRefused}, "finish 1 " + errRefused.Error(), idle},
		{"the agent refuses a steering one", happened(takesMore, prompts(2)), promptBack{2, errRefused}, "", running},
		{"of two that it kept it refuses one: the other goes on", happened(
			takesMore, prompts(2), prompts(3), answered1, turnWrapped{}, steers, promptBack{2, errRefused},
			promptBegun{3}, turnEnded{answers: []int{3}, how: endedTurn}), turnWrapped{}, "finish 3 end_turn", idle},
		{"a prompt that the model has seen cannot be given back", happened(takesMore, promptBegun{1}), promptBack{key: 1}, "", running},
	})
}

// How turns end.
func TestStepTurn(t *testing.T) {
	checkSteps(t, []stepCase{
		{"the agent begins", happened(prompts(1)), begins, "", running},
		{"it begins by itself", nil, begins, "", running},
		{"the end is drawn before the prompt ends", works, turnOver, "wrapUp", finishing},
		{"then the prompt ends", happened(works, turnOver), turnWrapped{}, "finish 1 end_turn", idle},
		{"an end of nothing", nil, turnOver, "passOver", idle},
		{"the end of a turn of its own ends no prompt", happened(prompts(1), begins), ownEnded, "passOver", running},
		{"an end that names another prompt", happened(prompts(1), begins), turnEnded{answers: []int{-1}}, "passOver", running},
		{"unless it was perhaps this one's, and the agent is idle", happened(prompts(1), begins, turnEnded{own: true, perhaps: true, how: endedTurn}), agentIdle{}, "wrapUp", finishing},
		{"a turn begins: it was not", happened(prompts(1), begins, turnEnded{own: true, perhaps: true}, begins), agentIdle{}, "passOver", running},
		{"idle, and nothing waits", works, agentIdle{}, "passOver", running},
		{"a steering prompt that the end does not name goes on", happened(takesMore, prompts(2), answered1), turnWrapped{}, "finish 1 end_turn", sent},
		{"one that the model has seen ends", happened(takesMore, prompts(2), promptBegun{2}, answered1), turnWrapped{}, "finish 1 end_turn, finish 2 end_turn", idle},
		{"one that was given back is sent again", happened(takesMore, prompts(2), promptBack{key: 2}, answered1), turnWrapped{}, "send 2, finish 1 end_turn", sent},
		{"an end that ends all", happened(takesMore, prompts(2), turnEnded{all: true, how: endedTurn}), turnWrapped{}, "finish 1 end_turn, finish 2 end_turn", idle},
		{"a prompt that waits goes into the agent's own turn", happened(steers), prompts(1), "send 1", running},
		{"and goes on behind it", happened(steers, prompts(1), ownEnded), turnWrapped{}, "", sent},
		{"the agent dies", works, exited, "wrapUp", finishing},
		{"its prompt ends with that", happened(works, exited), turnWrapped{}, "finish 1 " + errDied.Error(), down},
		{"a steering prompt that was not sent is not its", happened(takesMore, prompts(2), sendFailed{key: 2, gone: true}, exited), turnWrapped{}, "start, finish 1 " + errDied.Error(), starting},
		{"it dies while idle", nil, exited, "wrapUp", finishing},
		{"a turn of its own while it starts", happened(crashed, prompts(1), begins), startDone{}, "", running},
		{"which is over before it has started", happened(crashed, prompts(1), begins, turnOver, startDone{}), turnWrapped{}, "send 1", sent},
	})
}

// What session/cancel and session/close do.
func TestStepCancel(t *testing.T) {
	checkSteps(t, []stepCase{
		{"idle: nothing", nil, cancelCame{}, "", idle},
		{"sent", happened(prompts(1)), cancelCame{}, "interrupt, startGrace", cancelling},
		{"running", works, cancelCame{}, "interrupt, startGrace", cancelling},
		{"for another reason", happened(works), cancelCame{errClosed}, "interrupt, startGrace", cancelling},
		{"twice", happened(works, cancelCame{}), cancelCame{}, "", cancelling},
		{"with prompts in the agent's queue", happened(takesMore, prompts(2)), cancelCame{}, "interrupt all, startGrace", cancelling},
		{"what waits ends, in order", happened(works, prompts(2)), cancelCame{}, "interrupt, startGrace", cancelling},
		{"the turn ends", happened(works, prompts(2), cancelCame{}, turnOver), turnWrapped{}, "finish 1 cancelled, finish 2 cancelled", idle},
		{"a cancel while the end is drawn", happened(works, turnOver, cancelCame{}), turnWrapped{}, "finish 1 cancelled", idle},
		{"a prompt waits for the end of a cancelled turn", happened(works, cancelCame{}), prompts(2), "", cancelling},
		{"and for the interrupt", happened(works, cancelCame{}, prompts(2), turnOver, turnWrapped{}), interruptDone{1}, "send 2", sent},
		{"the interrupt came too early", happened(prompts(1), cancelCame{}), interruptDone{1}, "repeatSoon", cancelling},
		{"and is repeated", happened(prompts(1), cancelCame{}, interruptDone{1}), interruptAgain{1}, "interrupt", cancelling},
		{"not in another turn", happened(works, cancelCame{}, interruptDone{1}, turnOver, turnWrapped{}, prompts(2), cancelCame{}, interruptDone{2}), interruptAgain{1}, "", cancelling},
		{"the agent does not stop", happened(works, cancelCame{}), graceOver{1}, "kill", leaving},
		{"that of another turn", happened(works, cancelCame{}, interruptDone{1}, turnOver, turnWrapped{}, prompts(2), cancelCame{}), graceOver{1}, "", cancelling},
		{"it stopped in time", happened(works, cancelCame{}, turnOver, turnWrapped{}), graceOver{1}, "", idle},
		{"starting: the start is given up", happened(crashed, prompts(1)), cancelCame{}, "stopStart, finish 1 cancelled", starting},
		{"which ends no prompt that came since", happened(crashed, prompts(1), cancelCame{}, prompts(2)), failed, "start", starting},
		{"what the agent has in its queue is cancelled, too", happened(takesMore, prompts(2), cancelCame{}, interruptDone{1}, answered1), turnWrapped{}, "interrupt all, startGrace, finish 1 cancelled", cancelling},
		{"close: all ends", happened(works, prompts(2)), closeCame{ending{err: errClosed}, errClosed}, "finish 1 " + errClosed.Error() + ", finish 2 " + errClosed.Error(), closed},
		{"closed: no prompt is taken", happened(closeCame{ending{err: errClosed}, errClosed}), prompts(1), "finish 1 " + errClosed.Error(), closed},
		{"closed: a turn ends", happened(works, closeCame{endedCancelled, errClosed}), turnOver, "passOver", closed},
		{"closed: the agent ends", happened(closeCame{endedCancelled, errClosed}), exited, "wrapUp cancelled", closed},
		{"closed while the end of a turn waits", happened(works, onEditor, turnOver), closeCame{endedCancelled, errClosed}, "wrapUp cancelled, finish 1 cancelled", closed},
		{"closed while it starts", happened(crashed, prompts(1)), closeCame{endedCancelled, errClosed}, "stopStart, finish 1 cancelled", closed},
	})
}
