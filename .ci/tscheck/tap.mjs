// The tap sees every line between the two ends and judges those of the agent:
// each by itself, and whether it is in its place.

import { isAbsolute } from "node:path";
import { isPing, shapeOf } from "./closed.mjs";

// These may come at any time; all others belong to a prompt, or are replayed
// while a session is loaded.
const anytime = new Set(["available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "notice", "subagent_update"]);

export class Tap {
  messages = 0;
  kinds = {};
  violations = [];
  offScript = false;
  updates = 0; // that the agent has sent
  complained = false; // the SDK: it may have dropped one
  #judge;
  #rest = Buffer.alloc(0);
  #utf8 = new TextDecoder("utf-8", { fatal: true });
  #asked = new Map(); // the client's open requests
  #asking = new Set(); // ids of the agent's requests
  #sessions = new Map(); // id to {prompts, loading, calls, before}
  #forms = false; // the client takes forms
  #reads = false; // the client reads out its buffers
  #right = []; // messages without a violation
  #nullID = [];

  constructor(judge) { this.#judge = judge; }

  // report notes a violation; of equal ones the first line is kept.
  report(judge, where, text, line) {
    const same = this.violations.find((v) => v.judge === judge && v.where === where && v.text === text);
    if (same) same.times++;
    else this.violations.push({ judge, where, text, line, times: 1 });
  }

  // strays reports that the conversation went another way than the script.
  strays(where, text) {
    this.offScript = true;
    this.report("script", where, text);
  }

  sdkComplains(text) {
    // A line that cannot be read has no id to answer to, which the SDK notes.
    if (text === "Got response to unknown request null") return;
    this.complained = true;
    this.report("sdk", "console", text);
  }

  // nextNullID waits for the next answer without an id.
  nextNullID() { return new Promise((resolve) => this.#nullID.push(resolve)); }

  // distinct returns one message of each outline.
  distinct(outline) {
    return new Map(this.#right.map((r) => [outline(r.message, r.method), r])).values();
  }

  fromClient(m) {
    if (shapeOf(m) === "request") this.#asked.set(m.id, m);
    if (m.method === "initialize") {
      this.#forms = m.params.clientCapabilities?.elicitation?.form != null;
      this.#reads = m.params.clientCapabilities?.fs?.readTextFile === true;
    }
    if (m.method === "session/load") this.#open(m.params.sessionId, true);
    if (m.method === "session/prompt" && this.#sessions.has(m.params.sessionId)) {
      this.#sessions.get(m.params.sessionId).prompts.add(m.id);
    }
  }

  // #open begins a session, or one that is known from its start again.
  #open(id, loading = false) {
    const before = this.#sessions.get(id);
    this.#close(id);
    this.#sessions.set(id, { prompts: new Set(), loading, calls: new Set(), before });
  }

  // #close ends a session, and those of its sub-agents with it.
  #close(id) {
    const session = this.#sessions.get(id);
    for (const [other, of] of [...this.#sessions]) if (of === session) this.#sessions.delete(other);
  }

  fromAgent(bytes) {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (let n; (n = this.#rest.indexOf(10)) >= 0;) {
      this.#line(this.#rest.subarray(0, n));
      this.#rest = this.#rest.subarray(n + 1);
    }
  }

  end() {
    if (this.#rest.length > 0) this.report("line", "end", "the last line has no end", String(this.#rest));
    for (const m of this.#asked.values()) this.report("order", m.method, `request ${m.id} was never answered`);
  }

  #line(bytes) {
    this.messages++;
    let text, message;
    try {
      text = this.#utf8.decode(bytes);
      message = JSON.parse(text);
    } catch (error) {
      this.report("line", "line", error.message, String(bytes));
      return;
    }
    for (const key of repeatedKeys(text)) this.report("line", "line", `the key ${key} comes twice`, text);
    const shape = shapeOf(message);
    const request = shape === "result" || shape === "error" ? this.#asked.get(message.id) : undefined;
    const method = request?.method ?? message?.method;
    const found = this.#judge.check(message, request?.method);
    for (const p of found) this.report(p.judge, `${method ?? shape} ${p.path}`, p.text, text);
    if (shape === undefined) return;
    if (found.length === 0) this.#right.push({ message, method: request?.method });
    this.#place(shape, message, request, text);
    this.#count(shape, message, method);
  }

  #place(shape, m, request, text) {
    const wrong = (what) => this.report("order", m.method ?? request?.method ?? shape, what, text);
    switch (shape) {
      case "result":
      case "error":
        if (m.id === null) return void this.#nullID.shift()?.(m.error);
        if (!request) return wrong(`answers no open request: ${m.id}`);
        this.#asked.delete(m.id);
        return this.#answered(request, m);
      case "request":
        if (this.#asking.has(m.id)) wrong(`the id ${m.id} was used before`);
        this.#asking.add(m.id);
        if (isPing(m)) return;
        if (m.method === "elicitation/create" && !this.#forms) wrong("the client has no forms");
        if (m.method === "fs/read_text_file") {
          if (!this.#reads) wrong("the client does not read files");
          if (!isAbsolute(m.params?.path ?? "")) wrong("the path is not absolute");
        }
        if (this.#sessions.get(m.params?.sessionId)?.prompts.size === 0) wrong("no prompt is running");
        return this.#inSession(m.params, m.params?.toolCall?.toolCallId ?? m.params?.toolCallId, wrong);
      case "notification":
        if (m.method === "$/cancel_request" && !this.#asking.has(m.params?.requestId)) wrong("withdraws what was never asked");
        if (m.method !== "session/update") return;
        this.updates++;
        this.#update(m.params, wrong);
    }
  }

  // #answered follows which sessions there are and what runs in them.
  #answered({ method, params }, { id, result }) {
    const session = this.#sessions.get(params?.sessionId);
    switch (method) {
      case "session/new":
      case "session/fork":
        if (result) this.#open(result.sessionId);
        break;
      case "session/resume":
        if (result) this.#open(params.sessionId);
        break;
      case "session/load":
        if (result) session.loading = false;
        else if (session.before) this.#sessions.set(params.sessionId, session.before);
        else this.#sessions.delete(params.sessionId);
        break;
      case "session/close":
      case "session/delete":
      case "session/archive":
        if (result) this.#close(params.sessionId);
        break;
      case "session/prompt":
        session?.prompts.delete(id);
    }
  }

  #update(params, wrong) {
    const u = params?.update;
    const session = this.#sessions.get(params?.sessionId);
    // A sub-agent's session lives with the one that it works for.
    if (u?.sessionUpdate === "subagent_update" && session && !this.#sessions.has(u.sessionId)) this.#sessions.set(u.sessionId, session);
    if (u?.sessionUpdate === "tool_call") {
      if (session?.calls.has(u.toolCallId)) wrong(`the call ${u.toolCallId} was announced before`);
      session?.calls.add(u.toolCallId);
    }
    if (session && !session.loading && !anytime.has(u?.sessionUpdate)) {
      if (session.prompts.size === 0) wrong("no prompt is running, and no session is loaded");
      if (u?.sessionUpdate === "user_message_chunk") wrong("the user's words come back");
    }
    this.#inSession(params, u?.toolCallId, wrong);
  }

  // #inSession checks that the client knows what a message is about.
  #inSession(params, toolCallID, wrong) {
    const session = this.#sessions.get(params?.sessionId);
    if (!session) return wrong("the client knows no such session");
    if (toolCallID != null && !session.calls.has(toolCallID)) wrong(`the call ${toolCallID} was never announced`);
  }

  #count(shape, m, method) {
    const count = (kind) => { this.kinds[kind] = (this.kinds[kind] ?? 0) + 1; };
    const what = { error: m.error?.code, result: m.result?.stopReason, notification: m.params?.update?.sessionUpdate, request: m.params?.mode }[shape];
    count([shape, method, what].filter((v) => v !== undefined).join(" "));
    const call = m.params?.toolCall ?? m.params?.update;
    const update = m.params?.update;
    if (this.#sessions.get(m.params?.sessionId)?.loading) {
      count(["replay", update?.sessionUpdate, update?.status ?? update?.content?.type].filter(Boolean).join(" "));
    }
    for (const meta of [m.result?._meta, m.params?._meta, call?._meta]) {
      for (const [owner, fields] of Object.entries(meta ?? {})) {
        for (const field of Object.keys(fields ?? {})) count(`meta ${owner} ${field}`);
      }
    }
    if (!call?.toolCallId) return;
    if (call.kind) count(`tool kind ${call.kind}`);
    if (call.status) count(`tool status ${call.status}`);
    if (call.locations?.length > 0) count("tool locations");
    for (const c of Array.isArray(call.content) ? call.content : []) count(["tool content", c.type, c.content?.type].filter(Boolean).join(" "));
  }
}

// repeatedKeys finds what JSON.parse passes over: keys that an object has twice.
export function repeatedKeys(text) {
  const open = [], repeated = [];
  let last;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    else if (token !== ":") last = token;
    else if (open.at(-1).has(last)) repeated.push(last);
    else open.at(-1).add(last);
  }
  return repeated;
}
