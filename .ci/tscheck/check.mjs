// Talks to acp-bridge as an editor built on the official TypeScript SDK would,
// and holds every message that acp-bridge writes against the closed schemas.
//
//	node check.mjs SCRIPT
//
// SCRIPT is a JSON file, written by TestTypeScriptSDK:
//
//	{"modules": "folder with node_modules", "command": ["acp-bridge", …],
//	 "env": ["NAME=value", …], "steps": [STEP, …], "unstable": true for its drafts}
//
// The steps are done in order. Each is one of
//
//	{"request": METHOD, "params": {…}, "want": {…} | "wantError": CODE}
//	    want is a part of the result: values by their paths, null for none.
//	    "keep" names a string of the result that later steps mention as "$name",
//	    or by the name that "as" gives it. "answers" are for the requests of the
//	    agent that come meanwhile, in order: {"method", "about": a text in it,
//	    "result": {…}}, "error": CODE, or "hang" for none at all; "notify" and
//	    "params" send a notification first. "onUpdate" sends one at the first
//	    update of a kind. "shows" are texts that the updates meanwhile hold.
//	{"line": TEXT, "wantError": CODE}
//	    writes a line of its own. The error answers it, without an id.
//
// What was found goes to stdout as one JSON object. The exit code is 0 if the
// script ran to its end, whatever was found.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { PassThrough, Readable, Writable } from "node:stream";
import { load, Judge } from "./closed.mjs";
import { selfTest, spoil, outline } from "./selftest.mjs";
import { Tap } from "./tap.mjs";

const stepTimeout = 300_000;
const script = JSON.parse(readFileSync(process.argv[2], "utf8"));
const sdk = await load(script.modules, script.unstable);
const judge = new Judge(sdk);
const tap = new Tap(judge);

// The SDK reports what it cannot use on the console, and only there.
console.error = (what, ...details) => tap.sdkComplains([what, ...details].map(String).join(" "));

const child = spawn(script.command[0], script.command.slice(1), {
  env: Object.fromEntries(script.env.map((e) => [e.slice(0, e.indexOf("=")), e.slice(e.indexOf("=") + 1)])),
  stdio: ["pipe", "pipe", "inherit"],
});
const exited = new Promise((resolve, reject) => {
  child.once("error", reject);
  child.once("close", (code, signal) => resolve(code ?? signal));
});
const forSDK = new PassThrough();
child.stdout.on("data", (bytes) => {
  tap.fromAgent(bytes);
  forSDK.write(bytes);
});
child.stdout.on("end", () => {
  tap.end();
  forSDK.end();
});

const kept = {};
const fill = (v) => JSON.parse(JSON.stringify(v ?? {}).replace(/"\$(\w+)"/g, (_, name) => JSON.stringify(kept[name] ?? `$${name}`)));

let answers = [];
let onUpdate;
let shown = "";
let updates = 0; // that the SDK has handed out
let agent;

async function answer({ method, params, signal }) {
  const next = answers.shift();
  if (!next || next.method !== method || !JSON.stringify(params).includes(next.about)) {
    tap.strays(method, `expected ${next ? `${next.method} about ${next.about}` : "no request"}, got ${JSON.stringify(params)}`);
    throw new sdk.acp.RequestError(-32603, "not in the script");
  }
  if (next.notify) await agent.notify(next.notify, fill(next.params));
  if (next.error) throw new sdk.acp.RequestError(next.error, "as the script says");
  if (!next.hang) return fill(next.result);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  throw signal.reason;
}

async function updated({ params }) {
  updates++;
  shown += JSON.stringify(params.update);
  if (onUpdate?.kind !== params.update.sessionUpdate) return;
  const { notify, params: p } = onUpdate;
  onUpdate = undefined;
  await agent.notify(notify, fill(p));
}

const { methods } = sdk.acp;
const client = sdk.acp.client({ name: "tscheck" })
  .onRequest(methods.client.session.requestPermission, answer)
  .onRequest(methods.client.elicitation.create, answer)
  .onRequest(methods.client.fs.readTextFile, answer)
  .onNotification(methods.client.session.update, updated);

const stream = sdk.acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(forSDK));
const writer = stream.writable.getWriter();
const tapped = {
  readable: stream.readable,
  writable: new WritableStream({
    write(message) {
      tap.fromClient(message);
      return writer.write(message);
    },
  }),
};

let waiting; // the question that stands in the conversation

async function step(s) {
  if (s.line !== undefined) {
    const answered = tap.nextNullID();
    child.stdin.write(s.line + "\n");
    return expect(s, { error: await answered });
  }
  answers = s.answers ?? [];
  onUpdate = s.onUpdate;
  shown = "";
  let outcome;
  for (let tries = 0, before = waiting; tries < 20; tries++) {
    // A person reads the question in the conversation first. If the machine is slower than
    // that, the question comes again, and so does the answer.
    if (waiting) await new Promise((resolve) => setTimeout(resolve, 400));
    outcome = await agent.request(s.request, fill(s.params)).then((result) => ({ result }), (error) => ({ error }));
    waiting = outcome.result?._meta?.["acp-bridge"]?.waitingFor;
    if (!waiting || waiting !== before) break;
  }
  // The SDK hands out an update and the answer behind it by ways of their own.
  while (updates < tap.updates && !tap.complained) await new Promise((resolve) => setImmediate(resolve));
  expect(s, outcome);
  if (s.keep) kept[s.as ?? s.keep] = outcome.result?.[s.keep];
  if (answers.length > 0) tap.strays(s.request, `never asked about ${answers.map((a) => a.about).join(", ")}`);
  if (onUpdate) tap.strays(s.request, `no update ${onUpdate.kind}`);
  for (const text of s.shows ?? []) {
    if (!shown.includes(JSON.stringify(text).slice(1, -1))) tap.strays(s.request, `no update shows ${text}, but ${shown}`);
  }
}

function expect(s, { result, error }) {
  const name = s.request ?? s.line;
  if (s.wantError !== undefined) {
    if (error?.code !== s.wantError) tap.strays(name, `expected error ${s.wantError}, got ${JSON.stringify(error ?? result)}: ${error?.message ?? ""}`);
  } else if (error) {
    tap.strays(name, `failed: ${error.code} ${error.message}`);
  } else {
    for (const [path, value] of Object.entries(fill(s.want))) {
      const got = path.split(".").reduce((v, key) => v?.[key], result) ?? null;
      if (got !== value) tap.strays(name, `expected ${path} ${value}, got ${JSON.stringify(result)}`);
    }
  }
}

function bounded(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came within ${stepTimeout / 1000} s: ${what}`)), stepTimeout);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

let failure;
try {
  const connection = client.connect(tapped);
  agent = connection.agent;
  for (const s of script.steps) {
    await bounded(step(s), JSON.stringify(s));
    if (tap.offScript) throw new Error(`off the script: ${JSON.stringify(s)}`); // what follows would not fit
  }
  child.stdin.end();
  const code = await bounded(exited, "the end of acp-bridge");
  if (code !== 0) tap.strays("exit", `acp-bridge ended with ${code}`);
} catch (error) {
  failure = error.message;
  child.kill(); // acp-bridge ends the CLI, then itself
  await bounded(exited, "the end of acp-bridge").catch(() => {});
}

// Every kind of message that came, made wrong, must be found wrong.
const spoilt = { cases: 0, missed: [] };
for (const { message, method } of tap.distinct(outline)) {
  for (const bad of spoil(message)) {
    spoilt.cases++;
    if (judge.check(bad.message, method).length === 0) spoilt.missed.push(`${bad.what} of ${JSON.stringify(message)}`);
  }
}

process.stdout.write(JSON.stringify({
  sdk: sdk.version, failure, messages: tap.messages, kinds: tap.kinds, violations: tap.violations,
  selfTest: selfTest(judge), spoilt,
}) + "\n", () => process.exit(failure ? 1 : 0));
