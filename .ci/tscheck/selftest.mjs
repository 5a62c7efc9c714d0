// The check of the check: wrong messages that must be found, and right ones
// that must pass. A judge that lets everything through proves nothing.

import { shapeOf } from "./closed.mjs";
import { Tap } from "./tap.mjs";

const update = (fields) => ({
  jsonrpc: "2.0", method: "session/update", params: { sessionId: "s", update: fields },
});
const request = (method, params) => ({ jsonrpc: "2.0", id: 1, method, params });
const result = (value) => ({ jsonrpc: "2.0", id: 1, result: value });
const failure = (id, error) => ({ jsonrpc: "2.0", id, error });
const text = { type: "text", text: "x" };
const call = { sessionUpdate: "tool_call", toolCallId: "t", title: "T" };
const permission = (toolCall, option) => request("session/request_permission", {
  sessionId: "s", toolCall: { toolCallId: "t", ...toolCall },
  options: [{ optionId: "a", name: "A", kind: "allow_once", ...option }],
});
const form = (property, fields) => request("elicitation/create", {
  mode: "form", sessionId: "s", message: "m",
  requestedSchema: { type: "object", properties: { q: property } }, ...fields,
});

const right = {
  "chunk": [update({ sessionUpdate: "agent_message_chunk", content: text })],
  "free _meta": [update({ ...call, _meta: { any: { thing: [1] } } })],
  "free rawInput": [update({ ...call, rawInput: { any: { thing: 1 } }, rawOutput: "x" })],
  "diff": [update({ ...call, content: [{ type: "diff", path: "/a", oldText: null, newText: "b" }] })],
  "permission": [permission({ kind: "execute", status: "pending", locations: [{ path: "/a", line: 1 }] })],
  "form, one of": [form({ type: "string", oneOf: [{ const: "a", title: "A", description: "d" }] })],
  "form, any of": [form({ type: "array", items: { anyOf: [{ const: "a", title: "A" }] } })],
  "prompt result": [result({ stopReason: "end_turn" }), "session/prompt"],
  "empty result": [result({}), "authenticate"],
  "auth methods": [result({ protocolVersion: 1, authMethods: [{ id: "a", name: "A" }, { type: "terminal", id: "b", name: "B", args: [] }] }), "initialize"],
  "error": [failure(1, { code: -32602, message: "m", data: { any: 1 } })],
  "parse error": [failure(null, { code: -32700, message: "m" })],
  "list": [result({ sessions: [{ sessionId: "s", cwd: "/", title: "T", updatedAt: "2026-11-15T02:27:16Z" }], nextCursor: "c" }), "session/list"],
  "empty list": [result({ sessions: [] }), "session/list"],
  "loaded": [result({ modes: { currentModeId: "a", availableModes: [{ id: "a", name: "A" }] }, configOptions: [] }), "session/load"],
  "resumed": [result({}), "session/resume"],
  "forked": [result({ sessionId: "s" }), "session/fork"],
  "fork among the capabilities": [result({ protocolVersion: 1, agentCapabilities: { sessionCapabilities: { fork: {} } } }), "initialize"],
  "deleted": [result({}), "session/delete"],
  "title": [update({ sessionUpdate: "session_info_update", title: "T", updatedAt: "2026-11-15T02:27:16Z" })],
  "usage": [update({ sessionUpdate: "usage_update", used: 1, size: 2, cost: { amount: 0.5, currency: "USD" } })],
  "read": [request("fs/read_text_file", { sessionId: "s", path: "/a" })],
  "cancel": [{ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 1 } }],
};

const wrong = {
  "no message": [[]],
  "extra field in the envelope": [{ ...update({ sessionUpdate: "agent_message_chunk", content: text }), extra: 1 }],
  "no jsonrpc": [{ method: "session/update", params: { sessionId: "s", update: call } }],
  "result and error": [{ ...result({}), error: { code: 1, message: "m" } }, "authenticate"],
  "null result": [result(null), "authenticate"],
  "result of nothing asked": [result({})],
  "unknown method": [request("session/ask", {})],
  "unknown notification": [{ jsonrpc: "2.0", method: "session/updates", params: {} }],
  "request sent as a notification": [{ jsonrpc: "2.0", method: "session/request_permission", params: {} }],
  "no params": [{ jsonrpc: "2.0", method: "session/update" }],
  "extra field in params": [{ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s", update: call, at: 1 } }],
  "extra field in update": [update({ ...call, extra: 1 })],
  "field of another update": [update({ ...call, entries: [] })],
  "extra field in content": [update({ sessionUpdate: "agent_message_chunk", content: { ...text, lang: "en" } })],
  "field of another content": [update({ sessionUpdate: "agent_message_chunk", content: { ...text, data: "", mimeType: "a/b" } })],
  "kind of update misspelt": [update({ ...call, sessionUpdate: "toolcall" })],
  "kind of tool misspelt": [update({ ...call, kind: "exec" })],
  "kind of content misspelt": [update({ ...call, content: [{ type: "difff", path: "/a", newText: "" }] })],
  "wrong status": [update({ ...call, status: "done" })],
  "missing title": [update({ sessionUpdate: "tool_call", toolCallId: "t" })],
  "missing id of call": [update({ sessionUpdate: "tool_call_update", title: "T" })],
  "null for a list": [update({ ...call, content: null })],
  "title is a number": [update({ ...call, title: 1 })],
  "negative line": [update({ ...call, locations: [{ path: "/a", line: -1 }] })],
  "extra field in a diff": [update({ ...call, content: [{ type: "diff", path: "/a", newText: "b", lines: 1 }] })],
  "diff without new text": [update({ ...call, content: [{ type: "diff", path: "/a" }] })],
  "plan entry without priority": [update({ sessionUpdate: "plan", entries: [{ content: "c", status: "pending" }] })],
  "wrong priority": [update({ sessionUpdate: "plan", entries: [{ content: "c", status: "pending", priority: "urgent" }] })],
  "extra field in a plan entry": [update({ sessionUpdate: "plan", entries: [{ content: "c", status: "pending", priority: "low", activeForm: "x" }] })],
  "null commands": [update({ sessionUpdate: "available_commands_update", availableCommands: null })],
  "extra field in a command": [update({ sessionUpdate: "available_commands_update", availableCommands: [{ name: "n", description: "d", hint: "h" }] })],
  "text and blob": [update({ sessionUpdate: "agent_message_chunk", content: { type: "resource", resource: { uri: "a:b", text: "x", blob: "eA==" } } })],
  "extra field in the permission's call": [permission({ input: {} })],
  "wrong kind in the permission": [permission({ kind: "ask" })],
  "extra field in an option": [permission({}, { description: "d" })],
  "wrong kind of option": [permission({}, { kind: "allow" })],
  "option without a name": [permission({}, { name: undefined })],
  "form of an unknown type": [form({ type: "choice" })],
  "extra field in a form's property": [form({ type: "string", placeholder: "x" })],
  "extra field in a form's option": [form({ type: "string", oneOf: [{ const: "a", title: "A", preview: "p" }] })],
  "items of an unknown type": [form({ type: "array", items: { type: "number" } })],
  "extra field in the form": [form({ type: "string" }, { title: "x" })],
  "unknown mode of elicitation": [form({ type: "string" }, { mode: "forms" })],
  "form without scope": [form({ type: "string" }, { sessionId: undefined })],
  "wrong stop reason": [result({ stopReason: "done" }), "session/prompt"],
  "no stop reason": [result({}), "session/prompt"],
  "extra field in a result": [result({ stopReason: "end_turn", usage: {} }), "session/prompt"],
  "result of another method": [result({ stopReason: "end_turn" }), "session/new"],
  "extra capability": [result({ protocolVersion: 1, agentCapabilities: { questions: true } }), "initialize"],
  "type of an agent's login": [result({ protocolVersion: 1, authMethods: [{ type: "agent", id: "a", name: "A" }] }), "initialize"],
  "null login methods": [result({ protocolVersion: 1, authMethods: null }), "initialize"],
  "list without sessions": [result({}), "session/list"],
  "null for sessions": [result({ sessions: null }), "session/list"],
  "listed without a folder": [result({ sessions: [{ sessionId: "s" }] }), "session/list"],
  "extra field in a listed session": [result({ sessions: [{ sessionId: "s", cwd: "/", size: 1 }] }), "session/list"],
  "id in what was loaded": [result({ sessionId: "s" }), "session/load"],
  "id in what was resumed": [result({ sessionId: "s" }), "session/resume"],
  "fork without an id": [result({}), "session/fork"],
  "extra field in a fork": [result({ sessionId: "s", parent: "p" }), "session/fork"],
  "extra field in a fork's modes": [result({ sessionId: "s", modes: { currentModeId: "a", availableModes: [], x: 1 } }), "session/fork"],
  "extra field in what was deleted": [result({ deleted: true }), "session/delete"],
  "extra field in the capability to fork": [result({ protocolVersion: 1, agentCapabilities: { sessionCapabilities: { fork: { deep: true } } } }), "initialize"],
  "another unstable capability": [result({ protocolVersion: 1, agentCapabilities: { nes: {} } }), "initialize"],
  "extra field in a title": [update({ sessionUpdate: "session_info_update", title: "T", cwd: "/" })],
  "usage without a size": [update({ sessionUpdate: "usage_update", used: 1 })],
  "read without a path": [request("fs/read_text_file", { sessionId: "s" })],
  "extra field in a read": [request("fs/read_text_file", { sessionId: "s", path: "/a", encoding: "utf-8" })],
  "extra field in an error": [failure(1, { code: 1, message: "m", details: "d" })],
  "error without a message": [failure(1, { code: 1 })],
  "error code is a string": [failure(1, { code: "1", message: "m" })],
  "error without its id": [failure(null, { code: -32603, message: "m" })],
};

const lines = {
  "not JSON": "{",
  "two messages on a line": "{} {}",
  "a key twice": '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"code":-32700,"message":"a \\"m\\": {"}}',
  "not UTF-8": Buffer.from([0x22, 0xff, 0x22]),
  "empty": "",
  "an answer to nothing": '{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"m"}}',
  "a session that is not there": JSON.stringify(update({ sessionUpdate: "agent_message_chunk", content: text })),
  "a form nobody can show": JSON.stringify(form({ type: "string" })),
};

// Conversations: what the client sends as {client: …}, and the agent's lines.
// Those in outOfPlace are right one by one, and their last comes at the wrong
// time.
const asks = (id, method, params) => ({ client: { jsonrpc: "2.0", id, method, params } });
const answers = (id, value) => ({ jsonrpc: "2.0", id, result: value });
const refuses = (id) => failure(id, { code: -32002, message: "m" });
const can = (capabilities) => [asks(0, "initialize", { clientCapabilities: capabilities }), answers(0, { protocolVersion: 1 })];
const s = { sessionId: "s" };
const opened = [asks(1, "session/new", {}), answers(1, s)];
const loads = asks(2, "session/load", s);
const prompts = asks(3, "session/prompt", s);
const chunk = update({ sessionUpdate: "agent_message_chunk", content: text });
const user = update({ sessionUpdate: "user_message_chunk", content: text });
const title = update({ sessionUpdate: "session_info_update", title: "T" });
const called = update(call);
const callDone = update({ sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" });
const reads = request("fs/read_text_file", { sessionId: "s", path: "/a" });

const inPlace = {
  "in a prompt": [...opened, prompts, called, permission({}), chunk, callDone, title, answers(3, { stopReason: "end_turn" }), title],
  "in a load": [loads, user, chunk, called, callDone, title, answers(2, {}), title],
  "a load of an open session": [...opened, prompts, called, answers(3, { stopReason: "end_turn" }), loads, called, answers(2, {})],
  "after a resume": [asks(2, "session/resume", s), answers(2, {}), title, prompts, chunk, answers(3, { stopReason: "end_turn" })],
  "after a fork": [asks(2, "session/fork", { sessionId: "origin" }), answers(2, s), title, prompts, chunk, answers(3, { stopReason: "end_turn" })],
  "a read": [...can({ fs: { readTextFile: true } }), ...opened, prompts, reads, answers(3, { stopReason: "end_turn" })],
};

const outOfPlace = {
  "a chunk before a prompt": [...opened, chunk],
  "a chunk after a prompt": [...opened, prompts, answers(3, { stopReason: "end_turn" }), chunk],
  "a chunk after a load": [loads, answers(2, {}), chunk],
  "a chunk after a load that failed": [loads, refuses(2), chunk],
  "a title after a load that failed": [loads, refuses(2), title],
  "a replay of another session": [asks(2, "session/load", { sessionId: "other" }), chunk],
  "a replay in another session": [...opened, asks(2, "session/load", { sessionId: "other" }), chunk],
  "a replay in a resume": [asks(2, "session/resume", s), chunk],
  "a chunk after a resume": [asks(2, "session/resume", s), answers(2, {}), chunk],
  "a chunk after a fork": [asks(2, "session/fork", { sessionId: "origin" }), answers(2, s), chunk],
  "a call twice in a load": [loads, called, called],
  "the end of a call that a load did not replay": [...opened, prompts, called, answers(3, { stopReason: "end_turn" }), loads, callDone],
  "a permission in a load": [loads, called, permission({})],
  "a read in a load": [...can({ fs: { readTextFile: true } }), loads, reads],
  "a read outside a prompt": [...can({ fs: { readTextFile: true } }), ...opened, reads],
  "a read that the client does not do": [...opened, prompts, reads],
  "a read of a relative path": [...can({ fs: { readTextFile: true } }), ...opened, prompts, request("fs/read_text_file", { sessionId: "s", path: "a" })],
  "the user's words in a prompt": [...opened, prompts, user],
  "a title after a close": [...opened, asks(2, "session/close", s), answers(2, {}), title],
  "a title after a deletion": [...opened, asks(2, "session/delete", s), answers(2, {}), title],
};

// misplaced lets a tap hear a conversation. It returns the numbers of the
// messages that were reported.
function misplaced(judge, talk) {
  const tap = new Tap(judge), found = [];
  talk.forEach((m, i) => {
    const before = tap.violations.length;
    if (m.client) tap.fromClient(m.client);
    else tap.fromAgent(Buffer.from(JSON.stringify(m) + "\n"));
    if (tap.violations.length > before) found.push(i);
  });
  return found;
}

// selfTest returns how many cases there are and what the judge got wrong.
export function selfTest(judge) {
  const wire = (m) => JSON.parse(JSON.stringify(m)); // what is undefined is absent
  const mistakes = [];
  for (const [name, [message, method]] of Object.entries(right)) {
    const found = judge.check(wire(message), method);
    if (found.length > 0) mistakes.push(`${name}: right, but ${JSON.stringify(found[0])}`);
  }
  for (const [name, [message, method]] of Object.entries(wrong)) {
    if (judge.check(wire(message), method).length === 0) mistakes.push(`${name}: wrong, and not found`);
  }
  for (const [name, line] of Object.entries(lines)) {
    const tap = new Tap(judge);
    tap.fromAgent(Buffer.concat([Buffer.from(line), Buffer.from("\n")]));
    if (tap.violations.length === 0) mistakes.push(`${name}: wrong line, and not found`);
  }
  for (const [name, talk] of Object.entries(inPlace)) {
    const found = misplaced(judge, talk);
    if (found.length > 0) mistakes.push(`${name}: in place, but not for the tap: ${JSON.stringify(talk[found[0]])}`);
  }
  for (const [name, talk] of Object.entries(outOfPlace)) {
    const found = misplaced(judge, talk);
    if (String(found) !== String(talk.length - 1)) mistakes.push(`${name}: out of place at ${talk.length - 1}, found at ${found}`);
  }
  return { cases: [right, wrong, lines, inPlace, outOfPlace].flatMap(Object.keys).length, mistakes };
}

const free = new Set(["_meta", "rawInput", "rawOutput", "data"]);
const tags = new Set(["sessionUpdate", "type", "kind", "status", "priority", "stopReason", "mode", "method", "jsonrpc"]);

// spoil makes wrong messages of a right one: a field too many in each object,
// and each tag misspelt. An error's code, the free members and open lists
// have no wrong value.
export function* spoil(message) {
  const copy = () => structuredClone(message);
  for (const path of objects(message, [])) {
    const m = copy();
    at(m, path)["x-extra"] = 1;
    yield { what: `extra field in /${path.join("/")}`, message: m };
    for (const [key, value] of Object.entries(at(message, path))) {
      if (!tags.has(key) || typeof value !== "string") continue;
      // Open lists: those of a compaction, and of a session.
      if (key === "status" && ("compactionId" in at(message, path) || path.join() === "result")) continue;
      const spoilt = copy();
      at(spoilt, path)[key] = value + "x";
      yield { what: `misspelt /${[...path, key].join("/")}`, message: spoilt };
    }
  }
}

const at = (value, path) => path.reduce((v, key) => v[key], value);

function objects(value, path) {
  if (value === null || typeof value !== "object") return [];
  const inside = Object.entries(value).flatMap(([key, v]) => (free.has(key) ? [] : objects(v, [...path, key])));
  return Array.isArray(value) ? inside : [path, ...inside];
}

// outline is equal for messages that differ in their values alone.
export function outline(message, method) {
  const walk = (v, key) => {
    if (free.has(key)) return key;
    if (Array.isArray(v)) return [...new Set(v.map((e) => JSON.stringify(walk(e))))];
    if (v === null || typeof v !== "object") return tags.has(key) ? v : typeof v;
    return Object.fromEntries(Object.keys(v).sort().map((k) => [k, walk(v[k], k)]));
  };
  return JSON.stringify([shapeOf(message), method, walk(message)]);
}
