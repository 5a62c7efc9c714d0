#!/usr/bin/env node
// Starts the {{.Program}} of this system, which a package of its own carries.
"use strict";
const { spawn } = require("node:child_process");
const os = require("node:os");

const carrier = `acp-bridge-${process.platform}-${process.arch}`;
const exe = process.platform === "win32" ? ".exe" : "";
let program;
try {
  program = require.resolve(`${carrier}/bin/{{.Program}}${exe}`);
} catch {
  console.error(`{{.Program}}: the package ${carrier} is not installed. It is an optional dependency: install without --omit=optional, or get the program from {{.Repository}}/releases`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (err) => {
  console.error(`{{.Program}}: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + (os.constants.signals[signal] || 0) : code);
});
