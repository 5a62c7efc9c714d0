package convert_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"questions":[{"question":"Q?","header":"H","options":["a",{"label":"b","description":"d"}],"multiSelect":true}]}`))
	f.Add([]byte(`{"questions":"[{\"question\":\"Q?\",\"options\":[\"a\",\"b\"]}]","x":{"y":[1,2]}}`))
	f.Add([]byte(`{"questions":[{"question":"\ud83d","options":["\u0000","__other__"]}],"questions":[{"question":"x","options":null}]}`))
	f.Add([]byte(`{"questions":[`))
	f.Fuzz(func(t *testing.T, input []byte) {
		c, err := convert.Parse(input, loose)
		if err != nil {
			return
		}
		answers := make([]convert.Answer, len(c.Questions))
		for q := range c.Questions {
			request, err := json.Marshal(ask.Permission(c, q, ask.PermissionOptions{}))
			require.NoError(t, err)
			require.NotContains(t, string(request), "\n")
			answers[q].Text = "x"
		}
		require.True(t, json.Valid(dialect.ClaudeResult(c, convert.Outcome{Status: convert.Answered, Answers: answers})))
		_, err = json.Marshal(ask.Form(c))
		require.NoError(t, err)
	})
}
