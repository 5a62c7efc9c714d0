// Command acp-bridge-hub is the place where the questions of many agents wait
// for a person. See acp-bridge-hub --help.
//
// It listens on this machine only, unless --listen says otherwise, and prints a
// link that logs a browser in. Questions and answers are on disk before anybody is
// told about them.
//
// # Many machines
//
// Several hubs can share one NATS cluster with JetStream. None of them is special:
// an agent may be connected to one, the page to another, and the answer may arrive
// at a third.
//
//	acp-bridge-hub --nats nats://a:4222,nats://b:4222,nats://c:4222 --nats-creds hub.creds --replicas 3 \
//	  --token-file owner.token --listen 0.0.0.0:7717 --tls-cert cert.pem --tls-key key.pem
//	acp-bridge --hub https://hub1:7717,https://hub2:7717 --hub-token-file bot.token
//
// Questions are in the bucket questions, devices and logins in questions-access
// (--bucket changes the name). They are created on first use, or taken as they are.
// The owner's token is a file at each hub: give all hubs the same one, or the
// second does not start. When a hub is gone, an agent with several addresses
// continues at the next one, with the same question.
//
// When the server that leads a bucket dies, nothing is settled until the cluster
// has a new leader: 3.6 to 9.0 s in 102 kills, mostly 5.3 to 6.0 s (2 cores, 16
// November 2026). That is NATS's own election, which has no setting; a split vote
// takes one more round.
//
// # Groups
//
// A question belongs to a group: --group NAME when it is asked, or the first group
// of the token. This binds a device to groups; it neither sees, counts nor answers
// what others ask:
//
//	acp-bridge-hub device add NAME --can ask --group web
//
// Without a group it is the owner's. Admins are in all groups. Where two groups
// have a conversation with the same name, an admin adds ?group=NAME.
//
// # Watching it
//
// acp-bridge-hub status says how it is, and exits 1 if it is down or not ready.
// GET /readyz is for load balancers, GET /metrics for Prometheus with the token of
// a device that can measure. acp-bridge-hub help operate has the settings of
// proxies, services, containers, several machines and notifications.
package main
