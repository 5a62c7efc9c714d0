// Says which packages and tests took longest, of what go test -json wrote.
import { createInterface } from "node:readline";

const packages = [], tests = [];
for await (const line of createInterface({ input: process.stdin })) {
  if (!line.includes('"Elapsed":')) continue;
  let e;
  try { e = JSON.parse(line); } catch { continue; }
  const name = e.Package.replace(/^[^/]*\/[^/]*\/[^/]*\//, "");
  if (!e.Test) packages.push([e.Elapsed, name]);
  else if (!e.Test.includes("/")) tests.push([e.Elapsed, `${name} ${e.Test}`]);
}
for (const list of [packages, tests]) {
  list.sort((a, b) => b[0] - a[0]);
  for (const [seconds, name] of list.slice(0, 15)) console.log(`${seconds.toFixed(1).padStart(7)} s  ${name}`);
}
