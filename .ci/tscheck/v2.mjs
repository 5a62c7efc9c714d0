// Talks to a proxied agent as an editor of the draft version 2 would that can
// also speak version 1: the SDK's client of version 2 first, and when the agent
// turns out to speak version 1, the SDK's client of that.
//
//	node v2.mjs SCRIPT
//
// SCRIPT is a JSON file, written by TestRealVersion2:
//
//	{"modules": "folder with node_modules", "command": [...], "env": [...],
//	 "cwd": "…", "prompt": "…", "fill": {a form's content}}
//
// What was found goes to stdout as one JSON object.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const script = JSON.parse(readFileSync(process.argv[2], "utf8"));
const require = createRequire(join(script.modules, "package.json"));
const v1 = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")));
const v2 = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk/experimental/v2")));

function start(sdk) {
  const child = spawn(script.command[0], script.command.slice(1), {
    env: Object.fromEntries(script.env.map((e) => [e.slice(0, e.indexOf("=")), e.slice(e.indexOf("=") + 1)])),
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = new Promise((resolve) => child.once("close", resolve));
  return { stream: sdk.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), end: () => (child.stdin.destroy(), exited) };
}

const found = { forms: [], permissions: 0, kinds: [], said: "" };

const first = start(v2);
try {
  const { agent } = v2.client({ name: "tscheck" }).connect(first.stream);
  const got = await agent.request("initialize", {
    protocolVersion: 2, info: { name: "tscheck", version: "1" }, capabilities: { elicitation: { form: {}, url: {} } },
  });
  found.version2 = got.protocolVersion;
} catch (error) {
  found.refused = error.data ?? String(error.message ?? error);
}
await first.end();

const second = start(v1);
const { agent } = v1.client({ name: "tscheck" })
  .onRequest("elicitation/create", ({ params }) => {
    found.forms.push(params);
    return { action: "accept", content: script.fill };
  })
  .onRequest("session/request_permission", () => {
    found.permissions++;
    return { outcome: { outcome: "cancelled" } };
  })
  .onNotification("session/update", ({ params: { update } }) => {
    if (!found.kinds.includes(update.sessionUpdate)) found.kinds.push(update.sessionUpdate);
    if (update.sessionUpdate === "agent_message_chunk") found.said += update.content.text;
  })
  .connect(second.stream);
try {
  const got = await agent.request("initialize", {
    protocolVersion: 1, clientInfo: { name: "tscheck", version: "1" }, clientCapabilities: { elicitation: { form: {}, url: {} } },
  });
  found.version1 = got.protocolVersion;
  const { sessionId } = await agent.request("session/new", { cwd: script.cwd, mcpServers: [] });
  found.ended = await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: script.prompt }] });
} catch (error) {
  found.failure = `${error.code} ${error.message} ${JSON.stringify(error.data)}`;
}
await second.end();
process.stdout.write(JSON.stringify(found) + "\n", () => process.exit(0));
