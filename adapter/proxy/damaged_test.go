package proxy

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A broken answer is no answer: the question is asked in another way.
func TestBrokenAnswer(t *testing.T) {
	t.Parallel()
	p := initialized(t, Options{}, withForms)
	p.agent.send(oneLine(grokAsks))
	form := p.editor.until("elicitation/create")
	p.editor.send(`{"jsonrpc":"2.0","id":` + form.Get("id").Raw + `,"result":{"action":"accept","content":{"question_0":"PostgreSQL"}`)
	request := p.editor.until("session/request_permission")
	long := `{"jsonrpc":"2.0","id":` + request.Get("id").Raw + `,"result":{"outcome":{"outcome":"selected","optionId":"PostgreSQL"}},"more":"`
	go io.Copy(p.editor.w, io.MultiReader(strings.NewReader(long), strings.NewReader(strings.Repeat("x", maxLine)), strings.NewReader("\"}\n")))
	require.Contains(t, p.editor.said(), "Which database?", "in the conversation")
}
