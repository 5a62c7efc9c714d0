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
// they can, all on a virtual machine with two cores (Xeon 2.5 GHz, 2026-11-17), of
// which the host took nothing, for a minute each. For comparison, a program that stores
// and checks nothing, on the same wire. go run ./cmd/acp-bridge-bench fleet measures it:
//
//	| agents that wait | 1,000 | 10,000 | nothing kept, 10,000 |
//	|---|---|---|---|
//	| answered a second | 1,240 | 1,782 | 1,996 |
//	| ask → seen, p50 and p99 | 52, 142 ms | 38, 106 ms | 0.2, 0.5 ms |
//	| answer → delivered, p50 and p99 | 47, 137 ms | 32, 99 ms | 0.3, 0.7 ms |
//	| CPU for a question, from ask to consumed | 1.21 ms | 0.84 ms | 0.28 ms |
//	| CPU a second while all wait | 4.1 ms | 7.2 ms | 0 |
//	| memory of an agent that has just asked | 56 kB | 40 kB | 22 kB |
//
// Runs of 30 s just before had 1,412 and 1,718 a second. With 10,000 agents for five minutes
// it was 1,611 (nothing kept: 1,999), for 0.94 ms of CPU (nothing kept: 0.24); the hub had
// 2.5 GB then, with half a million settled questions. A day later, when settled questions had
// left memory and the machine was slower, it was 1,075 (1,999), for 1.36 ms (0.36), and the
// hub had 1.2 GB with a third of a million. An agent that has waited for some
// minutes takes less: 31 kB, measured with 3,000 that only wait, because Go gives back half
// of their stacks.
//
// So nothing grows faster than the number of agents. The aim was 2,000 a second. It
// is not reached on two cores that also run the crowd: the program that stores
// nothing needs one of them for it.
//
// At half of that, with 1,000 agents of which 900 a second are answered for 20 s, a question
// is seen after 11 ms (p99 21) and its answer is delivered after 0.6 ms (p99 12), for 1.07 ms
// of CPU.
//
// Streams that all watch everything (fleet -groups 1) cost what they are told: a question is
// four events to each. With 200 of them and 300 answered a second it is seen after 9 ms
// (p99 17), for 1.88 ms of CPU. On a machine with others on it (load 4 to 15), with 1,000
// and 60 a second it is seen after 28 ms (p99 53 to 69), for 7.5 ms; with 10,000, which is the
// most that a hub has, and 3 a second after 0.2 s (p99 0.5) and its answer is delivered after
// 2.4 ms (p99 15), for 120 ms. A stream takes 34 kB then, and the hub has 0.6 GB. 10,000 over
// 50 groups with 100 a second cost 5.3 ms.
//
// With three NATS servers in place of its own store (fleet -nats), all on the same two cores,
// and 1,000 agents, 556 are answered a second for 20 s: seen after 10 ms (p99 25), delivered
// after 115 ms (p99 341), for 1.41 ms of CPU at the hub. Since then who gets an outcome is
// written before the reply, see [Board.Take]: with 250 answered a second that moved delivery
// from 1.4 ms (p99 7.6) to 3.1 ms (p99 13.8), and the CPU from 1.85 to 2.08 ms. When the
// leading server is killed, the
// questions stand still for 4.4 to 8.3 s (median 5.8 of 11). That is the servers' election:
// until it is over they take no write from anybody, and the hub goes on 0 to 0.3 s later,
// once 1.4 s.
//
// Two hubs on three servers, with eight busy loops beside them on the same two cores and 128
// questions at a time for which nine answers each race: until 2026-11-17, 94 of 13,734 answers
// took over 8 s (11.8 at most) without a fault or an election, and nothing else over 1 s. A
// cluster refuses an answer that names the fence while another one that does is under way; each
// tried again by itself, and lost its place. Since then a hub has one batch of them under way:
// of 39,726 answers none took over 1.1 s (p99 0.84). With 250 questions a second, and no such
// loops, their p99 went from 271 to 69 ms; the longest of 56,255 requests took 150 ms.
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
// The last 1,000 to 2,000 questions whose outcome was used stay in memory, and all of the
// last ten seconds. Those before are on disk as long as --keep says, up to 1,000 in a value of
// a second bucket, and are found by the same requests. Of a million of them each takes 37
// bytes of memory; a start takes 0.19 to 0.25 s in place of 0.01, most of it to read where
// each question is (with others on both cores 0.3 s, where it was 0.8 before 2026-11-18); one
// is found in 2 to 6 ms, a page of the history in 3 to 5 ms, and words that none has are looked
// for in 4.2 to 5.3 s. All 100,000 conversations are listed in 4.6 s, and take 0.6 GB
// meanwhile: half of the time is to decode what stands for them.
// ACP_BRIDGE_MANY=1000000 go test ./internal/hub -run
// TestManySettledMeasured -v measures it. All of them in memory took 0.95 kB and 36 µs of a
// start each. Behind a question that is open for long up to 10,000 of them stay in the first
// bucket, too. Hubs of before do not find what is archived: those of one store are upgraded
// together.
//
// # A model for 1,000,000 waiting agents
//
// This is on paper: nobody has run it. Its inputs are the numbers above. With all
// agents on one bucket, this is what breaks, in this order:
//
//  1. Presence. Each hub tells the others every 6 s which askers it has. Together
//     that is 170,000 names a second, and each hub reads them all.
//  2. Questions. A core handles about 900 a second, and each hub follows them all.
//  3. Asking again. A link asks again every 25 s: 40,000 requests a second.
//  4. Memory. Connections are spread over the hubs, 45 GB in all, but each hub has
//     every open record, and knows where each settled one is that --keep keeps.
//  5. Starting. A hub first reads the whole bucket: up to a second for 10,000 open
//     questions, minutes for a million.
//  6. The bucket is one stream with one leader, and a question is four writes, or five
//     if its asker does not say at once what it made of the outcome. Where one hub has
//     the bucket to itself it is one less: who gets the outcome is not written first.
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
