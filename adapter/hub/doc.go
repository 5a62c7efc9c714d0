// Package hub keeps the questions of many processes until a person has answered
// them: a record each, in package
// [github.com/acp-bridge/acp-bridge/adapter/desk/jetstream].
//
//	board, err := hub.Open(ctx, store, hub.Options{})
//	defer board.Close()
//	record, err := board.Ask(ctx, hub.Asking{Conversation: "s1", Call: call})
//	record, err = board.Answer(ctx, hub.Ref{Conversation: "s1"}, read, "phone")
//
// A record has one outcome, and one compare-and-set decides which. It is on disk
// before anybody is told.
//
// # A model for 1,000,000 waiting agents
//
// It is on paper: nobody has run it. Its inputs were measured on 2026-11-16, on a
// virtual machine with two cores that had other work (load average 22), one hub
// with its own store, 200 streams of /events, agents that each wait with one
// request. A run with 10,000 agents did not end in its time there.
//
//	| agents that wait | 1,000 | 4,000 |
//	|---|---|---|
//	| memory of the hub | 78 MB | 128 MB: 17 kB for each further agent |
//	| CPU for an ask, told to 200 streams | 6.6 ms | 7.2 ms |
//	| CPU for an answer, at 100 a second | 6.9 ms | 10.9 ms |
//	| p99 ask → seen, one at a time | 65 ms | 138 ms |
//	| p99 answer → delivered, at 100 a second | 0.44 s | 6.7 s: no CPU was left |
//
// What breaks, in this order, if all agents are on one bucket:
//
//  1. Presence. Each hub tells the others every 2 s which askers it has. All hubs
//     together say 500,000 names a second, and each hub reads them all.
//  2. Streams. Each stream is told of each change: at 200 streams a core does
//     about 150 asks a second.
//  3. Asking again. A link asks again every 25 s: 40,000 requests a second.
//  4. Memory. Connections are spread over hubs, 17 GB in all, but each hub has
//     every record, the settled ones of --keep too.
//  5. A start. A hub reads the whole bucket first, 10,000 open questions in up to
//     a second: minutes for a million.
//  6. The bucket is one stream with one leader, and a question is four writes.
//
// So an operator adds cells, not only hubs: two or three hubs with a bucket of
// their own (--bucket, and later a NATS cluster of their own) for some groups
// each. Questions belong to a group, and nothing goes from one cell to another. A
// cell of 10,000 agents is a hundredth of each number above, which makes 100
// cells. Beside that: a shorter --keep, an open-files limit above the agents of a
// hub, and one address of the proxy for each 28,000 connections to a hub.
package hub
