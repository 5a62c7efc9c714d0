package seen

import (
	"encoding/json"
	"sync/atomic"
)

// Method is the request that is sent behind a showing. ACP reserves names that
// begin so for extensions, and whoever does not know one says so.
const Method = "_acp-bridge/ping"

// Params are those of Method. The session is nobody's: one editor answers no
// request but those for other sessions than its own.
var Params = json.RawMessage(`{"sessionId":"_"}`)

// Peer is what is known of a peer that is asked behind showings. The zero value
// is one of which nothing is known. Its methods may be called from any goroutine.
type Peer struct {
	mute, answers atomic.Bool
	// Once says that it may tell its user of what it does not know: when it has said so once,
	// it is not asked again.
	Once atomic.Bool
	// NoCancel says that it is not told which of its requests need no answer.
	NoCancel atomic.Bool
}

// Mute says whether the peer does not answer, or may tell its user of what it does not
// know: then it is not asked again.
func (p *Peer) Mute(mute bool) { p.mute.Store(mute) }

// Ask sends [Method] by send, which is told what to call when its answer comes,
// whatever that is, before anything is read that comes behind it; refused says that the
// peer does not know it. A mute peer is not asked.
func (p *Peer) Ask(l Look, send func(heard func(refused bool))) {
	if p.mute.Load() || l.s == nil {
		return
	}
	l.asked(p)
	send(func(refused bool) {
		p.answers.Store(true)
		p.mute.Store(refused && p.Once.Load())
		l.Found(Answered)
	})
}
