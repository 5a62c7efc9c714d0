// Command cli shows the tool at work without a model: it asks two questions on
// stdin and stdout and prints the result that a model would get.
//
//	go run ./adapter/askuserquestion/examples/cli
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/acp-bridge/acp-bridge/adapter/askuserquestion"
)

const input = `{"questions":[
 {"question":"Which auth method?","header":"Auth","options":[
  {"label":"OAuth (Recommended)","description":"Log in with the browser"},
  {"label":"API key","description":"A token that stays the same"}]},
 {"question":"Which languages?","header":"Languages","multiSelect":true,"options":[
  {"label":"Go"},{"label":"Rust"},{"label":"Zig"}]}]}`

func main() { run(os.Stdin, os.Stdout) }

func run(in io.Reader, out io.Writer) {
	tool := askuserquestion.NewTool(askuserquestion.StdinResolver{In: in, Out: out})
	text, isError := tool.Run(context.Background(), "call-1", []byte(input))
	fmt.Fprintf(out, "\nThe model gets (error: %t):\n%s\n", isError, text)
}
