package hands_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// hooked is a site with a Claude Code whose hooks talk to it.
type hooked struct {
	*site
	token string
}

func newHooked(t testing.TB) *hooked {
	s := newSite(t, hub.Options{})
	token, err := s.access.Add("claude", web.CanHook)
	require.NoError(t, err)
	return &hooked{s, token}
}

// hold has a hook ask for a plan. The channel gets what the hook is told.
func (s *hooked) hold(input string) (*hub.Record, chan string) {
	s.t.Helper()
	told := make(chan string, 1)
	body := fmt.Sprintf(`{"hook_event_name":"PermissionRequest","session_id":"0b5c7a3e-5a0f-4b1e-9d51-0c6a3a2f9f10","cwd":"/p","transcript_path":"/etc/passwd","tool_name":"ExitPlanMode","tool_input":%s}`, input)
	go func() { told <- s.expect(200, "POST", "/hooks/claude", body, "Authorization", "Bearer "+s.token) }()
	var list []*hub.Record
	require.Eventually(s.t, func() bool { list, _ = s.board.Waiting(1); return len(list) == 1 }, patience, time.Millisecond)
	return list[0], told
}

// A plan without text has a card that says so, and its buttons.
func TestHookPlanWithoutText(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newHooked(t)
	p := s.phone(b)
	_, told := s.hold(`{}`)
	p.until(`document.querySelector(".card h3")?.innerText === "Claude Code (claude) wants to leave plan mode"`)
	p.until(seesAll(".card .thing"))
	require.Equal(t, `"The plan is empty: the agent has written nothing down."`, p.eval(`document.querySelector(".card .thing").innerText.trim()`))
	require.Equal(t, `["Yes, and ask before edits","No, keep planning","Yes, and accept all edits"]`, p.eval(`[...document.querySelectorAll(".acts button span")].map((b) => b.innerText)`))
	p.shot("empty-plan")
	p.until(`!document.querySelector(".acts .allow").disabled`)
	p.click(".acts .allow")
	require.JSONEq(t, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":{}}}}`, <-told)
}
