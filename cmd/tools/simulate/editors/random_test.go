package editors_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// randomClient does something else with each request. What is nobody's doing
// must come to nothing; what its user does must arrive.
type randomClient struct {
	*client
	plan []string
	// answered, dismissed and declined are what the user did.
	answered            map[string]bool
	dismissed, declined bool
	history             []string
}

var randomActs = []string{
	"answer", "answer", "answer", "answer in one go", "dismiss", "decline", "stop", "go on typing",
	"no id", "own id", "refuse", "null", "first at once", "last at once", "cancelled at once", "empty",
}

// Whatever mixture of replies a client sends over the whole bridge: the agent
// gets what the user said, or a refusal that is the user's, and the session
// goes on.
func TestRandomClients(t *testing.T) {
	t.Parallel()
	ends := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		r := row{
			info: rapid.SampledFrom([]string{"", "zed", "agent-shell", "vscode-acp-client", "DeepChat"}).Draw(rt, "client"),
			caps: rapid.SampledFrom([]string{`{}`, `{"elicitation":{"form":{}}}`, `{"_meta":{"askUserQuestion":true}}`}).Draw(rt, "capabilities"),
		}
		r.opts.Guard = rapid.Bool().Draw(rt, "guard")
		r.opts.First = adapter.Rung(rapid.IntRange(0, 3).Draw(rt, "first"))
		sc := rapid.SampledFrom(scenarios[:4]).Draw(rt, "scenario")
		plan := rapid.SliceOfN(rapid.SampledFrom(randomActs), 0, 6).Draw(rt, "acts")
		cli := ct.New(t, ct.Script{Turns: []ct.Turn{
			{Match: "begin", Steps: steps{ct.Message(ct.Question("toolu_1", sc.questions...)), ct.Text("Noted.")}},
			{Match: "more", Steps: steps{ct.Text("Next.")}},
		}})
		c := &randomClient{client: r.connect(t, cli, sc), plan: plan, answered: map[string]bool{}}
		defer c.e.Leave()
		c.play()
		c.e.Prompt(c.session, "more").Ends(acp.StopReasonEndTurn)
		end, problem := c.judge(cli, sc)
		if problem != "" {
			rt.Fatalf("%s\nat the agent: %s\nhistory:\n%s", problem, cli.Reply("toolu_1"), strings.Join(c.history, "\n"))
		}
		ends[end]++
	})
	t.Log(ends)
}

// judge says how the call ended, and what is wrong with it.
func (c *randomClient) judge(cli *ct.CLI, sc scenario) (end, problem string) {
	if !strings.HasSuffix(c.e.Said(c.session), "Next.") || len(c.e.Requests) > 0 {
		problem = "the session does not go on as if nothing had been"
	}
	reply := gjson.ParseBytes(cli.Reply("toolu_1"))
	switch {
	case reply.Get("behavior").Str == "allow":
		for _, q := range sc.questions {
			if !c.answered[q["header"].(string)] {
				return "answered", fmt.Sprintf("the user did not answer %s", q["question"])
			}
		}
		if got := reply.Get("updatedInput.answers").Raw; string(jsonOf(c.t, gjson.Parse(got).Value())) != string(jsonOf(c.t, gjson.Parse(sc.want).Value())) {
			return "answered", "the user said " + sc.want
		}
		return "answered", problem
	case !reply.Exists() || reply.Get("interrupt").Bool():
		if !c.dismissed {
			return "cancelled", "nobody cancelled"
		}
		return "cancelled", problem
	case !c.declined:
		return "declined", "nobody declined, and there is always the conversation"
	}
	return "declined", problem
}

func (c *randomClient) next(what string) string {
	act := "answer"
	if len(c.plan) > 0 {
		act, c.plan = c.plan[0], c.plan[1:]
	}
	c.history = append(c.history, what+": "+act)
	return act
}

// play lets client and user act until the agent's turn is over.
func (c *randomClient) play() {
	running := c.e.Prompt(c.session, "begin")
	for {
		select {
		case r := <-c.e.Requests:
			if next := c.request(r); next != nil {
				<-running.Done
				running = next
			}
		case <-running.Done:
			require.NoError(c.t, running.Err)
			if !running.Resp.Get("_meta.acp-bridge.waitingFor").Exists() {
				return
			}
			if running = c.words(); running == nil {
				return
			}
		case <-time.After(acptest.Patience):
			require.Fail(c.t, "nothing happens", strings.Join(c.history, "\n"))
		}
	}
}

// words answers a question in the conversation.
func (c *randomClient) words() *acptest.Turn {
	shown := c.e.Said(c.session)[c.read:]
	c.read += len(shown)
	switch c.next("words") {
	case "dismiss":
		c.dismissed = true
		return c.e.Prompt(c.session, "Cancel")
	case "stop":
		c.dismissed = true
		c.e.Cancel(c.session)
		return nil
	case "empty", "null":
		return c.e.Prompt(c.session, " ")
	}
	c.gives(shown)
	return c.e.Prompt(c.session, c.user.writes(shown))
}

// gives notes that the user answers the question that is shown.
func (c *randomClient) gives(shown string) {
	for _, q := range []map[string]any{which, many, licence, port} {
		if strings.Contains(shown, q["question"].(string)) || shown == "" {
			c.answered[q["header"].(string)] = true
		}
	}
}

// request answers a form or a permission request. It returns the prompt that
// the user sends instead, if they do.
func (c *randomClient) request(r *acptest.Request) *acptest.Turn {
	isForm := r.Method == acp.ClientMethodElicitationCreate
	guard := c.row.opts.Guard || slices.Contains([]string{"agent-shell", "vscode-acp-client"}, c.row.info)
	guard = guard && r.Get("options.0.optionId").Str != "__done__"
	act := c.next(r.Method)
	switch act {
	case "stop":
		c.dismissed = true
		c.e.Cancel(c.session)
		return nil
	case "go on typing":
		c.dismissed = true
		return c.e.Prompt(c.session, "more")
	case "refuse":
		refuses(c.client, r)
		return nil
	case "null", "empty":
		r.Answer <- map[string]any{"null": nil, "empty": object{}}[act]
		return nil
	case "dismiss", "decline":
		c.past.Add(int64(byHand))
		if isForm {
			c.dismissed, c.declined = c.dismissed || act == "dismiss", act == "decline"
			r.Answer <- object{"action": map[string]string{"dismiss": "cancel", "decline": "decline"}[act]}
		} else {
			c.dismissed = true
			r.Cancels()
		}
		return nil
	case "no id", "own id":
		if isForm {
			r.Answer <- object{"action": "accept", "content": object{"question_0": "Oracle"}}
		} else if act == "no id" {
			r.Reply(object{"outcome": "selected"})
		} else {
			ownIDs(c.client, r)
		}
		return nil
	case "first at once", "last at once", "cancelled at once":
		if guard && !isForm {
			map[string]reply{"first at once": always(0, 5*time.Millisecond), "last at once": always(-1, time.Millisecond), "cancelled at once": dismissesItself(20 * time.Millisecond)}[act](c.client, r)
			return nil
		}
	}
	c.past.Add(int64(byHand))
	switch {
	case isForm:
		c.gives("")
		form(c.client, r)
	case act == "answer in one go" || r.Get("_meta.claudeCode.multiSelect").Bool() && strings.Contains(c.row.caps, "askUserQuestion"):
		c.gives(titleAndContent(r))
		taught(c.client, r)
	default:
		c.gives(titleAndContent(r))
		buttons(inOurs)(c.client, r)
	}
	return nil
}
