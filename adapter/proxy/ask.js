// The question tool that OpenCode 2 gets in place of its own, which it cannot show over ACP.
// It asks the proxy, over MCP and a plain connection: nothing between cuts it off while the
// user thinks. The proxy writes beside this file where that is.
import { readFile } from "node:fs/promises"
import { createConnection } from "node:net"

const string = (description) => ({ type: "string", description })
const object = (properties, ...optional) => ({ type: "object", properties, required: Object.keys(properties).filter((name) => !optional.includes(name)) })
const input = object({
  questions: {
    type: "array", minItems: 1, maxItems: 4, description: "Questions to ask",
    items: object({
      question: string("Complete question; no two alike"),
      header: string("Very short label (max 30 chars)"),
      options: {
        type: "array", minItems: 2, maxItems: 4, description: "Available choices",
        items: object({ label: string("Display text (1-5 words, concise); no two alike"), description: string("Explanation of choice") }),
      },
      multiple: { type: "boolean", description: "Allow selecting multiple choices" },
    }, "multiple"),
  },
})
const description = `Use this tool when you need to ask the user questions during execution: to gather preferences or requirements, to clarify ambiguous instructions, or to get decisions on choices as you work. It waits for the answer.

- The user can always type an answer of their own; don't include an option for that
- Set \`multiple: true\` to allow selecting more than one option
- If you recommend a specific option, make that the first option in the list and add "(Recommended)" at the end of the label`

// call calls the tool at the address and resolves to its text for the model.
const call = (address, questions, callId) => new Promise((resolve, reject) => {
  const { hostname, port, pathname } = new URL(address)
  const socket = createConnection(Number(port), hostname)
  const say = (message) => socket.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n")
  const take = ({ id, result, error }) => {
    if (error) return reject(new Error(error.message))
    if (id === 1) {
      say({ method: "notifications/initialized" })
      say({ id: 2, method: "tools/call", params: { name: "ask_the_user", arguments: { questions }, _meta: { callId } } })
    }
    if (id === 2) {
      resolve(result.content[0].text)
      socket.end()
    }
  }
  let text = ""
  socket.setEncoding("utf8")
  socket.on("error", reject)
  socket.on("close", () => reject(new Error("the connection ended")))
  socket.on("data", (data) => {
    const lines = (text + data).split("\n")
    text = lines.pop()
    for (const line of lines) if (line.startsWith("{")) take(JSON.parse(line))
  })
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: Upgrade\r\nUpgrade: acp-bridge-mcp\r\n\r\n`)
  say({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "OpenCode", version: "2" } } })
})

export default {
  id: "acp-bridge.question",
  setup: async (ctx) => {
    // The user types in the session that has no parent.
    const root = async (id) => {
      const { parentID } = await ctx.session.get({ sessionID: id })
      return parentID ? root(parentID) : id
    }
    const execute = async ({ questions }, { id, sessionID }) => {
      try {
        const address = await readFile(new URL("address", import.meta.url), "utf8")
        const typed = await root(sessionID), tool = typed === sessionID ? id : `${sessionID}:${id}`
        return { content: await call(address, questions.map((q) => ({ ...q, multiSelect: q.multiple === true })), `${typed} ${tool}`) }
      } catch (err) {
        return { content: `The user could not be asked, so there is no answer: ${err.message}` }
      }
    }
    await ctx.tool.transform((tools) => tools.add({ name: "question", options: { codemode: false }, description, input, execute }))
  },
}
