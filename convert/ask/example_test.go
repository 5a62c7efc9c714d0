package ask_test

import (
	"fmt"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// A multi-select question is asked in rounds, until the user is done.
func Example() {
	call := convert.Call{Session: "s1", ID: "toolu_1", Questions: []convert.Question{{
		Text: "Which features?", MultiSelect: true,
		Options: []convert.Option{{Label: "Auth"}, {Label: "Cache"}, {Label: "Logs"}},
	}}}
	user := []acp.PermissionOptionId{"Logs", "Auth", ask.DoneID} // what is clicked

	asking := ask.New(call, 0, ask.Options{})
	for step := ask.Again; step == ask.Again; {
		request := asking.Request() // to be sent as session/request_permission
		fmt.Println(len(request.Options), "options, the first is", request.Options[0].Name)
		var err error
		step, err = asking.Reply(acp.RequestPermissionResponse{
			Outcome: acp.NewRequestPermissionOutcomeSelected(user[asking.Round()-1]),
		})
		if err != nil {
			fmt.Println(err) // no valid reply: ask in another way
			return
		}
	}
	fmt.Println(asking.Answer().Items())
	// Output:
	// 4 options, the first is Auth
	// 4 options, the first is Done: Logs
	// 3 options, the first is Done: Auth, Logs
	// [Auth Logs]
}
