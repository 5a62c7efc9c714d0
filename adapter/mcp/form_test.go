package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/mcp"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// What is no reply to the form, and a no that comes before anybody can have read it, is
// nobody's answer: the question is asked elsewhere, or stays where it is asked already.
func TestAFormThatNobodyAnswers(t *testing.T) {
	for name, reply := range map[string]*sdk.ElicitResult{
		"action":          {Action: "maybe"},
		"decline at once": {Action: "decline"},
		"cancel at once":  {Action: "cancel"},
		"nothing at once": {Action: "accept"},
		"fields":          {Action: "accept", Content: map[string]any{"frobnicate": "SQLite"}},
	} {
		for _, version := range []string{"2025-06-18", "2026-07-28"} {
			for _, alongside := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " ", version, " ", alongside), func(t *testing.T) {
					a := newAsks()
					shown := make(chan struct{}, 1)
					session := connectAs(t, mcp.New(mcp.Options{Resolver: a, Elicit: true, Alongside: alongside, Limit: -1}), &sdk.ClientOptions{
						ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
							shown <- struct{}{}
							return reply, nil
						},
					}, version)
					done := calls(context.Background(), session, questions)
					<-shown
					<-a.calls
					select {
					case a.answer <- convert.Answer{Selected: []string{"SQLite"}}:
					case err := <-a.ended:
						t.Fatalf("the question was taken away: %v", err)
					}
					require.Contains(t, (<-done).text, "SQLite")
				})
			}
		}
	}
}

// A no that does not say when the form was shown is as one that came at once.
func TestANoWithoutItsState(t *testing.T) {
	a := newAsks()
	session := connectAs(t, mcp.New(mcp.Options{Resolver: a, Elicit: true, Limit: -1}), &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) { return nil, nil },
	}, "2026-07-28")
	ended := make(chan error, 1)
	go func() {
		ended <- acptest.Err(session.CallTool(context.Background(), &sdk.CallToolParams{Name: mcp.ToolName, Arguments: json.RawMessage(questions),
			InputResponses: sdk.InputResponseMap{"answers": &sdk.ElicitResult{Action: "decline"}}}))
	}()
	select {
	case <-a.calls:
		a.answer <- convert.Answer{Selected: []string{"SQLite"}}
	case err := <-ended:
		t.Fatal("the call has ended: ", err)
	}
}

// What counts is the version that was agreed on: a client that has offered a newer one
// gets the form as a request.
func TestTheVersionThatWasAgreedOn(t *testing.T) {
	s := mcp.New(mcp.Options{Resolver: newAsks(), Elicit: true, Limit: -1})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), inR, outW) }()
	defer func() {
		inW.Close()
		outR.Close()
		<-served
		s.Close()
	}()
	lines := bufio.NewScanner(outR)
	say := func(line string) { acptest.Must(io.WriteString(inW, line+"\n")) }
	hear := func() gjson.Result {
		require.True(t, lines.Scan())
		return gjson.ParseBytes(append([]byte(nil), lines.Bytes()...))
	}
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Equal(t, "2025-11-25", hear().Get("result.protocolVersion").Str)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask_the_user","arguments":` + compact(questions) + `}}`)
	form := hear()
	require.Equal(t, "elicitation/create", form.Get("method").Str, form.Raw)
	say(`{"jsonrpc":"2.0","id":` + form.Get("id").Raw + `,"result":{"action":"accept","content":{"question_0":"SQLite"}}}`)
	reply := hear()
	require.Contains(t, reply.Get("result.content.0.text").Str, "SQLite", reply.Raw)
	require.False(t, reply.Get("result.resultType").Exists(), reply.Raw)
}

func compact(s string) string { return gjson.Get(s, "@ugly").Raw }
