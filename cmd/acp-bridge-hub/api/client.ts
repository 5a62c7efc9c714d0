const { HUB, TOKEN } = process.env, url = `${HUB}/conversations/my-agent/`;
const type = "application/json";
const headers = { Authorization: `Bearer ${TOKEN}`, "Content-Type": type };
const post = (path = "", body = {}) =>
  fetch(url + path, { headers, method: "POST", body: JSON.stringify(body) });
const options = [{ label: "SQLite" }, { label: "MySQL" }];
const q = { question: "Which database?", options };
const call = { id: "q1", name: "AskUserQuestion", input: { questions: [q] } };
console.log(await (await post("ask", call)).text()); // 202: it is open
const events = (await fetch(url + "events", { headers })).body?.getReader();
const first = (await events?.read())?.value; // the same as an event
console.log(new TextDecoder().decode(first));
const answers = { "Which database?": "MySQL" };
await post("respond?question=q1", { answers });
console.log(await (await post("ask?wait=30s", call)).text()); // the result
await post("ask", { ...call, id: "q2" });
await post("cancel?question=q2");
await events?.cancel();
