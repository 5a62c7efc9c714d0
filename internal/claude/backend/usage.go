package backend

import (
	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// usage tells the editor how full the context is and what the session has cost
// so far. last is the usage of the conversation's last message.
func (s *conversation) usage(m claude.Message, last gjson.Result) {
	cost := m.Get("total_cost_usd")
	s.spent = cost.Float()
	size := 0
	m.Get("modelUsage").ForEach(func(_, model gjson.Result) bool {
		size = max(size, int(model.Get("contextWindow").Int()))
		return true
	})
	if size == 0 || !last.Exists() {
		return
	}
	update := &acp.SessionUsageUpdate{Size: size, Used: contextTokens(last)}
	if cost.Exists() {
		update.Cost = &acp.Cost{Amount: s.spentBefore + s.spent, Currency: "USD"}
	}
	s.out.Update(acp.SessionUpdate{UsageUpdate: update})
}

// contextTokens is how much of the context a message and what came before it
// take.
func contextTokens(usage gjson.Result) int {
	n := int64(0)
	for _, key := range []string{"input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"} {
		n += usage.Get(key).Int()
	}
	return int(n)
}
