package editors_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// The questions that the agent asks of a scripted client's user.
var (
	which   = ct.Q("Which database?", "Database", false, "PostgreSQL", "SQLite")
	many    = ct.Q("Which features?", "Features", true, "Auth", "Cache", "Logs")
	licence = ct.Q("Which licence?", "Licence", false, "MIT", "Apache")
	port    = ct.Q("Which port?", "Port", false, "80", "8080")
)

// wish is what the user wants to say to a question: picks, words, or, if it is
// empty, to dismiss it.
type wish struct {
	picks []string
	text  string
}

func (w wish) dismiss() bool { return len(w.picks) == 0 && w.text == "" }

// user is the person in front of a scripted client. What they see is what the
// client shows them; they know nothing of the protocol.
type user struct {
	t      testing.TB
	wishes map[string]wish // by header; a question that is not in it is dismissed
}

// wants finds the wish for the question that is shown.
func (u *user) wants(shown string) wish {
	u.t.Helper()
	for _, q := range []map[string]any{which, many, licence, port} {
		header := q["header"].(string)
		if strings.Contains(shown, q["question"].(string)) || shown == header {
			return u.wishes[header]
		}
	}
	require.Fail(u.t, "the user cannot tell which question this is", shown)
	return wish{}
}

// presses returns the button that the user presses next.
func (u *user) presses(w wish, buttons []string) int {
	u.t.Helper()
	find := func(is func(name string) bool) int { return slices.IndexFunc(buttons, is) }
	for _, label := range w.picks {
		if i := find(func(n string) bool { return n == label+" - about "+label }); i >= 0 {
			return i
		}
	}
	want := "Done: "
	if w.text != "" {
		want = "Other (type custom answer)"
	}
	i := find(func(n string) bool { return strings.HasPrefix(n, want) })
	require.GreaterOrEqual(u.t, i, 0, "no button for the wish %v among %q", w, buttons)
	return i
}

// writes returns what the user types under a question in the conversation.
func (u *user) writes(shown string) string {
	u.t.Helper()
	w := u.wants(shown)
	if w.dismiss() {
		return "cancel"
	}
	if w.text != "" {
		return w.text
	}
	if _, labels, ok := strings.Cut(shown, "Type your answer, or one of these: "); ok { // behind Other nothing has a number
		require.Contains(u.t, labels, w.picks[0])
		require.NotRegexp(u.t, `(?m)^\d+\. `, shown)
		return w.picks[0]
	}
	picked := regexp.MustCompile(`(?m)^Picked so far: (.*)$`).FindStringSubmatch(shown)
	var numbers []string
	for _, label := range w.picks {
		if picked != nil && slices.Contains(strings.Split(picked[1], ", "), label) {
			continue
		}
		found := regexp.MustCompile(`(?m)^(\d+)\. ` + regexp.QuoteMeta(label+" - about "+label) + `$`).FindStringSubmatch(shown)
		require.NotNil(u.t, found, "%s is not in the list: %s", label, shown)
		numbers = append(numbers, found[1])
	}
	if len(numbers) == 0 {
		return "done"
	}
	return strings.Join(numbers, ",")
}

// fills in a form as Zed shows it: fields in the order of their keys, texts
// under the question they stand below, several picks sorted.
func (u *user) fills(form gjson.Result) map[string]any {
	u.t.Helper()
	properties := form.Get("requestedSchema.properties").Map()
	keys := make([]string, 0, len(properties))
	for key := range properties {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	content := map[string]any{}
	var above wish
	for _, key := range keys {
		field := properties[key]
		if field.Get("title").Str == "Other" {
			if above.text != "" {
				content[key] = above.text
			}
			continue
		}
		above = u.wants(field.Get("title").Str)
		choices := append(field.Get("oneOf").Array(), field.Get("items.anyOf").Array()...)
		var picked []string
		for _, label := range above.picks {
			i := slices.IndexFunc(choices, func(c gjson.Result) bool { return c.Get("title").Str == label })
			require.GreaterOrEqual(u.t, i, 0, "%s is not in the form", label)
			picked = append(picked, choices[i].Get("const").Str)
		}
		switch slices.Sort(picked); {
		case field.Get("type").Str == "array":
			content[key] = append([]string{}, picked...)
		case len(picked) > 0:
			content[key] = picked[0]
		}
	}
	return content
}
