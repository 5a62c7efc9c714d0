// Prints what the failed tests of a `go test -json` run on stdin said, and what
// else was written in their packages: by child processes, or a panic.
import { readFileSync } from "node:fs";

const said = new Map(), beside = new Map();
const failed = [], packages = new Set();
const add = (map, key, text) => map.set(key, (map.get(key) ?? []).concat(text));
for (const line of readFileSync(0, "utf8").split("\n")) {
  if (!line.startsWith("{")) {
    if (line) console.log(line); // not of a test: a build that failed
    continue;
  }
  const event = JSON.parse(line);
  const name = event.Package ?? event.ImportPath;
  const key = `${name} ${event.Test ?? ""}`;
  if (event.Output) {
    add(said, key, event.Output);
    add(beside, name, event.Output);
  }
  if (event.Action === "fail" || event.Action === "build-fail") {
    packages.add(name);
    failed.push(key);
  }
}
const lines = (outputs) => (outputs ?? []).join("").split("\n").filter((l) => !l.includes("level=DEBUG"));
for (const key of failed) console.log(`\n--- ${key}\n${lines(said.get(key)).slice(-120).join("\n")}`);
// A line of a child process counts as output of whichever test was told of last,
// often one that passed. Those of tests are indented, or begin with a sign.
for (const name of packages) {
  const others = lines(beside.get(name)).filter((l) => /^[^\s]/.test(l) && !/^(===|---) |^(PASS|FAIL|ok)\b/.test(l));
  if (others.length > 0) console.log(`\n--- ${name}: the last of what was written beside its tests\n${others.slice(-40).join("\n")}`);
}
