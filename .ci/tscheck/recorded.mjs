// Holds what the tests made acp-bridge say against the closed schemas: one message of
// each shape, as an agent to an editor and as a client to an agent. A client that knows
// no drafts gets the stable protocol.
//
//	node recorded.mjs MODULES FOLDER
//
// MODULES is a folder with node_modules, FOLDER what ACP_BRIDGE_WIRE named: files of
// lines {"message", "method" of what it answers, "from" if it relays that, "drafts"}.
// What is made of a message that is wrong itself, and what answers a request that was
// not recorded, or whose id or method the protocol does not have, is not judged. Exits 1 if one is wrong, or if there
// is none.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { load, Judge, shapeOf } from "./closed.mjs";

const [modules, folder] = process.argv.slice(2);
const judges = { false: new Judge(await load(modules, false), true), true: new Judge(await load(modules, true), true) };

// known takes out what is there on purpose: Qwen reads answers beside the outcome.
function known(method, { result }) {
  if (method === "session/request_permission" && result?.outcome?.optionId === "proceed_once") delete result.answers;
}

let messages = 0, extensions = 0;
const wrong = new Map(), kinds = new Set();
for (const file of readdirSync(folder).filter((f) => f.endsWith(".jsonl"))) {
  for (const line of readFileSync(join(folder, file), "utf8").split("\n")) {
    if (line === "") continue;
    const { message, method, from, drafts } = JSON.parse(line);
    const of = message.method ?? method ?? "", judge = judges[drafts || judges.false.names.result.get(of) === undefined && method !== undefined];
    const unknown = method === undefined ? message.method === undefined : !judges.true.names.result.has(method);
    if (of.startsWith("_") || unknown || method !== undefined && !["string", "number"].includes(typeof message.id) || typeof message.id === "number" && !Number.isInteger(message.id)) {
      extensions++;
      continue;
    }
    if (from && judge.check(from, method).length > 0) continue;
    known(method, message);
    messages++;
    kinds.add([shapeOf(message), of, message.params?.update?.sessionUpdate].filter(Boolean).join(" "));
    for (const p of judge.check(message, method)) {
      const what = `${p.judge} ${of} ${p.path}: ${p.text}`;
      if (!wrong.has(what)) wrong.set(what, `${file}: ${JSON.stringify(message).slice(0, 600)}`);
    }
  }
}
console.log(`${messages} shapes of ${kinds.size} kinds, ${extensions} of methods that are not the protocol's; ${wrong.size} are wrong`);
for (const [what, where] of wrong) console.log(`WRONG ${what}\n\t${where}`);
process.exit(messages === 0 || wrong.size > 0 ? 1 : 0);
