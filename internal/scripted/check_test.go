package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/scripted"
)

// client is an editor whose user does what the steps say, as far as it can.
type client struct {
	*acptest.Editor
	session string
	step    string // what the step that runs is about
	seen    int    // requests of that step
}

// at is the step that runs, and how many requests it has made.
func (c *client) at() (string, int) {
	said := c.Said(c.session)
	_, after, _ := strings.Cut(said[strings.LastIndex(said, "**Step "):], ": ")
	if step, _, _ := strings.Cut(after, ".**"); step != c.step {
		c.step, c.seen = step, 0
	}
	return c.step, c.seen
}

// run plays a whole check and returns the report. typed is what the user types
// when a turn has ended and a step waits.
func run(t *testing.T, initialize string, reply func(*client, string, gjson.Result) (string, error), typed func(*client) string) string {
	var clock sync.Mutex
	now := time.Unix(0, 0)
	slow := func() time.Time { // a second for everything
		clock.Lock()
		defer clock.Unlock()
		now = now.Add(time.Second)
		return now
	}
	c := &client{Editor: acptest.NewEditor(t, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return scripted.ServeCheck(ctx, in, out, scripted.CheckOptions{Version: "test", Now: slow})
	})}
	defer c.Leave()
	c.Call("initialize", initialize)
	c.session = c.Open("/")
	for words := "go"; !strings.Contains(c.Said(c.session), "People will be asked"); words = typed(c) {
		turn := c.Prompt(c.session, words)
		for running := true; running; {
			select {
			case r := <-c.Requests:
				c.at()
				c.seen++
				if said, err := reply(c, r.Method, r.Result); err != nil {
					r.Answer <- err
				} else {
					r.Answer <- json.RawMessage(said)
				}
			case <-turn.Done:
				running = false
			}
		}
		require.NoError(t, turn.Err)
	}
	_, report, _ := strings.Cut(c.Said(c.session), "### ")
	return report
}

func selected(id string) (string, error) {
	return `{"outcome":{"outcome":"selected","optionId":"` + id + `"}}`, nil
}

const cancelled = `{"outcome":{"outcome":"cancelled"}}`

// wishes are the options of each step, request by request.
var wishes = map[string][]string{
	"one pick": {"SQLite"}, "several picks": {"Auth", "Logs", "__done__"}, "own words": {"__other__"},
	"three questions": {"PostgreSQL", "Auth", "__done__", "MIT"}, "a form of a server": {"__other__", "__other__"},
	"a permission": {"reject"},
}

// buttons has a button for each option.
func buttons(c *client, _ string, p gjson.Result) (string, error) {
	step, n := c.at()
	if step == "dismiss" {
		return cancelled, nil
	}
	want := wishes[step][min(n, len(wishes[step]))-1] // a form came before it
	for _, o := range p.Get("options").Array() {
		if o.Get("optionId").Str == want {
			return selected(want)
		}
	}
	return "", errors.New("no such option " + want + " in " + p.Get("options").Raw)
}

// texts are what is typed, message by message.
func texts(byStep map[string][]string) func(*client) string {
	used := map[string]int{}
	return func(c *client) string {
		step, _ := c.at()
		list := byStep[step]
		if used[step] >= len(list) {
			return "go on"
		}
		used[step]++
		return list[used[step]-1]
	}
}

func TestButtons(t *testing.T) {
	report := run(t, `{"protocolVersion":1,"clientInfo":{"name":"nice","version":"1.2"}}`, buttons,
		texts(map[string][]string{"own words": {"bridge"}, "a form of a server": {"orders", "8080"}}))
	require.NotContains(t, report, "wrong")
	require.Contains(t, report, "Client: nice 1.2, ACP 1. Forms: no.")
	require.Contains(t, report, "| one pick | permission | ok | SQLite |")
	require.Contains(t, report, "| several picks | permission | ok | Auth, Logs |")
	require.Contains(t, report, "| own words | permission, then message | ok | bridge |")
	require.Contains(t, report, `| three questions | permission | ok | PostgreSQL \| Auth \| MIT |`)
	require.Contains(t, report, "| a permission | permission | ok | reject |")
	require.Contains(t, report, "| dismiss | permission | ok | dismissed |")
	require.Contains(t, report, "On the wire everything was as it should be.")
	require.Contains(t, report, "People will be asked by **permission** (its capabilities).")
}

// forms fills in forms.
func forms(c *client, method string, p gjson.Result) (string, error) {
	step, _ := c.at()
	if method != acp.ClientMethodElicitationCreate {
		return selected("reject")
	}
	return map[string]string{
		"one pick":           `{"action":"accept","content":{"question_0":"SQLite"}}`,
		"several picks":      `{"action":"accept","content":{"question_0":["Auth","Logs"]}}`,
		"own words":          `{"action":"accept","content":{"question_0_custom":"bridge"}}`,
		"three questions":    `{"action":"accept","content":{"question_0":"PostgreSQL","question_1":["Auth"],"question_2":"MIT"}}`,
		"a form of a server": `{"action":"accept","content":{"name":"orders","port":8080}}`,
		"dismiss":            `{"action":"cancel"}`,
	}[step], nil
}

const withForms = `{"protocolVersion":1,"clientCapabilities":{"elicitation":{"form":{}}}}`

func TestForms(t *testing.T) {
	report := run(t, withForms, forms, texts(nil))
	require.NotContains(t, report, "wrong")
	require.Contains(t, report, "a client that does not say its name")
	require.Contains(t, report, "| own words | form | ok | bridge |")
	require.Contains(t, report, "| a form of a server | form | ok |")
	require.Contains(t, report, "People will be asked by **form** (its capabilities).")
}

// What is wrong on the wire is named.
func TestBadForms(t *testing.T) {
	bad := func(at, reply string) func(*client, string, gjson.Result) (string, error) {
		return func(c *client, method string, p gjson.Result) (string, error) {
			if method != acp.ClientMethodElicitationCreate {
				return buttons(c, method, p)
			}
			if step, _ := c.at(); step == at {
				return reply, nil
			}
			return forms(c, method, p)
		}
	}
	report := run(t, withForms, bad("one pick", `{"action":"yes"}`), texts(nil))
	require.Contains(t, report, `one pick: elicitation/create: expected the action "accept", "decline" or "cancel", got {"action":"yes"}`)
	report = run(t, withForms, bad("a form of a server", `{"action":"accept","content":{"name":"orders","port":"8080","more":1}}`), texts(nil))
	require.Contains(t, report, `a form of a server: elicitation/create: content has "more", which the schema has not`)
	require.Contains(t, report, `content.port must be of type integer, got "8080"`)
}

// A client that answers by itself, and one with ids of its own.
func TestWrongAnswers(t *testing.T) {
	first := func(_ *client, _ string, p gjson.Result) (string, error) {
		return selected(p.Get("options.0.optionId").Str)
	}
	report := run(t, `{"protocolVersion":1}`, first, texts(nil))
	require.Contains(t, report, "| one pick | permission | **wrong** | PostgreSQL |")
	require.Contains(t, report, "| a permission | permission | **wrong** | allow |")
	require.Contains(t, report, "start acp-bridge with `--ask message`")

	own := func(*client, string, gjson.Result) (string, error) { return selected("1") }
	report = run(t, `{"protocolVersion":1}`, own, texts(map[string][]string{
		"one pick": {"2"}, "several picks": {"1,2"}, "own words": {"bridge"}, "three questions": {"1", "1", "1"},
		"a form of a server": {"orders", "8080"}, "dismiss": {"cancel"}}))
	require.Contains(t, report, `one pick: session/request_permission: optionId "1" was not offered (["PostgreSQL" "SQLite" "MongoDB" "__other__"] were)`)
	require.Contains(t, report, "| one pick | permission, then message | ok | SQLite |")
	require.Contains(t, report, "| dismiss | message | ok | dismissed |")
	require.Contains(t, report, "People will be asked by **message**")
}

// A step that was dismissed by mistake is noted, and the check goes on.
func TestGoesOn(t *testing.T) {
	report := run(t, `{"protocolVersion":1,"clientInfo":{"name":"DeepChat","version":"1"}}`, buttons, texts(map[string][]string{
		"one pick": {"cancel", "go on"}, "several picks": {"1,2"}, "own words": {"bridge"}, "three questions": {"1", "1", "1"},
		"a form of a server": {"orders", "8080"}, "dismiss": {"cancel"}}))
	require.Contains(t, report, "| one pick | message | **wrong** | dismissed |")
	require.Contains(t, report, "| several picks | message | ok | Auth, Logs |")
	require.Contains(t, report, "(the table of clients: shows Allow and Deny alone; ")
}
