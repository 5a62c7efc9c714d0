package askuserquestion_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/askuserquestion"
)

// inbox is a host with one place to type: what the user sends answers the open
// question, or is a message of its own that takes the question's place.
type inbox struct {
	questions chan askuserquestion.Request // to the screen
	answers   chan []askuserquestion.Answer
	messages  chan string
}

// Ask publishes the request and blocks until the user has dealt with it.
func (b *inbox) Ask(ctx context.Context, req askuserquestion.Request) ([]askuserquestion.Answer, error) {
	select {
	case b.questions <- req:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case answers := <-b.answers:
		return answers, nil
	case text := <-b.messages:
		return nil, fmt.Errorf("%w: the user wrote %q instead", askuserquestion.ErrResolverCancelled, text)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// A resolver over channels: the request goes to the screen, the call waits, and
// the user's next message cancels it.
func ExampleResolver() {
	host := &inbox{make(chan askuserquestion.Request), make(chan []askuserquestion.Answer), make(chan string)}
	go func() { // the screen
		req := <-host.questions
		host.answers <- []askuserquestion.Answer{{Question: req.Questions[0].Question, Selected: []string{"OAuth"}}}
		<-host.questions
		host.messages <- "Forget about it, fix the tests first."
	}()
	tool := askuserquestion.NewTool(host)
	input := []byte(`{"questions":[{"question":"Auth method?","header":"Auth","options":[{"label":"OAuth"},{"label":"API key"}]}]}`)
	for range 2 {
		text, isError := tool.Run(context.Background(), "call-1", input)
		fmt.Printf("%s (error: %t)\n", text, isError)
	}
	// Output:
	// Auth method?
	// OAuth (error: false)
	// [cancelled by user] (error: false)
}

func ExampleStdinResolver() {
	ask := askuserquestion.StdinResolver{In: strings.NewReader("2\n"), Out: io.Discard} // os.Stdin, os.Stdout
	tool := askuserquestion.NewTool(ask)
	text, _ := tool.Run(context.Background(), "call-1", []byte(`{"questions":[{"question":"Which auth method?","header":"Auth",
		"options":[{"label":"OAuth (Recommended)","description":"Browser flow"},{"label":"API key","description":"Static token"}]}]}`))
	fmt.Println(text)
	// Output:
	// Which auth method?
	// API key
}
