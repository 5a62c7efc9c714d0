package dialect_test

import (
	"fmt"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

// The dialect of a call is recognised, and the result is written in it.
func Example() {
	req, err := dialect.Decode([]byte(`{"jsonrpc":"2.0","id":7,"method":"client/ask_user","params":{"session_id":"s1","question":"Go on?","choices":["Yes","No"]}}`), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	answers, err := req.Call.ReadAnswers([]byte(`["yes"]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome := convert.Outcome{Status: convert.Answered, Answers: answers}
	fmt.Println(req.Dialect, req.Call.Questions[0].Text)
	fmt.Println(string(dialect.Encode(req, dialect.Reply{Outcome: outcome}).Body))
	// Output:
	// opal Go on?
	// {"jsonrpc":"2.0","id":7,"result":{"answer":"Yes"}}
}
