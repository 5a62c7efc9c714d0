// Made by acp-bridge hook install; acp-bridge hook remove takes it away.
// What is asked in this terminal is at an acp-bridge hub, too. The dialog here stays:
// whoever answers first has answered.
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"

const program = "PROGRAM"
const args = ["ARGS"]
const told = /^(question|permission)\.|^session\.(created|updated|deleted|idle|error)$/

export const AcpBridge = async ({ client, directory }) => {
  if (process.env.ACP_BRIDGE_ASKS) return {} // an acp-bridge that runs this asks already
  let child, failed = 0
  const send = (line) => child?.stdin.write(JSON.stringify(line) + "\n")
  const run = async (line) => {
    const { request, method, path, body } = JSON.parse(line)
    let status = 0, data = null
    try {
      const reply = await client._client.request({ method, url: path, body, headers: { "Content-Type": "application/json" } })
      status = reply.response?.status ?? 0
      data = reply.data ?? reply.error ?? null
    } catch {}
    send({ reply: request, status, data })
  }
  const start = () => {
    if (child || Date.now() - failed < 10000) return
    const one = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
    child = one
    const gone = () => {
      if (child !== one) return
      child = undefined
      failed = Date.now()
    }
    one.on("error", gone).on("exit", gone)
    one.stdin.on("error", gone)
    createInterface({ input: one.stdout }).on("line", (line) => run(line).catch(() => {}))
    one.unref()
    send({ hello: { directory } })
  }
  try { start() } catch {}
  const said = (type, sessionID, text) => { try { if (text) send({ event: { type, properties: { sessionID, text } } }) } catch {} }
  return {
    "chat.message": async ({ sessionID }, { parts }) =>
      said("chat.message", sessionID, parts.filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n")),
    "experimental.text.complete": async ({ sessionID }, { text }) => said("session.text.ended", sessionID, text),
    event: async ({ event }) => {
      if (!told.test(event.type)) return
      try {
        if (event.type.endsWith(".asked")) start()
        send({ event: { type: event.type, properties: event.properties } })
      } catch {}
    },
    dispose: async () => { child?.stdin.end() },
  }
}
