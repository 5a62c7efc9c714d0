package session

import "testing"

// What becomes of the agent's requests.
func TestStepRequest(t *testing.T) {
	checkSteps(t, []stepCase{
		{"it takes its place", works, asks, "post 11", running},
		{"also while no turn runs", nil, asks, "post 11", idle},
		{"the editor shows it", happened(works, asks), RequestShown{11}, "admit 11", running},
		{"it is put into the conversation", happened(works, asks), RequestParks{11}, "admit 11", running},
		{"and ends the prompt when it is there", happened(works, asks, RequestParks{11}), RequestParked{11, "q"}, "admit 11, finish 1 waits for q", running},
		{"the next prompt answers it", happened(works, inTalk), prompts(2), "hear 11 from 2", running},
		{"an empty one, too", happened(works, inTalk), PromptCame{Key: 2, Empty: true}, "hear 11 from 2", running},
		{"and the turn goes on in that prompt", happened(works, inTalk, prompts(2), RequestSettled{Key: 11}, RequestReplied{Key: 11}, turnOver), TurnWrapped{}, "finish 2 end_turn, rest", idle},
		{"it is asked once more: the prompt ends", happened(works, inTalk, prompts(2), RequestParks{11}), RequestParked{11, "q"}, "admit 11, finish 2 waits for q", running},
		{"or goes to the agent, which is told by it", happened(inTalk, prompts(1), RequestSettled{Key: 11}), RequestReplied{11, true}, "send 1", sent},
		{"unless it was cancelled", happened(inTalk, prompts(1), RequestSettled{Key: 11}, CancelCame{}), RequestReplied{11, true}, "finish 1 cancelled", idle},
		{"while no turn runs the prompt ends when the agent knows", happened(inTalk, prompts(1), RequestSettled{Key: 11}), RequestReplied{Key: 11}, "finish 1 end_turn", idle},
		{"it is not there any more", nil, RequestShown{11}, "refuse 11", idle},
		{"it was withdrawn", happened(works, asks, RequestWithdrawn{Key: 11}), RequestShown{11}, "refuse 11", running},
		{"the agent withdraws it", happened(works, onEditor), RequestWithdrawn{Key: 11}, "withdraw 11: " + ErrWithdrawn.Error(), running},
		{"it cannot be withdrawn twice", happened(works, onEditor, RequestWithdrawn{Key: 11}), RequestWithdrawn{Key: 11}, "", running},
		{"nor when it has its outcome", happened(works, onEditor, RequestSettled{Key: 11}), RequestWithdrawn{Key: 11}, "", running},
	})
}

// When a turn ends, is cancelled, or its process dies.
func TestStepRequestOfATurn(t *testing.T) {
	apart := happened(asksApart, RequestShown{11})
	checkSteps(t, []stepCase{
		{"the turn ends: its question goes first", happened(works, onEditor), turnOver, "withdraw 11: " + ErrTurnOver.Error(), finishing},
		{"and the end is drawn when the agent knows", happened(works, onEditor, turnOver, RequestSettled{Key: 11}), RequestReplied{Key: 11}, "wrapUp", finishing},
		{"a sub-agent's question stays", happened(works, apart), turnOver, "wrapUp", finishing},
		{"cancel takes back a sub-agent's, too", happened(works, apart), CancelCame{}, "withdraw 11: cancelled, interrupt, startGrace", cancelling},
		{"the agent dies: all go", happened(works, apart), exited, "withdraw 11: " + errDied.Error(), finishing},
		{"the session is about to be closed: that is why all go", happened(works, apart), CancelCame{errClosed}, "withdraw 11: " + errClosed.Error() + ", interrupt, startGrace", cancelling},
		{"the session is closed: all go", happened(works, apart), CloseCame{EndedCancelled, errClosed}, "withdraw 11: " + errClosed.Error() + ", finish 1 cancelled", closed},
		{"what waited goes with the turn, and was not cancelled by anybody", happened(works, onEditor, RequestCame{Key: 12}), CancelCame{}, "withdraw 12: along, the user cancelled the turn, withdraw 11: cancelled, interrupt, startGrace", cancelling},
		{"so does what is on its way into the conversation", happened(works, asks, RequestParks{11}), CancelCame{}, "withdraw 11: along, the user cancelled the turn, interrupt, startGrace", cancelling},
		{"and what waited in a session that is deleted", happened(works, asks), CancelCame{ErrSessionDeleted}, "withdraw 11: along, the session was deleted, interrupt, startGrace", cancelling},
		{"after a cancel nothing is asked", happened(works, CancelCame{}), asks, "post 11, withdraw 11: along, the user cancelled the turn", cancelling},
		{"nor before a close", happened(works, CancelCame{errClosed}), asks, "post 11, withdraw 11: " + errClosed.Error(), cancelling},
		{"nor after a question was dismissed", happened(works, onEditor, RequestSettled{11, true}), RequestCame{Key: 12}, "post 12, withdraw 12: with another", cancelling},
		{"nor while the end of a turn is drawn, which nobody cancelled", happened(works, turnOver), asks, "post 11, withdraw 11: " + ErrTurnOver.Error(), finishing},
		{"cancelled then, it is that", happened(works, turnOver, CancelCame{}), asks, "post 11, withdraw 11: along, the user cancelled the turn", finishing},
		{"nor when the agent has ended", happened(works, exited), asks, "post 11, withdraw 11: " + errDied.Error(), finishing},
		{"nor when it takes nothing more", happened(prompts(1), SendFailed{Key: 1, Gone: true}), asks, "post 11, withdraw 11: " + ErrGone.Error(), leaving},
		{"nor while the agent is on its way out", happened(works, CancelCame{}, GraceOver{1}), asks, "post 11, withdraw 11: along, the user cancelled the turn", leaving},
		{"nor in a session that is closed", happened(CloseCame{EndedCancelled, errClosed}), asks, "post 11, withdraw 11: " + errClosed.Error(), closed},
		{"nothing is shown that was queued at the cancel", happened(works, asks, CancelCame{}), RequestShown{11}, "refuse 11", cancelling},
		{"nor put into the conversation", happened(works, asks, CancelCame{}), RequestParks{11}, "refuse 11", cancelling},
		{"nor what was on its way there", happened(works, asks, RequestParks{11}, CancelCame{}), RequestParked{11, "q"}, "refuse 11", cancelling},
		{"the user dismisses a question", happened(works, onEditor), RequestSettled{11, true}, "startGrace", cancelling},
		{"a permission", happened(works, RequestCame{Key: 11, Kind: Permission}, RequestShown{11}), RequestSettled{11, true}, "startGrace", cancelling},
		{"a form ends no turn", happened(works, RequestCame{Key: 11, Kind: Form}, RequestShown{11}), RequestSettled{11, true}, "", running},
		{"others go along", happened(works, onEditor, RequestCame{Key: 12}), RequestSettled{11, true}, "withdraw 12: with another, startGrace", cancelling},
		{"a sub-agent's stays: if it ends with the turn, the agent says so", happened(works, onEditor, RequestCame{Key: 12, Apart: true}), RequestSettled{11, true}, "startGrace", cancelling},
		{"and is shown", happened(works, onEditor, RequestCame{Key: 12, Apart: true}, RequestSettled{11, true}, RequestReplied{Key: 11}), RequestShown{12}, "admit 12", cancelling},
		{"so does one that comes before the turn has ended", happened(works, onEditor, RequestSettled{11, true}), RequestCame{Key: 12, Apart: true}, "post 12", cancelling},
		{"a sub-agent's is dismissed: another one's stays", happened(works, apart, RequestCame{Key: 12, Apart: true}), RequestSettled{11, true}, "startGrace", cancelling},
		{"also while no turn runs", happened(apart, RequestCame{Key: 12, Apart: true}), RequestSettled{11, true}, "", idle},
		{"a permission that was never seen ends no turn", happened(works, RequestCame{Key: 11, Kind: Permission}), RequestSettled{11, true}, "", running},
	})
}

// A prompt that comes while something is asked.
func TestStepPromptAndRequest(t *testing.T) {
	q2 := happened(RequestCame{Key: 12}, RequestParks{12}, RequestParked{12, "q2"})
	checkSteps(t, []stepCase{
		{"it takes the place of a question on the screen", happened(works, onEditor), prompts(2), "withdraw 11: cancelled, interrupt, startGrace", cancelling},
		{"what waits behind it was never shown", happened(works, onEditor, RequestCame{Key: 12}), prompts(2), "withdraw 12: not asked, withdraw 11: cancelled, interrupt, startGrace", cancelling},
		{"of a form", happened(works, RequestCame{Key: 11, Kind: Form}, RequestShown{11}), prompts(2), "withdraw 11: cancelled, interrupt, startGrace", cancelling},
		{"not of a permission while a turn runs", happened(takesMore, RequestCame{Key: 11, Kind: Permission}, RequestShown{11}), prompts(2), "send 2", running},
		{"of any while none does, and waits until the agent knows", happened(RequestCame{Key: 11, Kind: Permission}, RequestShown{11}), prompts(1), "withdraw 11: cancelled", idle},
		{"which is when the reply is out", happened(onEditor, prompts(1), RequestSettled{11, true}), RequestReplied{Key: 11}, "send 1", sent},
		{"and no sooner", happened(onEditor, prompts(1)), RequestSettled{11, true}, "", idle},
		{"a question that was dismissed, the same", happened(onEditor, RequestSettled{11, true}), prompts(1), "", idle},
		{"a question that is being written is not there yet", happened(works, asks, RequestParks{11}), prompts(2), "withdraw 11: not asked, interrupt, startGrace", cancelling},
		{"also while no turn runs", happened(asks, RequestParks{11}), prompts(1), "withdraw 11: not asked", idle},
		{"a prompt that was there before has its place", happened(works, prompts(2), asks), RequestParks{11}, "withdraw 11: not asked, interrupt, startGrace, refuse 11", cancelling},
		{"what is asked while the turn makes way is not asked", happened(works, prompts(2), asks, RequestParks{11}), RequestCame{Key: 12, Apart: true}, "post 12, withdraw 12: not asked", cancelling},
		{"what is asked after the user's cancel goes along", happened(works, CancelCame{}), RequestCame{Key: 12, Apart: true}, "post 12, withdraw 12: along, the user cancelled the turn", cancelling},
		{"a form: the same", happened(works, prompts(2), RequestCame{Key: 11, Kind: Form}), RequestParks{11}, "withdraw 11: not asked, interrupt, startGrace, refuse 11", cancelling},
		{"a prompt that the agent has not begun with, too", happened(asksApart, prompts(1)), RequestParks{11}, "withdraw 11: not asked, refuse 11", sent},
		{"what the editor shows beside it takes no prompt for a reply, and is asked", happened(asksApart, prompts(1)), RequestShown{11}, "admit 11", sent},
		{"the question is gone: the next prompt is an ordinary one", happened(inTalk, RequestWithdrawn{Key: 11}, RequestSettled{Key: 11}, RequestReplied{Key: 11}), prompts(1), "send 1", sent},
		{"and answers no other question", happened(works, inTalk, RequestWithdrawn{Key: 11}, q2), prompts(2), "hear 12 from 2 stale", running},
		{"the one behind it does", happened(works, inTalk, RequestWithdrawn{Key: 11}, q2, prompts(2), RequestParks{12}, RequestParked{12, "q2"}), prompts(3), "hear 12 from 3", running},
		{"it was answered elsewhere: the same", happened(works, inTalk, RequestSettled{Key: 11}, RequestReplied{Key: 11}, q2), prompts(2), "hear 12 from 2 stale", running},
		{"the words of another question are not in the way of the next", happened(inTalk, RequestCame{Key: 12}, prompts(1), RequestSettled{Key: 11}), RequestParks{12}, "admit 12", idle},
		{"so has one that the agent gave back", happened(takesMore, prompts(2), PromptBack{Key: 2}, asks), RequestParks{11}, "withdraw 11: not asked, interrupt all, startGrace, refuse 11", cancelling},
		{"which waits while the question is written", happened(takesMore, asks, RequestParks{11}), PromptBack{Key: 1}, "", running},
		{"or gives back while the question is written", happened(works, asks, RequestParks{11}, PromptBack{Key: 1}), RequestParked{11, "q"}, "admit 11, withdraw 11: not asked, interrupt, startGrace", cancelling},
		{"the agent died: the prompt ends with that, unsent", happened(inTalk, exited, RequestSettled{Key: 11}, RequestReplied{Key: 11}, TurnWrapped{}), prompts(1), "finish 1 " + errDied.Error(), down},
		{"a cancel since: it is an ordinary one", happened(inTalk, exited, RequestSettled{Key: 11}, RequestReplied{Key: 11}, TurnWrapped{}, CancelCame{}), prompts(1), "start", starting},
		{"and the next one runs", happened(inTalk, exited, RequestSettled{Key: 11}, RequestReplied{Key: 11}, TurnWrapped{}, prompts(1)), prompts(2), "start", starting},
		{"the agent dies with the words of a prompt", happened(inTalk, prompts(1), exited, RequestSettled{Key: 11}, RequestReplied{Key: 11}), TurnWrapped{}, "finish 1 " + errDied.Error(), down},
	})
}

// The four wrongs: a request is open while no turn runs.
func TestFourWrongs(t *testing.T) {
	for name, kind := range map[string]Kind{"question": Question, "permission": Permission, "form": Form} {
		came := RequestCame{Key: 11, Kind: kind, Apart: kind != Form}
		t.Run(name, func(t *testing.T) {
			cases := []stepCase{
				{"session/cancel withdraws it from the editor", happened(came, RequestShown{11}), CancelCame{}, "withdraw 11: cancelled", idle},
				{"a prompt supersedes it", happened(came, RequestShown{11}), prompts(1), "withdraw 11: cancelled", idle},
			}
			if kind != Permission {
				talk := happened(came, RequestParks{11}, RequestParked{11, "q"})
				gone := happened(RequestSettled{11, kind == Question}, RequestReplied{Key: 11})
				cases = append(cases,
					stepCase{"session/cancel withdraws it from the conversation", talk, CancelCame{}, "withdraw 11: cancelled", idle},
					stepCase{"cancelled, it takes no prompt as its answer", happened(talk, CancelCame{}), prompts(1), "", idle},
					stepCase{"which is sent when the agent knows", happened(talk, CancelCame{}, prompts(1), gone[0]), gone[1], "send 1", sent},
					stepCase{"the agent dies: the next prompt ends with that", happened(talk, exited, gone, TurnWrapped{}), prompts(1), "finish 1 " + errDied.Error(), down},
				)
			}
			checkSteps(t, cases)
		})
	}
}
