package convert_test

import (
	"fmt"

	"github.com/acp-bridge/acp-bridge/convert"
)

const toolInput = `{"questions":[
	{"question":"Which database?","header":"Database","options":["PostgreSQL","SQLite"]},
	{"question":"Which features?","header":"Features","options":["Auth","Cache","Logs"],"multiSelect":true}]}`

// A call is read, answered from JSON, and told to the model as text.
func Example() {
	call, err := convert.Parse([]byte(toolInput), convert.Limits{})
	if err != nil {
		fmt.Println(err) // says which question, and what was expected
		return
	}
	answers, err := call.ReadAnswers([]byte(`{"Which database?":2,"Which features?":["Logs","Auth"]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(convert.Format(call, answers))
	// Output:
	// Which database?
	// SQLite
	//
	// Which features?
	// - Auth
	// - Logs
}

// What a person typed means the same wherever it was typed.
func ExampleQuestion_ReadReply() {
	q := convert.Question{Text: "How many?", Options: []convert.Option{{Label: "2"}, {Label: "4"}, {Label: "Many"}}}
	for _, reply := range []string{"many", "3", "#2", "other about ten", "cancel", "2"} {
		m := q.ReadReply(reply)
		switch {
		case m.Unclear != "":
			fmt.Println("ask again:", m.Unclear)
		case m.Cancel:
			fmt.Println("dismissed")
		default:
			fmt.Printf("%q\n", m.Answer(q).Items())
		}
	}
	// Output:
	// ["Many"]
	// ["Many"]
	// ["4"]
	// ["about ten"]
	// dismissed
	// ask again: "2" is the label of option 1 and the number of another. Write the label in quotes, or the number as #2.
}
