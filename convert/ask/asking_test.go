package ask_test

import (
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

type meta = map[string]any

// picked is a response with an option id, the _meta of the outcome, and the _meta
// beside it.
func picked(id string, on, beside meta) acp.RequestPermissionResponse {
	o := acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(id))
	o.Selected.Meta = on
	return acp.RequestPermissionResponse{Outcome: o, Meta: beside}
}

func oneQuestion(multi bool, labels ...string) convert.Call {
	q := convert.Question{Text: "Q?", MultiSelect: multi}
	for _, l := range labels {
		q.Options = append(q.Options, convert.Option{Label: l})
	}
	return convert.Call{ID: "id", Questions: []convert.Question{q}}
}

func several(ids ...any) meta { return meta{"selectedOptionIds": ids} }

// A reply that is none leaves everything as it was: what it picked before it went
// wrong is neither asked nor answered on the next rung.
func TestInvalidReplyLeavesNothing(t *testing.T) {
	call := oneQuestion(true, "x", "y", "z")
	for name, bad := range map[string]acp.RequestPermissionResponse{
		"unknown among them": picked("x", several("x", "nope"), nil),
		"unknown beside":     picked("nope", several("x"), nil),
		"picked beside":      picked("z", several("x"), nil),
		"empty list":         picked("x", several(), nil),
		"not strings":        picked("x", several("x", 7), nil),
		"text no string":     picked("x", meta{"customText": 7}, nil),
		"never offered":      picked("nope", nil, nil),
	} {
		for _, before := range []string{"", "y"} {
			asking := ask.New(call, 0, ask.Options{})
			var want []int
			if before != "" {
				require.Equal(t, ask.Again, acptest.Must(asking.Reply(picked(before, nil, nil))))
				want = []int{1}
			}
			request, answer, round := asking.Request(), asking.Answer(), asking.Round()
			require.ErrorIs(t, acptest.Err(asking.Reply(bad)), convert.ErrProtocol, name)
			require.Equal(t, want, asking.Picked(), name)
			require.Equal(t, request, asking.Request(), name)
			require.Equal(t, answer, asking.Answer(), name)
			require.Equal(t, round, asking.Round(), name)
		}
	}
	asking := ask.New(call, 0, ask.Options{})
	require.Error(t, acptest.Err(asking.Reply(picked("x", several("x", "y", "nope"), nil))))
	step, unclear := asking.ReplyText("3")
	require.Empty(t, unclear)
	require.Equal(t, ask.Done, step)
	require.Equal(t, convert.Answer{Selected: []string{"z"}}, asking.Answer())
}

// What no client sends by itself: words, or several picks.
func TestByHand(t *testing.T) {
	for name, tc := range map[string]struct {
		resp acp.RequestPermissionResponse
		want bool
	}{
		"an option":           {picked("x", nil, nil), false},
		"one id in a list":    {picked("x", several("x"), nil), false},
		"one id beside":       {picked("x", nil, several("x")), false},
		"an id twice":         {picked("x", several("x", "x"), nil), false},
		"no ids":              {picked("x", several(), nil), false},
		"two ids":             {picked("x", several("x", "y"), nil), true},
		"two ids beside":      {picked("", nil, several("x", "y")), true},
		"text":                {picked("x", meta{"customText": "t"}, nil), true},
		"text beside":         {picked("x", nil, meta{"customText": "t"}), true},
		"notes":               {picked("x", meta{"notes": "n"}, nil), true},
		"blank text":          {picked("x", meta{"customText": " \n", "notes": ""}, nil), false},
		"cancelled":           {acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, false},
		"of the wrong type":   {picked("x", meta{"customText": 7}, nil), false},
		"ids of another type": {picked("x", several("x", 7), nil), false},
	} {
		require.Equal(t, tc.want, ask.ByHand(tc.resp), name)
	}
}

// The _meta of the outcome comes before that beside it.
func TestMetaOnTheOutcomeCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		multi bool
		resp  acp.RequestPermissionResponse
		want  convert.Answer
	}{
		"text":        {false, picked(ask.OtherID, meta{"customText": "on"}, meta{"customText": "beside"}), convert.Answer{Text: "on"}},
		"text beside": {false, picked(ask.OtherID, meta{"customText": " "}, meta{"customText": "beside"}), convert.Answer{Text: "beside"}},
		"notes":       {false, picked("x", meta{"notes": "on"}, meta{"notes": "beside"}), convert.Answer{Selected: []string{"x"}, Note: "on"}},
		"ids":         {true, picked("x", several("x"), several("x", "y")), convert.Answer{Selected: []string{"x"}}},
		"ids beside":  {true, picked("x", nil, several("x", "y")), convert.Answer{Selected: []string{"x", "y"}}},
	} {
		asking := ask.New(oneQuestion(tc.multi, "x", "y", "z"), 0, ask.Options{})
		step, err := asking.Reply(tc.resp)
		require.NoError(t, err, name)
		require.Equal(t, ask.Done, step, name)
		require.Equal(t, tc.want, asking.Answer(), name)
	}
}

// An id that is several labels, joined as the result joins them, is those picks.
func TestJoinedLabels(t *testing.T) {
	call := oneQuestion(true, "Auth", "Logs, metrics", "Cache", "a, b", "a", "b", "__done__")
	for id, want := range map[string][]string{
		"Auth, Cache":                 {"Auth", "Cache"},
		"Cache, Auth":                 {"Auth", "Cache"},
		`"Logs, metrics", Auth`:       {"Auth", "Logs, metrics"},
		"Cache, __done__":             {"Cache", "__done__"},
		"a, b":                        nil, // a label of its own: one round
		"Auth, Auth":                  {"Auth"},
		"Auth, nope":                  {"!"},
		"Auth, ":                      {"!"},
		"Auth,Cache":                  {"!"},
		"Auth, __other__":             {"!"},
		"Auth, Logs, metrics":         {"!"},
		"nope":                        {"!"},
		"Auth, Cache, a, b, __done__": {"Auth", "Cache", "a", "b", "__done__"},
		`"Auth", Cache`:               {"Auth", "Cache"},
	} {
		asking := ask.New(call, 0, ask.Options{})
		step, err := asking.Reply(picked(id, nil, nil))
		switch {
		case want == nil:
			require.NoError(t, err, id)
			require.Equal(t, ask.Again, step, id)
			require.Equal(t, []int{3}, asking.Picked(), id)
		case want[0] == "!":
			require.ErrorIs(t, err, convert.ErrProtocol, id)
			require.Empty(t, asking.Picked(), id)
		default:
			require.NoError(t, err, id)
			require.Equal(t, ask.Done, step, id)
			require.Equal(t, want, asking.Answer().Selected, id)
		}
	}
	asking := ask.New(call, 0, ask.Options{})
	acptest.Must(asking.Reply(picked("Auth", nil, nil)))
	step := acptest.Must(asking.Reply(picked("Auth, Cache", nil, nil)))
	require.Equal(t, ask.Done, step, "with what was picked before")
	require.Equal(t, []string{"Auth", "Cache"}, asking.Answer().Selected)

	_, err := ask.New(oneQuestion(false, "x", "y"), 0, ask.Options{}).Reply(picked("x, y", nil, nil))
	require.ErrorIs(t, err, convert.ErrProtocol, "a question that takes one")
}

// By bare commas, too, where no label has one.
func TestJoinedByBareCommas(t *testing.T) {
	call := oneQuestion(true, "Auth", "Logs", "Cache")
	for id, want := range map[string][]string{
		"Auth,Cache":      {"Auth", "Cache"},
		"Cache,Logs,Auth": {"Auth", "Logs", "Cache"},
		"Auth,nope":       nil,
		"Auth,":           nil,
	} {
		asking := ask.New(call, 0, ask.Options{})
		_, err := asking.Reply(picked(id, nil, nil))
		if want == nil {
			require.ErrorIs(t, err, convert.ErrProtocol, id)
			continue
		}
		require.NoError(t, err, id)
		require.Equal(t, want, asking.Answer().Selected, id)
	}
}

// Words in reply to a message, at every step of the rounds.
func TestReplyText(t *testing.T) {
	call := oneQuestion(true, "x", "y", "z", "Decline", "Skip", "None")
	q := &call.Questions[0]
	q.Options[3].Effect, q.Options[4].Effect, q.Options[5].Effect = convert.EffectDecline, convert.EffectSkip, convert.EffectAlone
	for _, tc := range []struct {
		before, reply string
		step          ask.Step
		want          convert.Answer
	}{
		{"", "1,3", ask.Done, convert.Answer{Selected: []string{"x", "z"}}},
		{"y", "1", ask.Done, convert.Answer{Selected: []string{"x", "y"}}},
		{"y", "2", ask.Done, convert.Answer{Selected: []string{"y"}}},
		{"y", "mine", ask.Done, convert.Answer{Selected: []string{"y"}, Text: "mine"}},
		{"y", "1, other mine", ask.Done, convert.Answer{Selected: []string{"x", "y"}, Text: "mine"}},
		{"y", "done", ask.Done, convert.Answer{Selected: []string{"y"}}},
		{"", "done", ask.Done, convert.Answer{Text: "done"}},
		{"", "skip", ask.Done, convert.Answer{}},
		{"y", "skip", ask.Done, convert.Answer{}},
		{"y", "none", ask.Done, convert.Answer{Selected: []string{"None"}}},
		{"y", "decline", ask.Refused, convert.Answer{}},
		{"y", "cancel", ask.Dismissed, convert.Answer{Selected: []string{"y"}}},
		{"y", " ", 0, convert.Answer{Selected: []string{"y"}}},
		{"y", "1, skip", 0, convert.Answer{Selected: []string{"y"}}},
	} {
		asking := ask.New(call, 0, ask.Options{})
		if tc.before != "" {
			acptest.Must(asking.Reply(picked(tc.before, nil, nil)))
		}
		step, unclear := asking.ReplyText(tc.reply)
		require.Equal(t, tc.step, step, tc.reply)
		require.Equal(t, tc.step == 0, unclear != "", tc.reply)
		require.Equal(t, tc.want, asking.Answer(), tc.reply)
	}
	closed := oneQuestion(true, "x", "y", "z")
	closed.Questions[0].Closed = true
	for reply, want := range map[string]ask.Step{"done": ask.Done, " DONE ": ask.Done, "mine": 0} {
		asking := ask.New(closed, 0, ask.Options{})
		acptest.Must(asking.Reply(picked("y", nil, nil)))
		require.Contains(t, ask.Message(closed.Questions[0], []int{1}), "`done`")
		require.NotContains(t, ask.Message(closed.Questions[0], []int{1}), "own words")
		step, _ := asking.ReplyText(reply)
		require.Equal(t, want, step, reply)
		require.Equal(t, []string{"y"}, asking.Answer().Selected)
	}
	single := ask.New(oneQuestion(false, "x", "y"), 0, ask.Options{})
	step, _ := single.ReplyText("2")
	require.Equal(t, ask.Done, step)
	require.Equal(t, convert.Answer{Selected: []string{"y"}}, single.Answer())
}

// Behind Other the options have no numbers: what is typed there is the user's own
// words, unless it is a label or dismisses the question.
func TestBehindOther(t *testing.T) {
	call := oneQuestion(false, "One", "Many, or so", "2x")
	call.Questions[0].Text, call.Questions[0].Header = "How many?", "Replicas"
	for _, tc := range []struct {
		reply string
		step  ask.Step // 0 is unclear
		want  convert.Answer
	}{
		{"2", ask.Done, convert.Answer{Text: "2"}},
		{"#2", ask.Done, convert.Answer{Text: "#2"}},
		{"1,3", ask.Done, convert.Answer{Text: "1,3"}},
		{"other: 2", ask.Done, convert.Answer{Text: "other: 2"}},
		{"one", ask.Done, convert.Answer{Selected: []string{"One"}}},
		{"Many, or so", ask.Done, convert.Answer{Selected: []string{"Many, or so"}}},
		{"a few", ask.Done, convert.Answer{Text: "a few"}},
		{"cancel", ask.Dismissed, convert.Answer{}},
		{" ", 0, convert.Answer{}},
	} {
		asking := ask.New(call, 0, ask.Options{})
		step := acptest.Must(asking.Reply(picked(ask.OtherID, nil, nil)))
		require.Equal(t, ask.NeedText, step)
		require.Equal(t, "**Replicas**\n\nHow many?\n\nType your answer, or one of these: One, \"Many, or so\", 2x. Reply `cancel` to dismiss the question.", asking.Message())
		step, unclear := asking.ReplyText(tc.reply)
		require.Equal(t, tc.step, step, tc.reply)
		require.Equal(t, tc.step == 0, unclear != "", tc.reply)
		require.Equal(t, tc.want, asking.Answer(), tc.reply)
	}

	// Several are picked with numbers that are shown, and these count.
	asking := ask.New(oneQuestion(true, "x", "y", "z"), 0, ask.Options{})
	step := acptest.Must(asking.Reply(picked(ask.OtherID, nil, nil)))
	require.Equal(t, ask.NeedText, step)
	require.Contains(t, asking.Message(), "\n2. y\n")
	step, _ = asking.ReplyText("2")
	require.Equal(t, ask.Done, step)
	require.Equal(t, convert.Answer{Selected: []string{"y"}}, asking.Answer())

	free := oneQuestion(false)
	asking = ask.New(free, 0, ask.Options{})
	acptest.Must(asking.Reply(picked(ask.OtherID, nil, nil)))
	require.Equal(t, ask.Message(free.Questions[0], nil), asking.Message())
}

// What a question takes and what it does not, reply by reply.
func TestWhatAQuestionTakes(t *testing.T) {
	one, many := oneQuestion(false, "x", "y"), oneQuestion(true, "x", "y", "z")
	closedOne, closedMany := oneQuestion(false, "x", "y"), oneQuestion(true, "x", "y", "z")
	closedOne.Questions[0].Closed, closedMany.Questions[0].Closed = true, true
	lone := oneQuestion(true, "x", "none")
	lone.Questions[0].Options[1].Effect = convert.EffectAlone
	declines := oneQuestion(false, "x", "no")
	declines.Questions[0].Options[1].Effect = convert.EffectDecline
	typed := meta{"customText": "words"}
	for name, tc := range map[string]struct {
		call   convert.Call
		before string // picked in an earlier round
		reply  acp.RequestPermissionResponse
		want   ask.Step // 0 is an error
		answer convert.Answer
	}{
		"one id in a list":                  {one, "", picked("x", several("x"), nil), ask.Done, convert.Answer{Selected: []string{"x"}}},
		"words beside one pick":             {one, "", picked("x", typed, nil), ask.Done, convert.Answer{Selected: []string{"x"}, Note: "words"}},
		"words and a note beside one pick":  {one, "", picked("x", typed, meta{"notes": "a note"}), ask.Done, convert.Answer{Selected: []string{"x"}, Note: "words\na note"}},
		"several for one":                   {one, "", picked("x", several("x", "y"), nil), 0, convert.Answer{}},
		"another in the list":               {one, "", picked("x", several("y"), nil), 0, convert.Answer{}},
		"Other of a closed one":             {closedOne, "", picked(ask.OtherID, typed, nil), 0, convert.Answer{}},
		"Other of several closed":           {closedMany, "", picked(ask.OtherID, typed, nil), 0, convert.Answer{}},
		"Other among closed ones":           {closedMany, "", picked("x", several("x", ask.OtherID), nil), 0, convert.Answer{}},
		"words beside a closed pick":        {closedMany, "", picked("x", meta{"selectedOptionIds": []any{"x", "y"}, "customText": "words"}, nil), ask.Done, convert.Answer{Selected: []string{"x", "y"}, Note: "words"}},
		"words in a closed round":           {closedMany, "", picked("x", typed, nil), ask.Done, convert.Answer{Selected: []string{"x"}, Note: "words"}},
		"declined":                          {declines, "", picked("no", nil, nil), ask.Refused, convert.Answer{}},
		"declined, with words":              {declines, "", picked("no", typed, nil), ask.Done, convert.Answer{Selected: []string{"no"}, Note: "words"}},
		"words beside one that is alone":    {lone, "", picked("none", nil, meta{"notes": "words"}), ask.Done, convert.Answer{Selected: []string{"none"}, Note: "words"}},
		"Other beside a list":               {many, "", picked(ask.OtherID, several("x"), nil), ask.NeedText, convert.Answer{Selected: []string{"x"}}},
		"Other beside a list, with words":   {many, "", picked(ask.OtherID, meta{"selectedOptionIds": []any{"x"}, "customText": "words"}, nil), ask.Done, convert.Answer{Selected: []string{"x"}, Text: "words"}},
		"all that can be picked":            {lone, "", picked("x", nil, nil), ask.Done, convert.Answer{Selected: []string{"x"}}},
		"one that stands alone":             {lone, "", picked("none", nil, nil), ask.Done, convert.Answer{Selected: []string{"none"}}},
		"one that stands alone, among them": {lone, "", picked("x", several("x", "none"), nil), 0, convert.Answer{}},
		"the next round":                    {many, "y", picked("x", nil, nil), ask.Again, convert.Answer{Selected: []string{"x", "y"}}},
		"done":                              {many, "y", picked(ask.DoneID, nil, nil), ask.Done, convert.Answer{Selected: []string{"y"}}},
		"done before anything was picked":   {many, "", picked(ask.DoneID, nil, nil), 0, convert.Answer{}},
		"what was picked before":            {many, "y", picked("y", nil, nil), ask.Done, convert.Answer{Selected: []string{"y"}}},
		"an empty list after a pick":        {many, "y", picked("", several(), nil), 0, convert.Answer{Selected: []string{"y"}}},
	} {
		t.Run(name, func(t *testing.T) {
			asking := ask.New(tc.call, 0, ask.Options{})
			if tc.before != "" {
				acptest.Must(asking.Reply(picked(tc.before, nil, nil)))
			}
			step, err := asking.Reply(tc.reply)
			require.Equal(t, tc.want == 0, err != nil, "%v", err)
			require.Equal(t, tc.want, step)
			require.Equal(t, tc.answer, asking.Answer())
		})
	}
}

// What a caller does with the picks is the caller's business.
func TestPickedIsACopy(t *testing.T) {
	asking := ask.New(oneQuestion(true, "x", "y", "z"), 0, ask.Options{})
	acptest.Must(asking.Reply(picked("y", nil, nil)))
	asking.Picked()[0] = 2
	require.Equal(t, []int{1}, asking.Picked())
}
