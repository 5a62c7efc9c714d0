package editor

import "testing"

// What becomes of the agent's requests.
func TestStepRequest(t *testing.T) {
	checkSteps(t, []stepCase{
		{"it takes its place", works, asks, "post 11", running},
		{"also while no turn runs", nil, asks, "post 11", idle},
		{"the editor shows it", happened(works, asks), requestShown{11}, "admit 11", running},
		{"it is put into the conversation", happened(works, asks), requestParks{11}, "admit 11", running},
		{"and ends the prompt when it is there", happened(works, asks, requestParks{11}), requestParked{11, "q"}, "admit 11, finish 1 waits for q", running},
		{"the next prompt answers it", happened(works, inTalk), prompts(2), "hear 11 from 2", running},
		{"an empty one, too", happened(works, inTalk), promptCame{key: 2, empty: true}, "hear 11 from 2", running},
		{"and the turn goes on in that prompt", happened(works, inTalk, prompts(2), requestSettled{key: 11}, requestReplied{11}, turnOver), turnWrapped{}, "finish 2 end_turn", idle},
		{"it is asked once more: the prompt ends", happened(works, inTalk, prompts(2), requestParks{11}), requestParked{11, "q"}, "admit 11, finish 2 waits for q", running},
		{"while no turn runs the prompt ends when the agent knows", happened(inTalk, prompts(1), requestSettled{key: 11}), requestReplied{11}, "finish 1 end_turn", idle},
		{"it is not there any more", nil, requestShown{11}, "refuse 11", idle},
		{"it was withdrawn", happened(works, asks, requestWithdrawn{11}), requestShown{11}, "refuse 11", running},
		{"the agent withdraws it", happened(works, onEditor), requestWithdrawn{11}, "withdraw 11: " + errWithdrawn.Error(), running},
		{"it cannot be withdrawn twice", happened(works, onEditor, requestWithdrawn{11}), requestWithdrawn{11}, "", running},
		{"nor when it has its outcome", happened(works, onEditor, requestSettled{key: 11}), requestWithdrawn{11}, "", running},
	})
}

// When a turn ends, is cancelled, or its process dies.
func TestStepRequestOfATurn(t *testing.T) {
	apart := happened(asksApart, requestShown{11})
	checkSteps(t, []stepCase{
		{"the turn ends: its question goes first", happened(works, onEditor), turnOver, "withdraw 11: " + errTurnOver.Error(), finishing},
		{"and the end is drawn when the agent knows", happened(works, onEditor, turnOver, requestSettled{key: 11}), requestReplied{11}, "wrapUp", finishing},
		{"a sub-agent's question stays", happened(works, apart), turnOver, "wrapUp", finishing},
		{"cancel takes back a sub-agent's, too", happened(works, apart), cancelCame{}, "withdraw 11: cancelled, interrupt, startGrace", cancelling},
		{"the agent dies: all go", happened(works, apart), exited, "withdraw 11: " + errDied.Error(), finishing},
		{"the session is about to be closed: that is why all go", happened(works, apart), cancelCame{errClosed}, "withdraw 11: " + errClosed.Error() + ", interrupt, startGrace", cancelling},
		{"the session is closed: all go", happened(works, apart), closeCame{endedCancelled, errClosed}, "withdraw 11: " + errClosed.Error() + ", finish 1 cancelled", closed},
		{"after a cancel nothing is asked", happened(works, cancelCame{}), asks, "post 11, withdraw 11: cancelled", cancelling},
		{"nor while the agent is on its way out", happened(works, cancelCame{}, graceOver{1}), asks, "post 11, withdraw 11: cancelled", leaving},
		{"nor in a session that is closed", happened(closeCame{endedCancelled, errClosed}), asks, "post 11, withdraw 11: " + errClosed.Error(), closed},
		{"nothing is shown that was queued at the cancel", happened(works, asks, cancelCame{}), requestShown{11}, "refuse 11", cancelling},
		{"nor put into the conversation", happened(works, asks, cancelCame{}), requestParks{11}, "refuse 11", cancelling},
		{"nor what was on its way there", happened(works, asks, requestParks{11}, cancelCame{}), requestParked{11, "q"}, "refuse 11", cancelling},
		{"the user dismisses a question", happened(works, onEditor), requestSettled{11, true}, "startGrace", cancelling},
		{"a permission", happened(works, requestCame{key: 11, kind: permission}, requestShown{11}), requestSettled{11, true}, "startGrace", cancelling},
		{"a form ends no turn", happened(works, requestCame{key: 11, kind: form}, requestShown{11}), requestSettled{11, true}, "", running},
		{"others go along", happened(works, onEditor, requestCame{key: 12}), requestSettled{11, true}, "withdraw 12: cancelled, startGrace", cancelling},
		{"a permission that was never seen ends no turn", happened(works, requestCame{key: 11, kind: permission}), requestSettled{11, true}, "", running},
	})
}

// A prompt that comes while something is asked.
func TestStepPromptAndRequest(t *testing.T) {
	q2 := happened(requestCame{key: 12}, requestParks{12}, requestParked{12, "q2"})
	checkSteps(t, []stepCase{
		{"it takes the place of a question on the screen", happened(works, onEditor), prompts(2), "withdraw 11: cancelled, interrupt, startGrace", cancelling},
		{"of a form", happened(works, requestCame{key: 11, kind: form}, requestShown{11}), prompts(2), "withdraw 11: cancelled, interrupt, startGrace", cancelling},
		{"not of a permission while a turn runs", happened(takesMore, requestCame{key: 11, kind: permission}, requestShown{11}), prompts(2), "send 2", running},
		{"of any while none does, and waits until the agent knows", happened(requestCame{key: 11, kind: permission}, requestShown{11}), prompts(1), "withdraw 11: cancelled", idle},
		{"which is when the reply is out", happened(onEditor, prompts(1), requestSettled{11, true}), requestReplied{11}, "send 1", sent},
		{"and no sooner", happened(onEditor, prompts(1)), requestSettled{11, true}, "", idle},
		{"a question that was dismissed, the same", happened(onEditor, requestSettled{11, true}), prompts(1), "", idle},
		{"a question that is being written is not there yet", happened(works, asks, requestParks{11}), prompts(2), "withdraw 11: cancelled, startGrace", cancelling},
		{"also while no turn runs", happened(asks, requestParks{11}), prompts(1), "withdraw 11: cancelled", idle},
		{"a prompt that was there before has its place", happened(works, prompts(2), asks), requestParks{11}, "withdraw 11: cancelled, startGrace, refuse 11", cancelling},
		{"the reply to a form ends no turn: an interrupt does", happened(works, prompts(2), requestCame{key: 11, kind: form}), requestParks{11}, "withdraw 11: cancelled, interrupt, startGrace, refuse 11", cancelling},
		{"a prompt that the agent has not begun with, too", happened(asksApart, prompts(1)), requestParks{11}, "withdraw 11: cancelled, refuse 11", sent},
		{"the question is gone: the next prompt is an ordinary one", happened(inTalk, requestWithdrawn{11}, requestSettled{key: 11}, requestReplied{11}), prompts(1), "send 1", sent},
		{"and answers no other question", happened(works, inTalk, requestWithdrawn{11}, q2), prompts(2), "hear 12 from 2 stale", running},
		{"the one behind it does", happened(works, inTalk, requestWithdrawn{11}, q2, prompts(2), requestParks{12}, requestParked{12, "q2"}), prompts(3), "hear 12 from 3", running},
		{"it was answered elsewhere: the same", happened(works, inTalk, requestSettled{key: 11}, requestReplied{11}, q2), prompts(2), "hear 12 from 2 stale", running},
		{"the words of another question are not in the way of the next", happened(inTalk, requestCame{key: 12}, prompts(1), requestSettled{key: 11}), requestParks{12}, "admit 12", idle},
		{"so has one that the agent gave back", happened(takesMore, prompts(2), promptBack{key: 2}, asks), requestParks{11}, "withdraw 11: cancelled, startGrace, refuse 11", cancelling},
		{"which waits while the question is written", happened(takesMore, asks, requestParks{11}), promptBack{key: 1}, "", running},
		{"or gives back while the question is written", happened(works, asks, requestParks{11}, promptBack{key: 1}), requestParked{11, "q"}, "admit 11, withdraw 11: cancelled, startGrace", cancelling},
		{"the agent died: the prompt ends with that, unsent", happened(inTalk, exited, requestSettled{key: 11}, requestReplied{11}, turnWrapped{}), prompts(1), "finish 1 " + errDied.Error(), down},
		{"a cancel since: it is an ordinary one", happened(inTalk, exited, requestSettled{key: 11}, requestReplied{11}, turnWrapped{}, cancelCame{}), prompts(1), "start", starting},
		{"and the next one runs", happened(inTalk, exited, requestSettled{key: 11}, requestReplied{11}, turnWrapped{}, prompts(1)), prompts(2), "start", starting},
		{"the agent dies with the words of a prompt", happened(inTalk, prompts(1), exited, requestSettled{key: 11}, requestReplied{11}), turnWrapped{}, "finish 1 " + errDied.Error(), down},
	})
}

// The four wrongs: a request is open while no turn runs.
func TestFourWrongs(t *testing.T) {
	for name, kind := range map[string]requestKind{"question": question, "permission": permission, "form": form} {
		came := requestCame{key: 11, kind: kind, apart: kind != form}
		t.Run(name, func(t *testing.T) {
			cases := []stepCase{
				{"session/cancel withdraws it from the editor", happened(came, requestShown{11}), cancelCame{}, "withdraw 11: cancelled", idle},
				{"a prompt supersedes it", happened(came, requestShown{11}), prompts(1), "withdraw 11: cancelled", idle},
			}
			if kind != permission {
				talk := happened(came, requestParks{11}, requestParked{11, "q"})
				gone := happened(requestSettled{11, kind == question}, requestReplied{11})
				cases = append(cases,
					stepCase{"session/cancel withdraws it from the conversation", talk, cancelCame{}, "withdraw 11: cancelled", idle},
					stepCase{"cancelled, it takes no prompt as its answer", happened(talk, cancelCame{}), prompts(1), "", idle},
					stepCase{"which is sent when the agent knows", happened(talk, cancelCame{}, prompts(1), gone[0]), gone[1], "send 1", sent},
					stepCase{"the agent dies: the next prompt ends with that", happened(talk, exited, gone, turnWrapped{}), prompts(1), "finish 1 " + errDied.Error(), down},
				)
			}
			checkSteps(t, cases)
		})
	}
}
