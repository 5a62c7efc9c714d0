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
// they can, all on a virtual machine with two cores (Xeon 2.5 GHz, 2026-11-16), of
// which the host took 9 to 13 %. For comparison, a program that stores and checks
// nothing, on the same wire. go run ./cmd/acp-bridge-bench fleet measures it:
//
//	| agents that wait | 1,000 | 10,000 | nothing kept, 10,000 |
//	|---|---|---|---|
//	| answered a second, for 1 and 5 minutes | 675 | 709 | 1,998 |
//	| ask → seen, p50 and p99 | 106, 279 ms | 103, 257 ms | 0.4, 34 ms |
//	| answer → delivered, p50 and p99 | 80, 245 ms | 77, 221 ms | 0.3, 29 ms |
//	| CPU for a question, from ask to consumed | 1.70 ms | 1.65 ms | 0.47 ms |
//	| CPU a second while all wait | 2.8 ms | 6.1 ms | 0 |
//	| memory of a waiting agent | 57 kB | 45 kB | 23 kB |
//
// So nothing grows faster than the number of agents. The aim was 2,000 a second. It
// is not reached on two cores that also run the crowd: the program that stores
// nothing needs one of them for it.
//
// Below that, with 1,000 agents of which 250 a second are answered (2026-11-17, the host
// took up to 8 %), twice each: since a receipt is one write, a stream is woken for its own
// group and rests for 15 ms before it rests for 50, a question is seen after 11 ms in place
// of 30 (p50; p99 18 and 88 in place of 55), for 2.4 ms of CPU in place of 3.1.
//
// Where the CPU went, by profile, in a run with 1,000 agents while the machine was
// busy with other things: 207 answered a second, 1.31 ms for a question, 0.31 ms
// where nothing is kept.
//
//	| part | share |
//	|---|---|
//	| events to 200 streams | 19 % |
//	| JetStream: the server and its disk | 19 % |
//	| garbage and allocation | 13 % |
//	| the board: find, match, write, apply | 10 % |
//	| HTTP | 10 % |
//	| JSON of requests, records and replies | 8 % |
//	| rights, routes, the rest of the handlers | 6 % |
//	| JetStream: the client | 5 % |
//	| pushes to browsers: all that waited was looked at with every change | 5 %, since then 1 % |
//	| the scheduler, and the rest | 5 % |
//
// What is settled stays in memory as long as --keep says. A minute after its outcome
// was used it is packed: of 100,000 of them the board has 0.65 kB each on its heap, in
// place of 2 kB, and JetStream has 0.3 kB beside that. A start reads all of them, at
// some 70 µs of CPU each.
//
// # A model for 1,000,000 waiting agents
//
// This is on paper: nobody has run it. Its inputs are the numbers above. With all
// agents on one bucket, this is what breaks, in this order:
//
//  1. Presence. Each hub tells the others every 6 s which askers it has. Together
//     that is 170,000 names a second, and each hub reads them all.
//  2. Questions. A core handles about 600 a second, and each hub follows them all.
//  3. Asking again. A link asks again every 25 s: 40,000 requests a second.
//  4. Memory. Connections are spread over the hubs, 45 GB in all, but each hub has
//     every record, including the settled ones that --keep keeps.
//  5. Starting. A hub first reads the whole bucket: up to a second for 10,000 open
//     questions, minutes for a million.
//  6. The bucket is one stream with one leader, and a question is three writes, or four
//     if its asker does not say at once what it made of the outcome.
//
// So an operator adds cells, not just hubs: two or three hubs with their own bucket
// (--bucket, and later their own NATS cluster) for some of the groups. A question
// belongs to a group, and nothing crosses from one cell to another. A cell of
// 10,000 agents has a hundredth of each number above; 100 cells make a million. It
// also takes a shorter --keep, an open-files limit above the number of agents per
// hub, and one proxy address for every 28,000 connections to a hub.
//
// Presence could go without names. A record would say at which hub its asker is, and a
// hub would say only that it is there: one message every 2 s from each. That costs one
// more write when an asker comes back at another hub; all askers of a hub that dies are
// gone at once; and older hubs could not read such a record. With cells nobody needs it.
package hub
