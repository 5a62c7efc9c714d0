package desk_test

import (
	"context"
	"fmt"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
)

// Somebody at a phone answers what an editor shows. The editor's own answer comes
// too late: the first one stands.
func Example() {
	var d desk.Desk
	call := convert.Call{Session: "s1", ID: "toolu_1", Questions: []convert.Question{
		{Text: "Which database?", Options: []convert.Option{{Label: "PostgreSQL"}, {Label: "SQLite"}}}}}
	ticket := d.Post(context.Background(), desk.Item{Kind: desk.Question, Call: call})
	defer ticket.Leave()

	err := d.Answer(d.List()[0].Name, []convert.Answer{{Selected: []string{"SQLite"}}}, "phone")
	fmt.Println("the phone:", err)

	late := convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"PostgreSQL"}}}}
	stands, first := ticket.Settle(late, "editor")
	fmt.Println("the editor:", first, stands.Answers[0].Selected)
	// Output:
	// the phone: <nil>
	// the editor: false [SQLite]
}
