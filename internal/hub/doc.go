// Package hub keeps the questions of many processes until a person has answered
// them: a record each, in package
// [github.com/acp-bridge/acp-bridge/internal/hub/hubstore].
//
//	board, err := hub.Open(ctx, store, hub.Options{})
//	defer board.Close()
//	record, err := board.Ask(ctx, hub.Asking{Conversation: "s1", Call: call})
//	record, err = board.Answer(ctx, hub.Ref{Conversation: "s1"}, read, "phone")
//
// A record has one outcome, and one compare-and-set decides which. It is on disk
// before anybody is told.
//
// # Load
//
// One hub with its own store, 200 streams of /events over 20 groups, agents that
// each wait with one request, and 64 people who answer what they see as fast as
// they can, all on two cores (Xeon 2.5 GHz, 2026-11-17). For comparison, a program
// that stores and checks nothing, on the same wire. The benchmark's fleet measures it:
//
//	| agents that wait | 1,000 | 10,000 | nothing kept, 10,000 |
//	|---|---|---|---|
//	| answered a second | 1,240 | 1,782 | 1,996 |
//	| ask → seen, p50 and p99 | 52, 142 ms | 38, 106 ms | 0.2, 0.5 ms |
//	| answer → delivered, p50 and p99 | 47, 137 ms | 32, 99 ms | 0.3, 0.7 ms |
//	| CPU for a question, from ask to consumed | 1.21 ms | 0.84 ms | 0.28 ms |
//	| memory of an agent that has just asked | 56 kB | 40 kB | 22 kB |
//
// With three NATS servers in place of its own store, all on the same two cores, 556 are
// answered a second. When the leading server is killed, questions stand still for 4 to 8 s:
// that is the servers' election.
//
// Settled questions stay in memory and on disk for as long as Options.Keep says, up to
// 20,000 and 64 MiB for each device: the oldest make room. Each takes about 1 kB of memory
// and 36 µs of a start.
package hub
