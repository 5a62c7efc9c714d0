// Prints what the failed tests of a `go test -json` run on stdin said.
import { readFileSync } from "node:fs";

const said = new Map();
const failed = [];
for (const line of readFileSync(0, "utf8").split("\n")) {
  if (!line.startsWith("{")) {
    if (line) console.log(line); // not of a test: a build that failed
    continue;
  }
  const event = JSON.parse(line);
  const key = `${event.Package ?? event.ImportPath} ${event.Test ?? ""}`;
  if (event.Output) said.set(key, (said.get(key) ?? []).concat(event.Output));
  if (event.Action === "fail" || event.Action === "build-fail") failed.push(key);
}
for (const key of failed) {
  const lines = (said.get(key) ?? []).join("").split("\n").filter((l) => !l.includes("level=DEBUG"));
  console.log(`\n--- ${key}\n${lines.slice(-120).join("\n")}`);
}
