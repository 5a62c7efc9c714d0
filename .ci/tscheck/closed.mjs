// Closed schemas: the protocol as the TypeScript SDK has it, with no room for
// anything it does not name.
//
// Two judges look at each message. The first is the SDK's JSON schema with
// every object closed. The second is the SDK's own parser: it is lenient, drops
// what it does not know and replaces what it does not understand, so a message
// counts as valid only if it comes out of the parser with nothing lost. Inside
// _meta, rawInput, rawOutput and an error's data everything is allowed.
//
// The schemas are those of the stable protocol. Only session/fork and the
// capability that announces it are taken from the unstable one, and what they
// refer to is the stable again.

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

// unstable are the definitions that the stable schema lacks.
const unstable = ["ForkSessionResponse", "SessionForkCapabilities"];

// load imports the SDK and the validators from a folder that has node_modules.
// Draft stands for the whole unstable protocol in the place of the stable one.
export async function load(folder, draft) {
  const require = createRequire(join(folder, "package.json"));
  const entry = require.resolve("@agentclientprotocol/sdk");
  const zod = (...path) => import(pathToFileURL(join(dirname(entry), "..", ...path, "schema", "zod.gen.js")));
  const more = await zod("unstable"), newer = require("@agentclientprotocol/sdk/schema/v1/schema.unstable.json");
  const sdk = {
    acp: await import(pathToFileURL(draft ? require.resolve("@agentclientprotocol/sdk/unstable") : entry)),
    Ajv: require("ajv/dist/2020.js").default,
    version: require(join(dirname(entry), "..", "..", "..", "package.json")).version,
  };
  if (draft) return { ...sdk, zod: more, schema: newer };
  const parsers = { ...await zod() }, schema = require("@agentclientprotocol/sdk/schema/v1/schema.json");
  for (const name of unstable) {
    if (schema.$defs[name]) throw new Error(`${name} is stable now`);
    schema.$defs[name] = newer.$defs[name];
    parsers["z" + name] = more["z" + name];
  }
  const capabilities = schema.$defs.SessionCapabilities.properties;
  if (capabilities.fork) throw new Error("the capability fork is stable now");
  capabilities.fork = newer.$defs.SessionCapabilities.properties.fork;
  parsers.zInitializeResponse = more.zInitializeResponse;
  return { ...sdk, zod: parsers, schema };
}

// Judge validates messages of an agent, or those of both sides.
export class Judge {
  constructor({ schema, zod, Ajv }, both) {
    this.zod = zod;
    this.names = methodNames(schema.$defs, both);
    // Formats name integer sizes; the schema's own bounds check what matters.
    const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, discriminator: true });
    ajv.addSchema({ $id: "acp", $defs: closeAll(schema.$defs) });
    this.valid = (name) => ajv.getSchema(`acp#/$defs/${name}${closedSuffix}`);
    this.envelope = Object.fromEntries(Object.entries(envelopes).map(([k, s]) => [k, ajv.compile(s)]));
  }

  // check lists what is wrong with a message. method is that of the request
  // which a response answers.
  check(message, method) {
    const shape = shapeOf(message);
    if (!shape) return [problem("envelope", "", "neither a request, a notification nor a response")];
    const found = this.errors(this.envelope[shape], message, "", "envelope");
    if (found.length > 0) return found;
    if (shape === "error") return this.payload("Error", message.error, "/error");
    if (shape === "result") {
      if (method === undefined) return [problem("envelope", "/id", `answers no request: ${message.id}`)];
      return this.payload(this.names.result.get(method), message.result, "/result", method);
    }
    if (isPing(message)) return [];
    const known = shape === "request" ? this.names.request : this.names.notification;
    return this.payload(known.get(message.method), message.params, "/params", message.method);
  }

  payload(name, value, at, method) {
    if (!name) return [problem("schema", "/method", `the protocol has no such method: ${method}`)];
    return [...this.errors(this.valid(name), value, at, "schema"), ...this.parsed(name, value, at)];
  }

  errors(validate, value, at, judge) {
    if (validate(value)) return [];
    // A wrong value fails each constant of a choice: the choice says it once.
    const chosen = new Set(validate.errors.filter((e) => unions.includes(e.keyword)).map((e) => e.instancePath));
    return validate.errors.filter((e) => e.keyword !== "const" || !chosen.has(e.instancePath)).map((e) => {
      const extra = e.params.unevaluatedProperty ?? e.params.additionalProperty;
      return problem(judge, at + e.instancePath, e.message + (extra === undefined ? "" : `: ${extra}`));
    });
  }

  parsed(name, value, at) {
    const result = this.zod["z" + name].safeParse(value);
    if (!result.success) {
      return result.error.issues.map((i) => problem("parser", [at, ...i.path].join("/"), i.message));
    }
    return lost(value, result.data, at);
  }
}

const problem = (judge, path, text) => ({ judge, path, text });

// isPing tells our own request that every client may answer as it likes: whether
// it has read what was sent before. It is about no session, and says nothing else.
export const isPing = (m) => m.method === "_acp-bridge/ping" && m.id !== undefined && JSON.stringify(m.params) === '{"sessionId":"_"}';

export function shapeOf(m) {
  if (m === null || typeof m !== "object" || Array.isArray(m)) return undefined;
  if ("method" in m) return "id" in m ? "request" : "notification";
  if ("error" in m) return "error";
  return "result" in m ? "result" : undefined;
}

// lost lists what a parser dropped or changed. Defaults that it added are its
// own.
function lost(raw, parsed, at) {
  if (Array.isArray(raw)) {
    if (!Array.isArray(parsed) || raw.length !== parsed.length) return [problem("parser", at, "the SDK drops items")];
    return raw.flatMap((v, i) => lost(v, parsed[i], `${at}/${i}`));
  }
  if (raw !== null && typeof raw === "object") {
    if (parsed === null || typeof parsed !== "object") return [problem("parser", at, "the SDK replaces it")];
    return Object.keys(raw).flatMap((key) =>
      Object.hasOwn(parsed, key) && parsed[key] !== undefined
        ? lost(raw[key], parsed[key], `${at}/${key}`)
        : [problem("parser", `${at}/${key}`, "the SDK drops it")]);
  }
  return raw === parsed ? [] : [problem("parser", at, `the SDK reads ${JSON.stringify(parsed)}`)];
}

// methodNames maps methods to the definitions of what an agent sends, or both sides.
function methodNames(defs, both) {
  const names = { request: new Map(), notification: new Map(), result: new Map() };
  for (const [name, s] of Object.entries(defs)) {
    const side = s["x-side"], method = s["x-method"];
    if (side === "client" && name.endsWith("Request")) names.request.set(method, name);
    if (side === "client" && name.endsWith("Notification")) names.notification.set(method, name);
    if (side === "protocol") names.notification.set(method, name);
    if (side === "agent" && name.endsWith("Response")) names.result.set(method, name);
    if (!both) continue;
    if (side === "agent" && name.endsWith("Request")) names.request.set(method, name);
    if (side === "agent" && name.endsWith("Notification")) names.notification.set(method, name);
    if (side === "client" && name.endsWith("Response")) names.result.set(method, name);
  }
  return names;
}

const id = { type: ["string", "integer"] };
const jsonrpc = { const: "2.0" };
const closedObject = (properties, required = Object.keys(properties)) =>
  ({ type: "object", properties, required, additionalProperties: false });
const envelopes = {
  request: closedObject({ jsonrpc, id, method: { type: "string" }, params: { type: "object" } }),
  notification: closedObject({ jsonrpc, method: { type: "string" }, params: { type: "object" } }),
  result: closedObject({ jsonrpc, id, result: { type: "object" } }),
  // Only what could not be read is answered without its id.
  error: {
    ...closedObject({ jsonrpc, id: { type: ["string", "integer", "null"] },
      error: closedObject({ code: { type: "integer" }, message: { type: "string", minLength: 1 }, data: {} }, ["code", "message"]) }),
    if: { properties: { id: { type: "null" } } },
    then: { properties: { error: { properties: { code: { enum: [-32700, -32600] } } } } },
  },
};

// Each definition exists twice: closed, for where it is a value, and open, for
// where it is one part of a larger object that is closed as a whole.
const closedSuffix = "-closed";

function closeAll(defs) {
  const out = {};
  for (const [name, s] of Object.entries(defs)) {
    out[name] = open(s);
    out[name + closedSuffix] = close(s);
  }
  return out;
}

const unions = ["anyOf", "oneOf"];

// catchAll is the branch of a union for variants that the protocol does not
// have yet. An agent has no business sending them.
const catchAll = (s) => s.additionalProperties === true || s.unevaluatedProperties === true;

// close makes a schema accept no property that it does not name.
function close(s) {
  if (s.$ref) return { ...s, $ref: s.$ref + closedSuffix };
  const parts = Object.keys(s).filter((k) => ["properties", "allOf", ...unions].includes(k));
  if (parts.length === 1 && parts[0] !== "properties" && !s.required) {
    // Nothing but a choice, or another name: each variant is closed by itself,
    // so that no mixture of two passes.
    const [key] = parts;
    if (key !== "allOf" || s.allOf.length === 1) return { ...s, [key]: s[key].filter((b) => !catchAll(b)).map(close) };
  }
  const inner = open(s);
  const object = parts.length > 0 || [s.type].flat().includes("object");
  return object && s.additionalProperties === undefined ? { ...inner, unevaluatedProperties: false } : inner;
}

// open closes what is inside a schema, not the schema itself.
function open(s) {
  const out = { ...s };
  // With it, ajv does not count what the variant names as evaluated.
  if (s.properties) delete out.discriminator;
  if (s.properties) {
    out.properties = Object.fromEntries(Object.entries(s.properties).map(([k, v]) => [k, close(v)]));
  }
  if (s.items) out.items = close(s.items);
  if (s.additionalProperties && typeof s.additionalProperties === "object") {
    out.additionalProperties = close(s.additionalProperties);
  }
  for (const key of ["allOf", ...unions]) {
    if (s[key]) out[key] = s[key].filter((b) => !catchAll(b)).map(open);
  }
  return out;
}
