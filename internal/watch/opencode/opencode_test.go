package opencode_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/watch"
	"github.com/acp-bridge/acp-bridge/internal/watch/opencode"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

func TestMain(m *testing.M) {
	leaktest.Parallel(8)
	leaktest.Main(m)
}

// plugin plays OpenCode's plugin, with lines as the real one wrote them (1.18.33).
type plugin struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	ended chan error
	last  int // request
	*watchtest.Site
}

// startPlugin says hello for an agent.
func startPlugin(t *testing.T, agent string) *plugin {
	t.Helper()
	s := watchtest.New(t, web.CanAsk)
	in, toUs := io.Pipe()
	fromUs, out := io.Pipe()
	p := &plugin{t, toUs, bufio.NewScanner(fromUs), make(chan error, 1), 0, s}
	w := watch.Start(s.Options())
	go func() {
		err := opencode.Run(context.Background(), in, out, w, agent)
		w.Close()
		out.Close()
		p.ended <- err
	}()
	t.Cleanup(p.end)
	p.say(`{"hello":{"directory":"/src/app"}}`)
	return p
}

func newPlugin(t *testing.T) *plugin {
	t.Helper()
	p := startPlugin(t, "OpenCode")
	for range 2 { // what was asked before
		p.expect("GET", "", "")
		p.reply(200, "[]")
	}
	p.event("session.created", `{"sessionID":"ses_1main","info":{"id":"ses_1main","title":"Set up a service","directory":"/src/app"}}`)
	return p
}

// end is the end of OpenCode.
func (p *plugin) end() {
	if p.ended == nil {
		return
	}
	p.in.Close()
	for p.lines.Scan() {
	}
	require.NoError(p.t, <-p.ended)
	p.ended = nil
}

func (p *plugin) say(line string) {
	acptest.Must(io.WriteString(p.in, line+"\n"))
}

func (p *plugin) event(kind, properties string) {
	p.say(fmt.Sprintf(`{"event":{"type":%q,"properties":%s}}`, kind, properties))
}

// asks is an event that is asked at the hub then.
func (p *plugin) asks(kind, properties string) *hub.Record {
	p.t.Helper()
	p.event(kind, properties)
	return p.Next()
}

// request is what the plugin is to do.
type request struct {
	Request      int
	Method, Path string
	Body         json.RawMessage
}

func (p *plugin) expect(method, path, body string) {
	p.t.Helper()
	require.True(p.t, p.lines.Scan())
	var r request
	require.NoError(p.t, json.Unmarshal(p.lines.Bytes(), &r))
	require.Equal(p.t, method, r.Method)
	if path != "" {
		require.Equal(p.t, path, r.Path)
	}
	if body != "" {
		require.JSONEq(p.t, body, string(r.Body))
	}
	p.last = r.Request
}

// reply is said three times, which is once.
func (p *plugin) reply(status int, data string) {
	for range 3 {
		p.say(fmt.Sprintf(`{"reply":%d,"status":%d,"data":%s}`, p.last, status, data))
	}
}

const (
	askedQuestion = `{"id":"que_1","sessionID":"ses_1main","questions":[{"question":"Which database?","header":"Database","options":[{"label":"PostgreSQL","description":"big"},{"label":"SQLite","description":"small"}]},{"question":"Which features?","header":"Features","options":[{"label":"Auth","description":"a"},{"label":"Logs","description":"b"}],"multiple":true}],"tool":{"messageID":"msg_1","callID":"call_1"}}`
	askedBash     = `{"id":"per_1","sessionID":"ses_1main","permission":"bash","patterns":["echo hi > x.txt"],"metadata":{"command":"echo hi > x.txt"},"always":["echo *"],"tool":{"messageID":"msg_1","callID":"call_2"}}`
)

func TestAQuestionIsAnsweredAtTheHub(t *testing.T) {
	t.Parallel()
	p := newPlugin(t)
	r := p.asks("question.asked", askedQuestion)
	require.Equal(t, "ses_1main", r.Conversation)
	require.Equal(t, "OpenCode", r.Agent)
	require.Equal(t, "/src/app", r.Dir)
	own := watchtest.Picks("Auth")
	own.Text = "and search"
	p.Answer(r, watchtest.Picks("SQLite"), own)
	p.expect("POST", "/question/que_1/reply", `{"answers":[["SQLite"],["Auth","and search"]]}`)
	p.event("question.replied", `{"sessionID":"ses_1main","requestID":"que_1","answers":[["SQLite"],["Auth","and search"]]}`)
	p.reply(200, "true")
	p.Receipt(r, "consumed")
}

// The terminal was first: the card says who answered, and what.
func TestAQuestionIsAnsweredInTheTerminal(t *testing.T) {
	t.Parallel()
	p := newPlugin(t)
	r := p.asks("question.asked", askedQuestion)
	p.event("question.replied", `{"sessionID":"ses_1main","requestID":"que_1","answers":[["SQLite"],["Auth","Logs"]]}`)
	end := p.Settled(r).End
	require.Equal(t, "answered", end.Outcome)
	require.Contains(t, end.By, "the terminal")
	require.Equal(t, []string{"Auth", "Logs"}, end.Answers[1].Selected)
}

// At the same moment: OpenCode refuses what comes second, and the card says so.
func TestAnswersAtTheSameMoment(t *testing.T) {
	t.Parallel()
	p := newPlugin(t)
	r := p.asks("question.asked", askedQuestion)
	p.Answer(r, watchtest.Picks("SQLite"), watchtest.Picks("Auth"))
	p.expect("POST", "/question/que_1/reply", "")
	p.event("question.replied", `{"sessionID":"ses_1main","requestID":"que_1","answers":[["PostgreSQL"],[]]}`)
	p.reply(404, `{"_tag":"QuestionNotFoundError"}`)
	require.Equal(t, "it was answered in the terminal before", p.Receipt(r, "undeliverable").End.Undelivered)
}

// The end of a turn is told: not a sub-agent's, not that of a turn that was stopped, and a
// failure once.
func TestTurnsAreTold(t *testing.T) {
	t.Parallel()
	p := newPlugin(t)
	turn := p.Turns()
	p.event("session.created", `{"info":{"id":"ses_2sub","parentID":"ses_1main"}}`)
	p.event("session.idle", `{"sessionID":"ses_2sub"}`)
	p.event("session.idle", `{"sessionID":"ses_unknown"}`)
	p.event("session.error", `{"sessionID":"ses_1main","error":{"name":"MessageAbortedError","data":{"message":"stopped"}}}`)
	p.event("session.idle", `{"sessionID":"ses_1main"}`)
	p.event("session.error", `{"sessionID":"ses_1main","error":{"name":"APIError","data":{"message":"no credit"}}}`)
	p.event("session.idle", `{"sessionID":"ses_1main"}`)
	told := turn()
	require.Equal(t, []string{"failed", "no credit", "OpenCode", "/src/app"}, []string{told.Get("event").Str, told.Get("text").Str, told.Get("agent").Str, told.Get("cwd").Str})
	p.event("chat.message", `{"sessionID":"ses_1main","text":"Set it up"}`)
	p.event("session.text.ended", `{"sessionID":"ses_1main","text":"First this."}`)
	p.event("session.text.ended", `{"sessionID":"ses_2sub","text":"I look."}`)
	r := p.asks("question.asked", askedQuestion)
	require.Equal(t, []string{"Set it up", "First this."}, []string{r.About.Prompt, r.About.Said})
	p.event("session.idle", `{"sessionID":"ses_1main"}`)
	told = turn()
	require.Equal(t, []string{"done", "ses_1main", "First this."}, []string{told.Get("event").Str, told.Get("conversation").Str, told.Get("text").Str})
	require.Empty(t, p.asks("permission.asked", askedBash).About.Prompt, "it was another turn's")
}

func TestWithdrawn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, event, properties, outcome string }{
		{"dismissed", "question.rejected", `{"sessionID":"ses_1main","requestID":"que_1"}`, "cancelled"},
		{"the turn was aborted", "session.idle", `{"sessionID":"ses_1main"}`, "failed"},
		{"the session was deleted", "session.deleted", `{"info":{"id":"ses_1main"}}`, "failed"},
		{"OpenCode has ended", "", "", "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlugin(t)
			r := p.asks("question.asked", askedQuestion)
			p.event("session.idle", `{"sessionID":"ses_another"}`)
			p.event("question.replied", `{"sessionID":"ses_1main","requestID":"que_another","answers":[["SQLite"]]}`)
			if c.event == "" {
				p.end()
			} else {
				p.event(c.event, c.properties)
			}
			require.Equal(t, c.outcome, p.Settled(r).End.Outcome)
		})
	}
}

func TestDismissedAtTheHub(t *testing.T) {
	t.Parallel()
	p := newPlugin(t)
	r := p.asks("question.asked", askedQuestion)
	p.Dismiss(r)
	p.expect("POST", "/question/que_1/reject", "")
	p.reply(200, "true")
	p.Receipt(r, "consumed")
}

func TestPermission(t *testing.T) {
	t.Parallel()
	const path = "/permission/per_1/reply"
	for _, c := range []struct {
		pick, note, body string
	}{
		{"Allow once", "", `{"reply":"once"}`},
		{"Always allow echo *", "", `{"reply":"always"}`},
		{"Reject", "", `{"reply":"reject"}`},
		{"Reject", "use printf", `{"reply":"reject","message":"use printf"}`},
		{"", "", `{"reply":"reject","message":"The user dismissed the permission request"}`},
	} {
		t.Run(c.pick+c.note, func(t *testing.T) {
			p := newPlugin(t)
			r := p.asks("permission.asked", askedBash)
			require.Equal(t, "permission", r.Kind)
			require.Contains(t, r.Detail, `"command": "echo hi > x.txt"`)
			require.Equal(t, []string{"allow_once", "allow_always", "reject_once"}, r.About.Picks)
			p.Decide(r, c.pick, c.note)
			p.expect("POST", path, c.body)
			p.reply(200, "true")
			p.Receipt(r, "consumed")
		})
	}
	t.Run("in the terminal", func(t *testing.T) {
		p := newPlugin(t)
		r := p.asks("permission.asked", askedBash)
		p.event("permission.replied", `{"sessionID":"ses_1main","requestID":"per_1","reply":"always"}`)
		require.Equal(t, []string{"Always allow echo *"}, p.Settled(r).End.Answers[0].Selected)
	})
}

// What a sub-agent asks is in the conversation of whoever started it, and ends with it.
func TestSubAgents(t *testing.T) {
	t.Parallel()
	p := newPlugin(t)
	asked := `{"id":"per_9","sessionID":"ses_2sub","permission":"edit","patterns":["a.txt"],"metadata":{"filepath":"/src/app/a.txt","diff":"+one"},"always":["*"]}`
	p.event("permission.asked", asked)
	p.expect("GET", "/session/ses_2sub", "") // it is older than we are
	p.reply(200, `{"id":"ses_2sub","parentID":"ses_1main","title":"Look around (@general subagent)","directory":"/src/app"}`)
	r := p.Next()
	require.Equal(t, "ses_1main", r.Conversation)
	require.Equal(t, "Look around (@general subagent)", r.Call.SubAgent.Task)
	require.Contains(t, r.Detail, `"diff": "+one"`)
	require.Contains(t, r.Detail, `"patterns"`)
	p.event("session.idle", `{"sessionID":"ses_2sub"}`)
	require.Contains(t, p.Settled(r).End.Reason, "the turn has ended")
}

// What was asked before we were there is found, and nothing that cannot be read is asked.
func TestAskedBefore(t *testing.T) {
	t.Parallel()
	p := startPlugin(t, "Kilo")
	for range 2 {
		require.True(t, p.lines.Scan())
		var r request
		require.NoError(t, json.Unmarshal(p.lines.Bytes(), &r))
		p.last = r.Request
		if r.Path == "/permission" {
			p.reply(200, "["+askedBash+`,{"id":"../x","sessionID":"ses_1main"},7]`)
			p.expect("GET", "/session/ses_1main", "")
			p.reply(500, "null")
			continue
		}
		p.reply(200, `[{"id":"que_2","sessionID":"ses_1main","questions":"?"}]`)
	}
	r := p.Next()
	require.Contains(t, r.Call.ID, "per_1")
	require.Equal(t, "Kilo", r.Agent)
	p.say("garbage")
	p.say(`{"event":7}`)
	p.say(`{"reply":999,"status":200}`)
	p.event("permission.replied", `{"requestID":"per_1","reply":"once"}`)
	p.Settled(r)
}

// OpenCode takes no words with a permission: whoever gave some is told, and nothing is allowed.
func TestWordsWithAPermission(t *testing.T) {
	t.Parallel()
	p := newPlugin(t)
	r := p.asks("permission.asked", askedBash)
	p.Answer(r, watchtest.Noted("Allow once", "quickly"))
	require.Contains(t, p.Receipt(r, "undeliverable").End.Undelivered, "with a condition")
}

// An OpenCode that does not say of which conversation something is keeps nothing else from
// being asked, or from its end.
func TestOpenCodeSaysNothing(t *testing.T) {
	t.Parallel()
	p := newPlugin(t)
	p.event("question.asked", strings.Replace(askedQuestion, "ses_1main", "ses_3new", 1))
	p.expect("GET", "/session/ses_3new", "")
	p.event("permission.asked", askedBash)
	first, second := p.Next(), p.Next()
	require.ElementsMatch(t, []string{"ses_3new", "ses_1main"}, []string{first.Conversation, second.Conversation})
	p.event("permission.replied", `{"requestID":"per_1","reply":"once"}`)
	p.event("question.rejected", `{"requestID":"que_1"}`)
	p.Settled(first)
	p.Settled(second)
}

// Whether an OpenCode that ends has taken an answer that it was given is not known.
func TestOpenCodeEndsWithAnAnswer(t *testing.T) {
	t.Parallel()
	p := newPlugin(t)
	r := p.asks("permission.asked", askedBash)
	p.Answer(r, watchtest.Picks("Allow once"))
	p.expect("POST", "/permission/per_1/reply", `{"reply":"once"}`)
	p.end()
	require.Contains(t, p.Receipt(r, "unknown").End.Unsure, "did not say whether it took the answer")
}

// No request of OpenCode's API is made with a name that could lead elsewhere.
func TestNamesThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	p := newPlugin(t)
	for _, id := range []string{"../que_1", "que_1/reject", "", "que 1"} {
		p.event("question.asked", strings.Replace(askedQuestion, `"que_1"`, fmt.Sprintf("%q", id), 1))
	}
	p.event("question.asked", strings.Replace(askedQuestion, "ses_1main", "../ses_1main", 1))
	p.event("permission.asked", askedBash)
	require.Contains(t, p.Next().Call.ID, "per_1")
	open, _ := p.Board.Waiting(10)
	require.Len(t, open, 1)
}
